"""Did the chunk do it? The user's own system answers again, with other chunks.

That a chunk entails a wrong claim does not mean that the claim would go if the chunk went. `plan`
says what to ask the system, `ablation` reads the answers, `ablate` does both in one process.

| variant | chunks | question |
|---|---|---|
| ``again`` | the same | how often does the system say it again by itself? The control |
| ``without`` | minus those that the noisy claims come from | does the claim go with them? |
| ``relevant-only`` | the relevant ones | what would a perfect reranker give? |
| ``plus-K`` | and K of other samples, at random places | how does noise grow with noise? |

*Noise* here is the share of a response's claims that are not supported by the reference and are
entailed by a chunk, relevant or not: both modes of the default definition together.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import StrictStr

from noisesense.errors import InputError, JudgeError, check_whole, describe, located
from noisesense.jsonl import as_path, numbered_lines, parse_line, to_json
from noisesense.judging.calls import gather_all
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.records import Record
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score, score
from noisesense.stats.interval import (
    Bounds,
    Interval,
    Resampling,
    bootstrap_interval,
    covering,
    difference_bounds,
    ratio,
)
from noisesense.verdicts.model import Model
from noisesense.verdicts.sample import Chunk, ChunkLike, Sample

__all__ = ["VARIANTS", "Ablation", "Estimate", "ablate", "ablation", "plan"]

VARIANTS = ("again", "without", "relevant-only", "plus-2")
_CLAIMS = {"again", "without"}
_PLUS = re.compile(r"plus-([1-9][0-9]{0,3})")

Answer = Callable[[str, list[str]], "str | Awaitable[str]"]
"""The user's system: from a question and the texts of chunks to a response."""


class Row(Model):
    """One row of the plan, and of the answers."""

    id: StrictStr
    variant: StrictStr
    user_input: StrictStr
    retrieved_contexts: tuple[ChunkLike, ...]
    response: StrictStr | None = None

    @property
    def place(self) -> str:
        return f"{self.id}, {self.variant}"

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.retrieved_contexts]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready. A chunk is its text, or an object where it has a label or an id."""
        chunks = [c.model_dump(exclude_defaults=True) for c in self.retrieved_contexts]
        texts = [c["text"] if len(c) == 1 else c for c in chunks]
        return self.model_dump() | {"retrieved_contexts": texts, "response": self.response or ""}


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


@dataclass
class _Case:
    """One sample of the results, and what became of it under each variant."""

    result: Result
    sample: Sample
    score: Score
    noisy: list[int]
    sources: set[int]
    said: dict[str, list[Bounds]] = field(default_factory=dict[str, "list[Bounds]"])
    noise: dict[str, Bounds] = field(default_factory=dict[str, Bounds])

    @property
    def unit(self) -> str:
        return self.result.cluster or self.result.id

    @property
    def claims(self) -> list[str]:
        return [self.score.claims[i].text for i in self.noisy]


def _noise(scored: Score) -> Bounds | None:
    """Between what the share of noisy claims lies; None without claims."""
    sure = maybe = 0
    for claim in scored.claims:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        if claim.correct is True or not (entailing or claim.undetermined_chunks):
            continue
        maybe += 1
        sure += claim.correct is False and bool(entailing)
    total = len(scored.claims)
    return (sure / total, maybe / total) if total else None


def _cases(results: Iterable[Result], left_out: Counter[str]) -> dict[str, _Case]:
    cases: dict[str, _Case] = {}
    for result in map(result_in, results):
        if result.score is None or result.sample is None:
            left_out["results without a score" if result.sample else "results without texts"] += 1
            continue
        if result.id in cases:
            raise InputError("each id once", describe(result.id), where="results")
        scored, sample = result.score, result.sample
        claims = scored.verdicts.response_claims
        noisy = [i for i, c in enumerate(claims) if c.correct is False and c.entailed_by]
        texts = [chunk.text for chunk in sample.retrieved_contexts]
        # What the judge left open may be a source too, and equal texts are one.
        entailing = {
            texts[j] for i in noisy for j in (*claims[i].entailed_by, *claims[i].undetermined)
        }
        sources = {j for j, text in enumerate(texts) if text in entailing}
        case = cases[result.id] = _Case(result, sample, scored, noisy, sources)
        if (noise := _noise(scored)) is not None:
            case.noise[""] = noise
    if not cases:
        raise InputError("results with verdicts and texts", "none", where="results")
    return cases


def _distractors(variant: str) -> int:
    """K of ``plus-K``; 0 for another variant. Raises `InputError` for an unknown one."""
    if match := _PLUS.fullmatch(variant):
        return int(match[1])
    if variant not in VARIANTS:
        raise InputError(
            "'again', 'without', 'relevant-only' or 'plus-K'", describe(variant), where="variant"
        )
    return 0


def _pool(case: _Case, cases: Iterable[_Case]) -> list[Chunk]:
    """The other samples' chunks that hold nothing of this sample's reference, each text once.

    A chunk that is, or may be, relevant to the same question or reference does; so does one that
    holds the reference, or one of its claims, word for word.
    """
    own = case.sample
    wanted = [own.reference, *(c.text for c in case.score.verdicts.reference_claims)]
    holding = {chunk.text for chunk in own.retrieved_contexts}
    pool: dict[str, Chunk] = {}
    for other in cases:
        same = other.sample.user_input == own.user_input or other.sample.reference == own.reference
        for chunk, relevant in zip(
            other.sample.retrieved_contexts, other.score.chunk_relevance, strict=True
        ):
            if same and relevant is not False:
                holding.add(chunk.text)
            if chunk.text.strip():
                pool.setdefault(chunk.text, chunk)
    return [
        chunk.model_copy(update={"relevant": False})
        for text, chunk in sorted(pool.items())
        if text not in holding and not any(each and each in text for each in wanted)
    ]


def _contexts(case: _Case, variant: str, cases: Iterable[_Case], seed: int) -> list[Chunk] | None:
    """The variant's chunks; None where it says nothing about the sample."""
    chunks = list(case.sample.retrieved_contexts)
    count = _distractors(variant)
    if variant in _CLAIMS:
        kept = [c for j, c in enumerate(chunks) if variant == "again" or j not in case.sources]
        return kept if case.noisy else None
    if "" not in case.noise:
        return None
    if not count:
        relevance = case.score.chunk_relevance
        unclear = None in relevance or True not in relevance or all(relevance)
        return None if unclear else [c for c, yes in zip(chunks, relevance, strict=True) if yes]
    pool = _pool(case, cases)
    if len(pool) < count:
        raise InputError(
            f"{count} chunks of other samples that hold nothing of the reference",
            str(len(pool)),
            where=f"{case.result.id}, {variant}",
            hint="ask for fewer distractors, or give more samples",
        )
    random = Random(f"{seed} {case.result.id}")  # plus-4 holds the distractors of plus-2
    random.shuffle(pool)
    for chunk in pool[:count]:
        chunks.insert(random.randint(0, len(chunks)), chunk)
    return chunks


