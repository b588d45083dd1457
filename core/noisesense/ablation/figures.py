"""What the answers say: an effect with its interval, noise by variant, and who causes it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.ablation.plan import Case, distractors
from noisesense.scoring.records import Range, Record, extent
from noisesense.stats.interval import Interval, Resampling, mean_interval, mean_range, units_of


class Estimate(NamedTuple):
    """A mean over samples or claims; a range where the judge left verdicts open.

    Attributes:
        low: with every open verdict one way.
        high: with every open verdict the other way.
        interval: of the whole range; None below two samples.
        size: samples or claims it is the mean of.
    """

    low: float
    high: float
    interval: Interval | None
    size: int

    @property
    def value(self) -> float | None:
        """The number, where the two ends meet."""
        return self.low if self.low == self.high else None


class Change(NamedTuple):
    """Noise before and after, over the same samples; ``change`` is ``after - before``."""

    before: Estimate
    after: Estimate
    change: Estimate


class Cause(NamedTuple):
    """What a document causes.

    Attributes:
        document: its id, or its text where it has none.
        claims: noisy claims that it entails and that have both answers.
        low: at least so many of them go when it goes, net of those that go by chance.
        high: at most so many; the same unless the judge left verdicts open.
    """

    document: str
    claims: int
    low: int
    high: int


@dataclass(frozen=True)
class Ablation(Record):
    """What the chunks did.

    Attributes:
        claims: noisy claims of the results: not supported by the reference, entailed by a chunk.
        samples: results that have such claims.
        again: the share said again with the same chunks; None if nothing was answered.
        without: the share said again without the chunks they come from.
        effect: ``again - without``, paired by claim; from -1 to 1. None without the control.
        noise: by variant, ``""`` for the results themselves: the mean noise of a response.
        perfect_reranker: from the results to ``relevant-only``, paired by sample. Where all
            chunks are relevant nothing changes; samples with none are left out.
        growth: how much noise ``step`` distractors more add, from none to the most.
        step: the smallest number of distractors.
        causes: the documents, those that cause most first.
        left_out: what could not be used, by reason, with how often.
    """

    claims: int
    samples: int
    again: Estimate | None
    without: Estimate | None
    effect: Estimate | None
    noise: dict[str, Estimate]
    perfect_reranker: Change | None
    growth: Estimate | None
    step: int | None
    causes: tuple[Cause, ...]
    left_out: dict[str, int]

    _derived = ("sentences",)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words."""
        return tuple(_sentences(self))


def _estimate(values: Iterable[tuple[str, Range]], least: float = 0.0) -> Estimate | None:
    """The mean of the values; those of one unit (sample or cluster) are not independent."""
    values = list(values)
    ends = [units_of(values, end) for end in (0, 1)]
    interval = mean_interval(ends, Resampling(), (least, 1.0))
    mean = mean_range([value for _, value in values])
    return mean and Estimate(*mean, interval, len(values))


def _mean(cases: Iterable[Case], variant: str) -> Estimate | None:
    return _estimate((c.unit, each) for c in cases for each in c.found.get(variant, ()))


def _change(cases: Iterable[Case], before: str, after: str, steps: float = 1.0) -> Change | None:
    """From one variant to another, over what has both; ``change`` is that of one step."""
    pairs = [
        (c.unit, pair)
        for c in cases
        for pair in zip(c.found.get(before, ()), c.found.get(after, ()), strict=False)
    ]
    was, now = (_estimate((unit, pair[at]) for unit, pair in pairs) for at in (0, 1))
    moved = ((unit, *b.minus(a)) for unit, (a, b) in pairs)
    change = _estimate(((unit, Range(a / steps, b / steps)) for unit, a, b in moved), -1)
    return Change(was, now, change) if was and now and change else None


def figures_of(cases: list[Case], left_out: Counter[str]) -> Ablation:
    answered = {variant for case in cases for variant in case.found}
    if "relevant-only" in answered:
        for case in cases:
            if all(case.score.chunk_relevance):
                case.found["relevant-only"] = case.found[""]  # the very same chunks
    effect = _change(cases, "without", "again")
    counts = sorted(count for each in answered - {""} if (count := distractors(each)))
    names = ["", "relevant-only", *(f"plus-{count}" for count in counts)]
    growth = _change(cases, "", names[-1], counts[-1] / counts[0]) if counts else None
    return Ablation(
        claims=sum(len(case.noisy) for case in cases),
        samples=sum(bool(case.noisy) for case in cases),
        # Of the claims that have both answers, if some have.
        again=effect.after if effect else _mean(cases, "again"),
        without=effect.before if effect else _mean(cases, "without"),
        effect=effect and effect.change,
        noise={name: found for name in names if (found := _mean(cases, name))},
        perfect_reranker=_change(cases, "", "relevant-only"),
        growth=growth and growth.change,
        step=counts[0] if counts else None,
        causes=_causes(cases),
        left_out=dict(left_out),
    )


def _causes(cases: Iterable[Case]) -> tuple[Cause, ...]:
    sums = defaultdict[str, list[Range]](list)
    for case in cases:
        both = (case.found.get("again", ()), case.found.get("without", ()))
        for i, again, without in zip(case.noisy, *both, strict=False):
            entailing = case.score.verdicts.response_claims[i].entailed_by
            chunks = [case.sample.retrieved_contexts[j] for j in entailing]
            for document in {chunk.id or chunk.text for chunk in chunks}:
                sums[document].append(again.minus(without))
    causes = [
        Cause(name, len(each), *(round(sum(ends)) for ends in zip(*each, strict=True)))
        for name, each in sums.items()
    ]
    return tuple(sorted(causes, key=lambda c: (-c.low - c.high, -c.claims, c.document)))


def _span(estimate: Estimate, form: str) -> str:
    found = estimate.interval
    return extent(found[:2], form) if found else "too few samples for an interval"


def _between(ends: Estimate, form: str) -> str:
    text = extent(ends[:2], form)
    return text if ends.value is not None else f"between {text.replace(' to ', ' and ')}"


def _number(share: Estimate) -> str:
    return extent((share.low * share.size, share.high * share.size), ".0f")


def _sentences(found: Ablation) -> Iterator[str]:
    again, without, effect = found.again, found.without, found.effect
    of = "claims that came from a chunk and are not in the reference"
    if not found.claims:
        yield "No claim came from a chunk and is not in the reference: there is nothing to ablate."
    elif again and without and effect:
        yield (
            f"Of {effect.size} {of}, {_number(again)} were said again with the same chunks and "
            f"{_number(without)} without the chunks they came from: {_between(effect, '.0%')} "
            f"({_span(effect, '.0%')}) of them go when the chunk goes."
        )
    elif said := without or again:
        how = "with the same chunks."
        if without:
            how = (
                "without the chunks they came from. How many the system would have dropped by "
                "chance is not known, so this is no effect: answer the variant 'again', too."
            )
        yield f"Of {said.size} {of}, {_number(said)} were said again {how}"
    if found.perfect_reranker:
        *noise, change = found.perfect_reranker
        before, after = (_between(each, ".2f") for each in noise)
        way = "falls" if change.high < 0 else "rises" if change.low > 0 else "goes"
        yield (
            f"With relevant chunks alone, noise sensitivity {way} from {before} to {after} "
            f"(difference {_span(change, '+.2f')})."
        )
    if found.growth:
        yield (
            f"Each {found.step} distractors more add {_between(found.growth, '.2f')} "
            f"({_span(found.growth, '.2f')}) to noise sensitivity."
        )
    yield from (f"Left out: {count} {reason}." for reason, count in found.left_out.items())
