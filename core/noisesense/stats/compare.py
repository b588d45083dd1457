"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal, NamedTuple, cast

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Category, DefinitionName, Mode
from noisesense.scoring.gate import check_limit
from noisesense.scoring.records import BothModes, Record
from noisesense.scoring.results import Result, result_in
from noisesense.stats.interval import (
    Bounds,
    Interval,
    Resampling,
    absolute_bounds,
    covering,
    difference_bounds,
    mean_bounds,
    sign_flip_interval,
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
from noisesense.stats.resampling import Unit
from noisesense.stats.summary import FEW_UNITS, counted

Decision = Literal["better", "worse", "same", "undecided"]


@dataclass(frozen=True)
class ModeComparison(Record):
    """One mode, over the pairs in which both responses have claims.

    The headline is the range of differences that the verdicts decide, ``difference_bounds``.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        pairs: how many there are.
        undetermined: of them, those in which the judge left open one version's value or both.
        undefined: scored pairs in which one version or both have nothing to measure.
        bounds_a: of A's mean over the pairs: the mean of the lowest values and of the highest.
        bounds_b: of B's mean.
        mean_a: the mean of A over the pairs; None where its bounds differ, unless the scores were
            made with ``undetermined="low"`` or ``"high"``.
        mean_b: the mean of B over the pairs; likewise.
        difference: ``mean_b − mean_a``; positive: B is noisier. None unless both are given.
        difference_bounds: the mean of (B's lowest − A's highest) and that of (B's highest − A's
            lowest): whichever way the open verdicts fall, the difference lies between.
        interval: of the difference; where its bounds differ, it covers the whole range.
        decision: ``"worse"`` or ``"better"``: B, if the interval lies above the margin or below
            its negative; ``"same"``: it lies within both; ``"undecided"``: the pairs are too few
            to say. What open verdicts could undo is never decided.
    """

    mode: Mode
    pairs: int
    undetermined: int
    undefined: int
    bounds_a: Bounds | None
    bounds_b: Bounds | None
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    difference_bounds: Bounds | None
    interval: Interval | None
    decision: Decision


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
        a: A's value in each mode; None where it has none.
        b: B's.
        bounds_a: between what A's value lies, in each mode; None where it is undefined.
        bounds_b: B's.
        claims: the claims that changed, those in both versions first. A claim whose verdicts
            went missing is among them, as undetermined.
    """

    id: str
    a: dict[Mode, float | None]
    b: dict[Mode, float | None]
    bounds_a: dict[Mode, Bounds | None]
    bounds_b: dict[Mode, Bounds | None]
    claims: tuple[ClaimChange, ...]

    def difference(self, mode: Mode) -> float | None:
        """``b − a``; None unless both have a value."""
        a, b = self.a[mode], self.b[mode]
        return None if a is None or b is None else b - a

    def difference_bounds(self, mode: Mode) -> Bounds | None:
        """Between what ``b − a`` lies; None unless both have something to measure."""
        a, b = self.bounds_a[mode], self.bounds_b[mode]
        return a and b and difference_bounds(a, b)

    def changed(self, mode: Mode) -> bool:
        """Did the value change, whichever way the open verdicts fall?"""
        bounds = self.difference_bounds(mode)
        if bounds is None:
            return (self.bounds_a[mode] is None) != (self.bounds_b[mode] is None)
        return not bounds[0] <= 0 <= bounds[1]

    @property
    def largest(self) -> float:
        """The larger of the two modes' absolute differences, as far as they are certain."""
        differences = map(self.difference_bounds, self.bounds_a)
        return max((absolute_bounds(each)[0] for each in differences if each), default=0.0)


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
    scored_as: tuple[str, str, str] | None
    """Definition, convention for empty responses, choice for open verdicts; None if it failed."""
    values: dict[Mode, float | None]
    bounds: dict[Mode, Bounds | None]
    modes: tuple[Mode, ...]
    claims: tuple[tuple[str, Category], ...]
    cluster: str | None


_Pairs = Sequence[tuple[_Figures, _Figures]]


def _figures(result: Result) -> _Figures:
    score = result_in(result).score
    name, cluster = name_of(result), result.cluster
    if score is None:
        return _Figures(name, None, dict.fromkeys(MODES), dict.fromkeys(MODES), (), (), cluster)
    return _Figures(
        name,
        (score.definition, score.empty, score.undetermined),
        {mode: score.value(mode) for mode in MODES},
        {mode: score.bounds(mode) for mode in MODES},
        tuple(mode for mode in MODES if score.counts(mode) is not None),
        tuple((claim.text, claim.category) for claim in score.claims),
        cluster,
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
    leave of it, with an interval made by inverting a sign-flip test (see
    `noisesense.stats.interval` for the other intervals): where the versions do not differ, each
    mode is called better or worse at most ``1 − confidence`` of the time, and so one of the two up
    to twice as often; either is called *worse* at most ``1 − confidence`` of the time. Where
    verdicts are open, the interval reaches from the lower end of the one of (B's lowest − A's
    highest) to the upper end of the one of (B's highest − A's lowest): a difference that the
    missing verdicts could undo is never called one. Claims are matched by their text within a
    sample.

    Args:
        a: the results of the first version.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by the ids that
            were supplied, and by question if there are none, or none in both. An id equal to the
            sample's content key was not supplied.
        min_paired: the least share of the smaller run that must have a partner in the other.
        margin: the difference that does not matter, 0 to 1. Above 0, B is worse only if it is by
            more than this, and the same if the whole interval is within it: equivalence, by a
            two-sided interval, which is stricter than the usual two one-sided tests.
        confidence: of the intervals.
        cluster: flip whole clusters? By default if every pair's A names its cluster.
        seed: the same seed gives the same intervals.
        resamples: how many random sign patterns.

    Memory grows with the number of samples: the claims' texts of both versions are kept.

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
    unit = "cluster" if clustered else "pair"
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
        clusters=len(clusters) if clustered else None,
        margin=margin,
        warnings=tuple(_warnings(modes.values(), paired, failed=len(failed), unit=unit)),
    )


def _one_definition(scored: _Pairs) -> DefinitionName | None:
    first = scored[0][0].scored_as if scored else None
    for run, figures in (each for x, y in scored for each in (("A", x), ("B", y))):
        if figures.scored_as != first:
            raise InputError(
                f"results scored alike, {first}",
                str(figures.scored_as),
                where=f"{run}, result {figures.name.id!r}",
                hint="read both with one definition=…, empty=… and undetermined=…",
            )
    return cast(DefinitionName, first[0]) if first else None


def _mode(
    mode: Mode, scored: _Pairs, resampling: Resampling, clustered: bool, margin: float
) -> ModeComparison:
    rows = [(x, y, a, b) for x, y in scored if (a := x.bounds[mode]) and (b := y.bounds[mode])]
    undetermined = sum(a[0] != a[1] or b[0] != b[1] for _, _, a, b in rows)
    differences = [(difference_bounds(a, b), x.cluster) for x, _, a, b in rows]
    interval = _interval(differences, 0, resampling, clustered)
    if undetermined:
        above = _interval(differences, 1, resampling, clustered)
        interval = covering(interval, above, "sign-flip-range")
    bounds_a = mean_bounds([a for _, _, a, _ in rows]) if rows else None
    bounds_b = mean_bounds([b for _, _, _, b in rows]) if rows else None
    mean_a = _mean([x.values[mode] for x, *_ in rows])
    mean_b = _mean([y.values[mode] for _, y, *_ in rows])
    return ModeComparison(
        mode=mode,
        pairs=len(rows),
        undetermined=undetermined,
        undefined=len(scored) - len(rows),
        bounds_a=bounds_a,
        bounds_b=bounds_b,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=None if mean_a is None or mean_b is None else mean_b - mean_a,
        difference_bounds=bounds_a and bounds_b and difference_bounds(bounds_a, bounds_b),
        interval=interval,
        decision=_decision(interval, margin),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """None unless every sample has a value: those that have one are the easy ones."""
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known and len(known) == len(values) else None


def _interval(
    differences: Sequence[tuple[Bounds, str | None]],
    end: int,
    resampling: Resampling,
    clustered: bool,
) -> Interval | None:
    """Of the mean of that end of these, each with its cluster."""
    sums: dict[str | int | None, list[float]] = {}
    for i, (bounds, cluster) in enumerate(differences):
        unit = sums.setdefault(cluster if clustered else i, [0.0, 0.0])
        unit[0] += bounds[end]
        unit[1] += 1
    units: Counter[Unit] = Counter((round(total, 12), count) for total, count in sums.values())
    return sign_flip_interval(units, resampling)


def _decision(interval: Interval | None, margin: float) -> Decision:
    if interval is None:
        return "undecided"
    if interval.low > margin:
        return "worse"
    if interval.high < -margin:
        return "better"
    within = margin and -margin <= interval.low and interval.high <= margin
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
        change = SampleChange(x.name.id, x.values, y.values, x.bounds, y.bounds, changed)
        if changed or any(change.changed(mode) for mode in MODES):
            changes.append(change)
    changes.sort(key=lambda change: (-change.largest, -len(change.claims), change.id))
    return tuple(changes), dict(transitions.most_common())


def _warnings(
    modes: Iterable[ModeComparison], paired: Paired[_Figures], *, failed: int, unit: str
) -> list[str]:
    warnings = list(paired.warnings)
    only_a, only_b = len(paired.only_a), len(paired.only_b)
    if only_a or only_b:
        warnings.append(
            f"samples only in A: {only_a}, only in B: {only_b}; they are in no figure."
        )
    if failed:
        warnings.append(f"{counted(failed, 'sample')} failed in A or in B and enter no figure.")
    for each in modes:
        if each.undetermined and each.difference_bounds:
            low, high = each.difference_bounds
            are = "is" if each.undetermined == 1 else "are"
            warnings.append(
                f"{each.mode}: {each.undetermined:,} of {counted(each.pairs, 'pair')} {are} "
                f"undetermined; the difference lies between {low:+.4g} and {high:+.4g}, and the "
                "verdicts do not decide where."
            )
        units = each.interval.units if each.interval else each.pairs
        if units < FEW_UNITS:
            warnings.append(
                f"{each.mode}: {counted(units, unit)}; below {FEW_UNITS} little can be decided."
            )
    return warnings