def plan(
    results: Iterable[Result], variants: Sequence[str] = VARIANTS, seed: int = 0
) -> list[dict[str, Any]]:
    """What to ask the system: a row for each sample and variant, in the results' order.

    ``again`` and ``without`` are asked of samples with noisy claims only; ``relevant-only`` where
    some chunks are relevant and some are not (where all are, nothing would change).

    Args:
        results: with verdicts and texts, as `noisesense.read_results` gives them.
        variants: ``"again"``, ``"without"``, ``"relevant-only"``, ``"plus-K"``.
        seed: of the distractors and their places.

    Returns:
        JSON-ready rows with ``id``, ``variant``, ``user_input``, ``retrieved_contexts`` and an
        empty ``response`` to fill in. A distractor is an object with ``"relevant": false``.

    Raises:
        InputError: nothing to plan from, an unknown variant, or too few chunks of other samples.
    """
    return [row.to_dict() for row in _rows(_cases(results, Counter()), variants, seed)]


def _rows(cases: dict[str, _Case], variants: Sequence[str], seed: int) -> list[Row]:
    check_whole(seed, 0, "seed")
    for variant in variants:
        _distractors(variant)
    found = (
        (case, variant, _contexts(case, variant, cases.values(), seed))
        for case in cases.values()
        for variant in dict.fromkeys(variants)
    )
    return [
        Row(
            id=case.result.id,
            variant=variant,
            user_input=case.sample.user_input,
            retrieved_contexts=tuple(chunks),
        )
        for case, variant, chunks in found
        if chunks is not None
    ]


