"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Category, DefinitionName, Mode, modes_of
from noisesense.scoring.outcomes import BothModes, Range, Record, check_limit
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.interval import (
    MIN_PAIRS,
    Interval,
    Resampling,
    covering,
    difference_interval,
    ends_of,
    few_units_interval,
    mean_range,
)
from noisesense.stats.pairing import MIN_PAIRED, Paired, PairedBy, pair, same_claims, same_texts
from noisesense.stats.resampling import Units
from noisesense.stats.summarize import FEW_UNITS, PARTLY_CLUSTERED, counted

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
        decision: ``"worse"`` or ``"better"``: B, if the interval lies above the margin or below
            its negative; ``"same"``: the interval lies within the margin, and so does one in
            which a rare pair may differ by 1; ``"undecided"``: the pairs do not say, as fewer
            than 6 never do. Where verdicts are open, the lowest and the highest difference must
            both decide it.
    """

    mode: Mode
    pairs: int
    undetermined: int
    undefined: int
    mean_a: Range | None
    mean_b: Range | None
    difference: Range | None
    interval: Interval | None
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

    def apart(self, mode: Mode) -> float:
        """How far the values are apart whichever way the open verdicts fall; 0 if one is None."""
        a, b = self.a[mode], self.b[mode]
        return b.minus(a).absolute.low if a and b else 0.0

    def changed(self, mode: Mode) -> bool:
        """Did the value change, whichever way the open verdicts fall?"""
        return self.apart(mode) > 0 or (self.a[mode] is None) != (self.b[mode] is None)


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
    clusters: int | None
    margin: float
    warnings: tuple[str, ...]

    @property
    def worse(self) -> tuple[Mode, ...]:
        """The modes in which B is worse, for a check that fails."""
        both = (self.relevant, self.irrelevant)
        return tuple(each.mode for each in both if each and each.decision == "worse")


_Pairs = Sequence[tuple[Result, Score, Result, Score]]
"""A's result and its score, and B's."""


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    pair_by: PairedBy | None = None,
    min_paired: float = MIN_PAIRED,
    margin: float = 0.0,
    confidence: float = 0.95,
) -> Comparison:
    """Two versions over the same samples: paired differences and what changed.

    ``difference = mean over pairs of (B's value − A's value)``, or the range that open verdicts
    leave of it, with Student's t interval: where the versions do not differ, each mode is called
    better or worse at most ``1 − confidence`` of the time, and so one of the two up to twice as
    often; either is called *worse* at most ``1 − confidence`` of the time. Fewer than 6 pairs
    decide nothing. Where verdicts are open, the interval covers those of the lowest and of the
    highest difference, and both must decide; answers in between may scatter more than either, so
    that of few pairs they may undo it. If every pair's A names its cluster, pairs of a cluster
    count as one. Claims are matched by their text within a sample. Memory grows with the number of
    samples.

    Args:
        a: the results of the first version.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by the ids that
            were supplied (not keys of the content), and by question if none are in both.
        min_paired: the least share of the smaller run that must have a partner in the other.
        margin: the difference that does not matter, 0 to 1. Above 0, B is worse or better only if
            it is by more than this, and the same if it surely is not, also where half a pair more
            differs by 1: what is rare is not "the same" because it was not seen.
        confidence: of the intervals.

    Raises:
        PairingError: no sample is in both runs, or fewer than ``min_paired``.
        InputError: an empty run, an id twice in one, a number out of range, or the versions were
            scored under several definitions.
    """
    resampling = Resampling(confidence)
    check_limit(margin, "margin")
    first, second = ([result_in(result) for result in run] for run in (a, b))
    paired = pair(first, second, pair_by, min_paired=min_paired)
    scored = [(x, x.score, y, y.score) for x, y in paired.pairs if x.score and y.score]
    failed = tuple(x.id for x, y in paired.pairs if not (x.score and y.score))
    scored_as = sorted({(each.definition, each.empty) for _, x, _, y in scored for each in (x, y)})
    if len(scored_as) > 1:
        got = " and ".join(map(str, scored_as))
        hint = "read both with one definition=… and empty=…"
        raise InputError("results scored alike", got, where="A, B", hint=hint)
    definition = scored[0][1].definition if scored else None
    names = {x.cluster for x, *_ in scored}
    clusters = len(names) if scored and None not in names else None
    modes = {
        mode: _mode(mode, scored, resampling, clusters is not None, margin)
        for mode in (modes_of(definition) if definition else ())
    }
    changes = _changes(scored)
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
        clusters=clusters,
        margin=margin,
        warnings=(
            *paired.warnings,
            *([PARTLY_CLUSTERED] if None in names and len(names) > 1 else []),
            *_of_units(paired, modes.values(), clusters),
            *_judged_otherwise(scored, changes),
        ),
    )


def _mode(
    mode: Mode, scored: _Pairs, resampling: Resampling, clustered: bool, margin: float
) -> ModeComparison:
    rows = [
        (x.cluster if clustered else i, before, after)
        for i, (x, a, _, b) in enumerate(scored)
        if (before := a.bounds(mode)) and (after := b.bounds(mode))
    ]
    differences = [(unit, after.minus(before)) for unit, before, after in rows]
    ends = ends_of(differences)
    interval = covering(*(difference_interval(end, resampling) for end in ends))
    return ModeComparison(
        mode=mode,
        pairs=len(rows),
        undetermined=sum(None in (a.value, b.value) for _, a, b in rows),
        undefined=len(scored) - len(rows),
        mean_a=mean_range([before for _, before, _ in rows]),
        mean_b=mean_range([after for *_, after in rows]),
        difference=mean_range([difference for _, difference in differences]),
        interval=interval,
        decision=_decision(interval, ends, resampling, margin),
    )


def _decision(
    interval: Interval | None, ends: Sequence[Units], resampling: Resampling, margin: float
) -> Decision:
    if interval is None or interval.units < MIN_PAIRS:
        return "undecided"
    if interval.low > margin:
        return "worse"
    if interval.high < -margin:
        return "better"
    if interval.low < -margin or interval.high > margin:
        return "undecided"
    different = ends if ends[0] != ends[1] else ends[:1]
    wide = (few_units_interval(end, resampling, (-1.0, 1.0)) for end in different)
    is_within = all(-margin <= each.low and each.high <= margin for each in wide)
    return "same" if is_within else "undecided"


def _changes(scored: _Pairs) -> tuple[SampleChange, ...]:
    changes: list[SampleChange] = []
    for x, one, _, other in scored:
        before, after = one.claims, other.claims
        found = same_claims([c.text for c in before], [c.text for c in after])
        taken = {*found.values()}
        both = [
            ClaimChange(before[i].text, before[i].category, after[j].category)
            for i, j in found.items()
        ]
        gone = [ClaimChange(c.text, c.category, None) for c in before if c.index not in found]
        new = [ClaimChange(c.text, None, c.category) for c in after if c.index not in taken]
        claims = tuple(each for each in (*both, *gone, *new) if each.before != each.after)
        change = SampleChange(x.id, _bounds(one), _bounds(other), claims)
        if claims or any(change.changed(mode) for mode in MODES):
            changes.append(change)
    changes.sort(key=lambda c: (-max(map(c.apart, MODES)), -len(c.claims), c.id))
    return tuple(changes)


def _bounds(score: Score) -> dict[Mode, Range | None]:
    return {mode: score.bounds(mode) for mode in MODES}


def _of_units(
    paired: Paired, modes: Iterable[ModeComparison], clusters: int | None
) -> Iterator[str]:
    """How many pairs or clusters there are, and what that means."""
    only_a, only_b = len(paired.only_a), len(paired.only_b)
    if only_a or only_b:
        yield f"samples only in A: {only_a}, only in B: {only_b}; they are in no figure."
    for mode in modes:
        units = counted(mode.pairs, "pair") if clusters is None else counted(clusters, "cluster")
        if mode.too_few:
            yield f"{mode.mode}: {units}; fewer than {MIN_PAIRS} decide nothing."
        elif mode.interval and mode.interval.units < FEW_UNITS:
            yield f"{mode.mode}: {units}; only large differences can be decided."


def _judged_otherwise(scored: _Pairs, changes: Sequence[SampleChange]) -> Iterator[str]:
    """Differences that are the judge's, and not the versions'."""
    before, after = {x.judge for x, *_ in scored}, {y.judge for _, _, y, _ in scored}
    known = before - {None}, after - {None}
    if all(known) and known[0] != known[1]:
        yield (
            "A and B were not judged alike (model, way to check or options): part of the "
            "difference may be the judge's."
        )
    changed = {change.id for change in changes}
    same = sum(
        x.id in changed and x.sample is not None and same_texts(x, y) for x, _, y, _ in scored
    )
    if same:
        have = "has" if same == 1 else "have"
        yield (
            f"{counted(same, 'sample')} that changed {have} the same texts in both, judged "
            "otherwise: with one store for both runs (score --store FILE) a text is judged once."
        )
