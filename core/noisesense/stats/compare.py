"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Category, DefinitionName, Mode, modes_of
from noisesense.scoring.outcomes import BothModes, Range, Record, check_limit
from noisesense.scoring.results import Result, result_in
from noisesense.stats.interval import (
    MIN_PAIRS,
    Interval,
    Resampling,
    covering,
    difference_interval,
    mean_interval,
    mean_range,
    units_of,
)
from noisesense.stats.pairing import (
    MIN_PAIRED,
    Named,
    Paired,
    PairedBy,
    match_texts,
    name_of,
    pair,
)
from noisesense.stats.summary import FEW_UNITS, counted

Decision = Literal["better", "worse", "same", "undecided"]


@dataclass(frozen=True)
class ModeComparison(Record):
    """One mode, over the pairs in which both responses have something to measure.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        pairs: how many there are.
        undetermined: of them, those in which the judge left open one version's value or both.
        undefined: scored pairs in which one version or both have nothing to measure.
        mean_a: the mean of A over the pairs.
        mean_b: the mean of B over the pairs.
        difference: the mean of ``b − a``; positive: B is noisier. Whichever way the open verdicts
            fall, it lies in this range.
        interval: of the difference; where that is a range, it covers all of it.
        bounded: the interval of a difference that a rare sample may move by up to 1, for "the
            same"; None without a margin.
        decision: ``"worse"`` or ``"better"``: B, if the interval lies above the margin or below
            its negative; ``"same"``: both intervals lie within it; ``"undecided"``: the pairs do
            not say, as fewer than 6 never do. What open verdicts could undo is never decided.
    """

    mode: Mode
    pairs: int
    undetermined: int
    undefined: int
    mean_a: Range | None
    mean_b: Range | None
    difference: Range | None
    interval: Interval | None
    bounded: Interval | None
    decision: Decision

    @property
    def too_few(self) -> bool:
        """Are there too few pairs (or clusters of them) to decide anything?"""
        return self.interval is None or self.interval.units < MIN_PAIRS


class ClaimChange(NamedTuple):
    """A claim whose kind is another in B; None: the claim is not in that version's response."""

    text: str
    before: Category | None
    after: Category | None


@dataclass(frozen=True)
class SampleChange(Record):
    """A sample that is another in B: a value that changed for certain, or claims that did.

    Attributes:
        id: A's name for it.
        a: A's value in each mode; None where it is undefined.
        b: B's.
        claims: those that changed (or whose verdicts went missing), those in both versions first.
    """

    id: str
    a: dict[Mode, Range | None]
    b: dict[Mode, Range | None]
    claims: tuple[ClaimChange, ...]

    def difference(self, mode: Mode) -> Range | None:
        """Between what ``b − a`` lies; None unless both have something to measure."""
        a, b = self.a[mode], self.b[mode]
        return a and b and b.minus(a)

    def changed(self, mode: Mode) -> bool:
        """Did the value change, whichever way the open verdicts fall?"""
        difference = self.difference(mode)
        if difference is None:
            return (self.a[mode] is None) != (self.b[mode] is None)
        return not difference.low <= 0 <= difference.high

    @property
    def largest(self) -> float:
        """The larger of the two modes' absolute differences, as far as they are certain."""
        differences = map(self.difference, self.a)
        return max((each.absolute.low for each in differences if each), default=0.0)