def _checked(cases: dict[str, _Case], answered: Iterable[Any]) -> Iterator[tuple[_Case, Row]]:
    """The answers with their samples. Raises `InputError` for one that answers something else."""
    seen: set[tuple[str, str]] = set()
    for number, data in enumerate(answered, start=1):
        try:
            row = data if isinstance(data, Row) else Row.model_validate(data)
            count = _distractors(row.variant)
        except InputError as error:
            raise error.within(f"answer {number}") from None
        case = cases.get(row.id)
        if case is None:
            raise InputError("an id of the results", describe(row.id), where=f"answer {number}")
        if (row.id, row.variant) in seen:
            raise InputError("one answer", "another one", where=row.place)
        seen.add((row.id, row.variant))
        if row.user_input != case.sample.user_input:
            expected = f"the question {describe(case.sample.user_input)}"
            raise InputError(expected, describe(row.user_input), where=row.place)
        own = [chunk.text for chunk in case.sample.retrieved_contexts]
        if count:
            fits = len(row.texts) == len(own) + count and not Counter(own) - Counter(row.texts)
        else:
            planned = _contexts(case, row.variant, cases.values(), 0)
            fits = planned is not None and row.texts == [chunk.text for chunk in planned]
        if not fits:
            hint = "answer the rows of a plan made from these results"
            raise InputError("the contexts of the plan", "others", where=row.place, hint=hint)
        yield case, row


def ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    """What the chunks did, from the system's answers to a plan.

    A noisy claim is said again if the new response entails it: one call of the judge for each
    answer of ``again`` and ``without``, and none if the response is the old one. The other
    variants are judged as samples, with the known relevance of their chunks as labels. What the
    judge leaves open, or fails to judge, widens the figures.

    Args:
        results: those the plan was made from.
        answered: its rows with ``response`` filled in; rows without one are left out and counted.
        judge: also has to check given claims, as `noisesense.LLMJudge.entailment` does.

    Raises:
        InputError: an unknown variant, an answer to another question or over other contexts.
        JudgeError: every call failed.
    """
    work = _ablation(results, answered, judge)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:  # a notebook's loop is running already
        return pool.submit(asyncio.run, work).result()


async def _ablation(results: Iterable[Result], answered: Iterable[Any], judge: Judge) -> Ablation:
    if not isinstance(judge, EntailmentJudge):
        hint = "LLMJudge and LocalJudge can"
        expected = "a judge that checks given claims"
        raise InputError(expected, type(judge).__name__, where="judge", hint=hint)
    left_out: Counter[str] = Counter()
    cases = _cases(results, left_out)
    work: list[tuple[_Case, Row]] = []
    for case, row in _checked(cases, answered):
        if row.response is None or not row.response.strip():
            left_out["rows without an answer"] += 1
        else:
            work.append((case, row))
    failures = await asyncio.gather(*(_judge(case, row, judge) for case, row in work))
    failed = [error for error in failures if error is not None]
    if failed and len(failed) == len(work):
        raise failed[0]
    left_out["answers that could not be judged: they count as open"] = len(failed)
    left_out["answers without claims"] = sum(
        row.variant not in case.said and row.variant not in case.noise for case, row in work
    )
    return _figures(list(cases.values()), +left_out)


async def _judge(case: _Case, row: Row, judge: Any) -> JudgeError | None:
    """What became of the sample under the row's variant. A failure leaves it open."""
    response = row.response or ""
    try:
        if row.variant not in _CLAIMS:
            # Relevance that is known is not judged again, and a distractor has none.
            texts = [chunk.text for chunk in case.sample.retrieved_contexts]
            known = dict(zip(texts, case.score.chunk_relevance, strict=True))
            chunks = [
                chunk.model_copy(update={"relevant": known.get(chunk.text, False)})
                for chunk in row.retrieved_contexts
            ]
            changed = {"response": response, "retrieved_contexts": tuple(chunks)}
            sample = case.sample.model_copy(update=changed)
            if noise := _noise(score((await judge.judge(sample)).beside(sample))):
                case.noise[row.variant] = noise
        elif response == case.sample.response:
            case.said[row.variant] = [(1.0, 1.0)] * len(case.noisy)
        else:
            cells = (await judge.entailment([response], case.claims)).cells
            case.said[row.variant] = [(float(c is True), float(c is not False)) for (c,) in cells]
    except JudgeError as error:
        if row.variant in _CLAIMS:
            case.said[row.variant] = [(0.0, 1.0)] * len(case.noisy)
        else:
            case.noise[row.variant] = (0.0, 1.0)
        return error
    return None


def _estimate(values: Sequence[tuple[str, Bounds]], least: float = 0.0) -> Estimate | None:
    """The mean of the values; those of one unit (sample or cluster) are not independent."""
    if not values:
        return None
    ends: list[tuple[float, Interval | None]] = []
    for end in (0, 1):
        sums: dict[str, tuple[float, float]] = {}
        for unit, bounds in values:
            part, whole = sums.get(unit, (0.0, 0.0))
            sums[unit] = (part + bounds[end], whole + 1)
        units: Counter[tuple[float, ...]] = Counter(sums.values())
        mean = sum(bounds[end] for _, bounds in values) / len(values)
        ends.append((mean, bootstrap_interval(units, ratio, Resampling(), limits=(least, 1.0))))
    (low, of_low), (high, of_high) = ends
    interval = of_low if low == high else covering(of_low, of_high, "bca-range")
    return Estimate(low, high, interval, len(values))


def _figures(cases: list[_Case], left_out: Counter[str]) -> Ablation:
    answered = {variant for case in cases for variant in (*case.said, *case.noise)}
    if "relevant-only" in answered:
        for case in cases:
            if "" in case.noise and all(case.score.chunk_relevance):
                case.noise["relevant-only"] = case.noise[""]  # the very same chunks
    # With both answers to compare, every figure is of the claims that have both.
    needed = _CLAIMS & answered
    claims = [
        (case, i, {variant: case.said[variant][at] for variant in needed})
        for case in cases
        if needed and needed <= case.said.keys()
        for at, i in enumerate(case.noisy)
    ]
    said = {
        variant: _estimate([(case.unit, each[variant]) for case, _, each in claims])
        for variant in needed
    }
    effect = None
    if needed == _CLAIMS:
        moved = [(c.unit, difference_bounds(e["without"], e["again"])) for c, _, e in claims]
        effect = _estimate(moved, -1.0)
    counts = sorted(filter(None, map(_distractors, filter(None, answered - _CLAIMS))))
    noise = {
        name: found
        for name in ("", "relevant-only", *(f"plus-{count}" for count in counts))
        if (found := _estimate([(c.unit, c.noise[name]) for c in cases if name in c.noise]))
    }
    growth = _change(cases, f"plus-{counts[-1]}", counts[0] / counts[-1]) if counts else None
    return Ablation(
        claims=sum(len(case.noisy) for case in cases),
        samples=sum(bool(case.noisy) for case in cases),
        again=said.get("again"),
        without=said.get("without"),
        effect=effect,
        noise=noise,
        perfect_reranker=_change(cases, "relevant-only"),
        growth=growth and growth.change,
        step=counts[0] if counts else None,
        causes=_causes(claims) if effect else (),
        left_out=dict(left_out),
    )


def _change(cases: Iterable[_Case], variant: str, factor: float = 1.0) -> Change | None:
    """From the results to the variant, over the samples that have both."""
    pairs = [(c.unit, c.noise[""], c.noise[variant]) for c in cases if variant in c.noise]
    was = _estimate([(unit, before) for unit, before, _ in pairs])
    now = _estimate([(unit, after) for unit, _, after in pairs])
    ends = ((unit, difference_bounds(before, after)) for unit, before, after in pairs)
    change = _estimate([(unit, (factor * low, factor * high)) for unit, (low, high) in ends], -1.0)
    return Change(was, now, change) if was and now and change else None


def _causes(claims: Iterable[tuple[_Case, int, dict[str, Bounds]]]) -> tuple[Cause, ...]:
    sums: dict[str, tuple[int, float, float]] = {}
    for case, i, each in claims:
        low, high = difference_bounds(each["without"], each["again"])
        chunks = [
            case.sample.retrieved_contexts[j]
            for j in case.score.verdicts.response_claims[i].entailed_by
        ]
        for document in {chunk.id or chunk.text for chunk in chunks}:
            count, least, most = sums.get(document, (0, 0.0, 0.0))
            sums[document] = (count + 1, least + low, most + high)
    causes = [
        Cause(name, count, round(low), round(high)) for name, (count, low, high) in sums.items()
    ]
    return tuple(sorted(causes, key=lambda c: (-c.low - c.high, -c.claims, c.document)))


def _range(estimate: Estimate, form: str) -> str:
    low, high = format(estimate.low, form), format(estimate.high, form)
    return low if low == high else f"{low} to {high}"


def _span(estimate: Estimate, form: str) -> str:
    if estimate.interval is None:
        return "too few samples for an interval"
    return f"{estimate.interval.low:{form}} to {estimate.interval.high:{form}}"


def _number(estimate: Estimate) -> str:
    low, high = round(estimate.low * estimate.size), round(estimate.high * estimate.size)
    return str(low) if low == high else f"{low} to {high}"