@dataclass(frozen=True)
class Comparison(Record, BothModes[ModeComparison]):
    """Two versions over the same samples.

    Attributes:
        definition: under which both were scored.
        paired_by: ``"id"``, or ``"question"``: user input and reference.
        pairs: samples that both versions have, failed ones included.
        only_a: ids that only A has.
        only_b: ids that only B has.
        failed: ids (A's) of pairs in which one version or both failed.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
        changes: the samples that changed, those that changed most first.
        transitions: how many claims went from which kind to which, changed or not.
        clusters: over how many clusters the intervals were made; None: over single pairs.
        margin: the difference that does not matter; 0: any may.
        warnings: what a reader of the figures must know, in words.
    """

    definition: DefinitionName | None
    paired_by: PairedBy
    pairs: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    failed: tuple[str, ...]
    relevant: ModeComparison | None
    irrelevant: ModeComparison | None
    changes: tuple[SampleChange, ...]
    transitions: dict[tuple[Category | None, Category | None], int]
    clusters: int | None
    margin: float
    warnings: tuple[str, ...]

    @property
    def too_few(self) -> bool:
        """Is some mode undecided because the pairs are too few? Then nothing has passed."""
        return any(each.too_few for each in (self.relevant, self.irrelevant) if each)

    @property
    def worse(self) -> tuple[Mode, ...]:
        """The modes in which B is worse, for a check that fails."""
        both = (self.relevant, self.irrelevant)
        return tuple(each.mode for each in both if each and each.decision == "worse")

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON-ready data."""
        transitions = [
            {"before": before, "after": after, "claims": count}
            for (before, after), count in self.transitions.items()
        ]
        return {**super().to_dict(), "transitions": transitions}


class _Figures(NamedTuple):
    name: Named
    scored_as: tuple[str, str] | None
    """Definition, and convention for nothing to measure; None if it failed."""
    values: dict[Mode, Range | None]
    modes: tuple[Mode, ...]
    claims: tuple[tuple[str, Category], ...]
    cluster: str | None
    key: str | None  # of its texts, where they are known
    judge: str | None


_Pairs = Sequence[tuple[_Figures, _Figures]]


def _figures(result: Result) -> _Figures:
    score = result_in(result).score
    return _Figures(
        name_of(result),
        (score.definition, score.empty) if score else None,
        {mode: score.bounds(mode) if score else None for mode in MODES},
        modes_of(score.definition) if score else (),
        tuple((claim.text, claim.category) for claim in score.claims) if score else (),
        result.cluster,
        result.sample.key if result.sample else None,
        result.judge,
    )


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    pair_by: PairedBy | None = None,
    min_paired: float = MIN_PAIRED,
    margin: float = 0.0,
    confidence: float = 0.95,
    cluster: bool | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Two versions over the same samples: paired differences and what changed.

    ``difference = mean over pairs of (B's value − A's value)``, or the range that open verdicts
    leave of it, with Student's t interval: where the versions do not differ, each mode is called
    better or worse at most ``1 − confidence`` of the time, and so one of the two up to twice as
    often; either is called *worse* at most ``1 − confidence`` of the time. Fewer than 6 pairs
    decide nothing. Where verdicts are open, the interval covers every way they may fall: a
    difference that they could undo is never called one. Claims are matched by their text within a
    sample. Memory grows with the number of samples.

    Args:
        a: the results of the first version.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by the ids that
            were supplied (not keys of the content), and by question if none are in both.
        min_paired: the least share of the smaller run that must have a partner in the other.
        margin: the difference that does not matter, 0 to 1. Above 0, B is worse only if it is by
            more than this, and the same if the whole interval is within it, also where half a
            pair more differs by 1: what is rare is not "the same" because it was not seen.
        confidence: of the intervals.
        cluster: do pairs of a cluster count as one? By default if every pair's A names its own.
        seed: the same seed gives the same intervals.
        resamples: how many, where intervals are drawn.

    Raises:
        PairingError: no sample is in both runs, or fewer than ``min_paired``.
        InputError: an empty run, an id twice in one, a number out of range, or the versions were
            scored under several definitions.
    """
    resampling = Resampling(confidence, resamples, seed).check()
    check_limit(margin, "margin")
    first, second = ([_figures(result) for result in run] for run in (a, b))
    paired = pair(first, second, pair_by, min_paired=min_paired)
    scored = [(x, y) for x, y in paired.pairs if x.scored_as and y.scored_as]
    failed = tuple(x.name.id for x, y in paired.pairs if not (x.scored_as and y.scored_as))
    definition = _one_definition(scored)
    clusters = {x.cluster for x, _ in scored}
    if cluster and None in clusters:
        raise InputError("a cluster for every pair", "pairs without one", where="A, cluster")
    clustered = bool(scored) and (None not in clusters if cluster is None else cluster)
    modes = {
        mode: _mode(mode, scored, resampling, clustered, margin)
        for mode in (scored[0][0].modes if scored else ())
    }
    changes, transitions = _changes(scored)
    units = len(clusters) if clustered else None
    return Comparison(
        definition=definition,
        paired_by=paired.by,
        pairs=len(paired.pairs),
        only_a=paired.only_a,
        only_b=paired.only_b,
        failed=failed,
        relevant=modes.get("relevant"),
        irrelevant=modes.get("irrelevant"),
        changes=changes,
        transitions=transitions,
        clusters=units,
        margin=margin,
        warnings=(
            *_warnings(modes.values(), paired, failed=len(failed), clusters=units),
            *_judged_otherwise(scored, changes),
        ),
    )


def _one_definition(scored: _Pairs) -> DefinitionName | None:
    first = scored[0][0].scored_as if scored else None
    for run, figures in (each for x, y in scored for each in (("A", x), ("B", y))):
        if figures.scored_as != first:
            raise InputError(
                f"results scored alike, {first}",
                str(figures.scored_as),
                where=f"{run}, result {figures.name.id!r}",
                hint="read both with one definition=… and empty=…",
            )
    return cast(DefinitionName, first[0]) if first else None