def _sentences(found: Ablation) -> Iterator[str]:
    again, without, effect = found.again, found.without, found.effect
    of = "claims that came from a chunk and are not in the reference"
    if not found.claims:
        yield "No claim came from a chunk and is not in the reference: there is nothing to ablate."
    elif again and without and effect:
        yield (
            f"Of {effect.size} {of}, {_number(again)} were said again with the same chunks and "
            f"{_number(without)} without the chunks they came from: {_range(effect, '.0%')} "
            f"({_span(effect, '.0%')}) of them go when the chunk goes."
        )
    elif without:
        yield (
            f"Of {without.size} {of}, {_number(without)} were said again without the chunks "
            "they came from. How many the system would have dropped by chance is not known, so "
            "this is no effect: answer the variant 'again', too."
        )
    elif again:
        yield f"Of {again.size} {of}, {_number(again)} were said again with the same chunks."
    if found.perfect_reranker:
        before, after, change = found.perfect_reranker
        way = "falls" if change.high < 0 else "rises" if change.low > 0 else "goes"
        yield (
            f"With relevant chunks alone, noise sensitivity {way} from {_range(before, '.2f')} to "
            f"{_range(after, '.2f')} (difference {_span(change, '+.2f')})."
        )
    if found.growth and found.step:
        yield (
            f"Each {found.step} distractors more add {_range(found.growth, '.2f')} "
            f"({_span(found.growth, '.2f')}) to noise sensitivity."
        )
    yield from (f"Left out: {count} {reason}." for reason, count in found.left_out.items())


async def ablate(
    results: Iterable[Result],
    answer: Answer,
    judge: Judge,
    *,
    variants: Sequence[str] = VARIANTS,
    seed: int = 0,
    deterministic: bool = False,
    max_concurrency: int = 4,
    answers: str | os.PathLike[str] | None = None,
    on_answer: Callable[[int, int], None] | None = None,
) -> Ablation:
    """As `plan`, the user's system, and `ablation`, in one process.

    Args:
        results: as `plan` takes them.
        answer: from a question and the texts of chunks to a response; a function or a coroutine
            function. A function runs in a thread.
        judge: as `ablation` takes it; with a store, its calls are not paid for twice.
        variants: as `plan` takes them.
        seed: likewise.
        deterministic: the same question and chunks always give the same response: ``again`` is
            not asked, and says 100%.
        max_concurrency: answers at once.
        answers: a JSON lines file that keeps each answer as soon as it is there. The same command
            then asks only for those that are missing.
        on_answer: is called with the number of answers there are and of all, for a progress bar.

    Raises:
        InputError: as `plan` and `ablation`; an answer that is no text.
        JudgeError: every call of the judge failed.
        Exception: whatever ``answer`` raises. Answers that were finished are in the file.
    """
    check_whole(max_concurrency, 1, "max_concurrency")
    results = list(results)
    cases = _cases(results, Counter())
    rows = _rows(cases, variants, seed)
    path = None if answers is None else as_path(answers)
    kept = {} if path is None else _kept(path)
    done = [kept[row.place] for row in rows if row.place in kept]
    list(_checked(cases, done))  # before anything is asked
    open_rows = [row for row in rows if row.place not in kept]
    if deterministic:
        same = [row for row in open_rows if row.variant == "again"]
        done += [r.model_copy(update={"response": cases[r.id].sample.response}) for r in same]
        open_rows = [row for row in open_rows if row.variant != "again"]
    queue = iter(open_rows)

    async def worker() -> None:
        for row in queue:
            response: Any = await asyncio.to_thread(answer, row.user_input, row.texts)
            if inspect.isawaitable(response):
                response = await response
            if not isinstance(response, str):
                raise InputError("a text", describe(response), where=f"the answer to {row.place}")
            done.append(row.model_copy(update={"response": response}))
            if path is not None:
                with path.open("a", encoding="utf-8", newline="\n") as file:
                    file.write(to_json(done[-1].to_dict()) + "\n")
            if on_answer is not None:
                on_answer(len(done), len(rows))

    await gather_all(worker() for _ in range(max_concurrency))
    return await _ablation(results, done, judge)


def _kept(path: Path) -> dict[str, Row]:
    """The answers in the file by place; a last line that a killed run cut off is not one."""
    if not path.exists():
        return {}
    rows: dict[str, Row] = {}
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
    for number, text in numbered_lines(path):
        with located(f"{path}, line {number}"):
            row = Row.model_validate(parse_line(text))
        if row.response and row.response.strip():
            rows[row.place] = row
    return rows