def _mode(
    mode: Mode, scored: _Pairs, resampling: Resampling, clustered: bool, margin: float
) -> ModeComparison:
    rows = [(x, a, b) for x, y in scored if (a := x.values[mode]) and (b := y.values[mode])]
    undetermined = sum(a.value is None or b.value is None for _, a, b in rows)
    differences = [(x.cluster if clustered else i, b.minus(a)) for i, (x, a, b) in enumerate(rows)]
    ends = [units_of(differences, end) for end in (0, 1)]
    interval = difference_interval(ends[0], resampling)
    if undetermined:
        interval = covering(interval, difference_interval(ends[1], resampling))
    bounded = mean_interval(ends, resampling, (-1.0, 1.0), few=True) if margin else None
    mean_a, mean_b = mean_range([a for _, a, _ in rows]), mean_range([b for *_, b in rows])
    return ModeComparison(
        mode=mode,
        pairs=len(rows),
        undetermined=undetermined,
        undefined=len(scored) - len(rows),
        mean_a=mean_a,
        mean_b=mean_b,
        difference=mean_a and mean_b and mean_b.minus(mean_a),
        interval=interval,
        bounded=bounded,
        decision=_decision(interval, bounded, margin),
    )


def _decision(interval: Interval | None, bounded: Interval | None, margin: float) -> Decision:
    if interval is None or interval.units < MIN_PAIRS:
        return "undecided"
    if interval.low > margin:
        return "worse"
    if interval.high < -margin:
        return "better"
    ends = [end for each in (interval, bounded) if each for end in each[:2]]
    within = bounded and all(-margin <= end <= margin for end in ends)
    return "same" if within else "undecided"


def _changes(
    scored: _Pairs,
) -> tuple[tuple[SampleChange, ...], dict[tuple[Category | None, Category | None], int]]:
    changes: list[SampleChange] = []
    transitions: Counter[tuple[Category | None, Category | None]] = Counter()
    for x, y in scored:
        both, gone, new = match_texts(x.claims, y.claims, lambda claim: claim[0])
        claims = [
            *(ClaimChange(text, before, after) for (text, before), (_, after) in both),
            *(ClaimChange(text, before, None) for text, before in gone),
            *(ClaimChange(text, None, after) for text, after in new),
        ]
        transitions.update((claim.before, claim.after) for claim in claims)
        changed = tuple(claim for claim in claims if claim.before != claim.after)
        change = SampleChange(x.name.id, x.values, y.values, changed)
        if changed or any(change.changed(mode) for mode in MODES):
            changes.append(change)
    changes.sort(key=lambda change: (-change.largest, -len(change.claims), change.id))
    return tuple(changes), dict(transitions.most_common())


def _warnings(
    modes: Iterable[ModeComparison], paired: Paired[_Figures], *, failed: int, clusters: int | None
) -> list[str]:
    warnings = list(paired.warnings)
    only_a, only_b = len(paired.only_a), len(paired.only_b)
    if only_a or only_b:
        where = f"only in A: {only_a}, only in B: {only_b}"
        warnings.append(f"samples {where}; they are in no figure.")
    if failed:
        warnings.append(f"{counted(failed, 'sample')} failed in A or in B and enter no figure.")
    for each in modes:
        if each.undetermined and each.difference:
            low, high = each.difference
            are = "is" if each.undetermined == 1 else "are"
            warnings.append(
                f"{each.mode}: {each.undetermined:,} of {counted(each.pairs, 'pair')} {are} "
                f"undetermined; the difference lies between {low:+.4g} and {high:+.4g}, and the "
                "verdicts do not decide where."
            )
        units, unit = (each.pairs, "pair") if clusters is None else (clusters, "cluster")
        if each.too_few:
            warnings.append(
                f"{each.mode}: {counted(units, unit)}; fewer than {MIN_PAIRS} decide nothing."
            )
        elif units < FEW_UNITS:
            warnings.append(
                f"{each.mode}: {counted(units, unit)}; only large differences can be decided."
            )
    return warnings


def _judged_otherwise(scored: _Pairs, changes: Sequence[SampleChange]) -> Iterator[str]:
    """Differences that are the judge's, and not the versions'."""
    judges = [{each.judge for each in run if each.judge} for run in zip(*scored, strict=True)]
    if scored and all(judges) and judges[0] != judges[1]:
        yield (
            "A and B were not judged alike (model, way to check or options): part of the "
            "difference may be the judge's."
        )
    changed = {change.id for change in changes}
    same = sum(x.key is not None and x.key == y.key and x.name.id in changed for x, y in scored)
    if same:
        have = "has" if same == 1 else "have"
        yield (
            f"{counted(same, 'sample')} that changed {have} the same texts in both, judged "
            "otherwise: with one store for both runs (score --store FILE) a text is judged once."
        )
