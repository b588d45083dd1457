"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple, cast

from noisesense.errors import InputError
from noisesense.scoring.definitions import MODES, Category, DefinitionName, Mode
from noisesense.scoring.results import Result, result_in
from noisesense.stats.comparison import (
    Bounds,
    ClaimChange,
    Comparison,
    Decision,
    ModeComparison,
    SampleChange,
)
from noisesense.stats.interval import Interval, Resampling, Unit, covering, sign_flip_interval
from noisesense.stats.pairing import (
    MIN_PAIRED,
    Named,
    Paired,
    PairedBy,
    check_pair_by,
    match_texts,
    name_of,
    pair,
)
from noisesense.stats.summary import FEW_UNITS, counted

_Claims = tuple[tuple[str, Category], ...]


class _Kept(NamedTuple):
    """What a comparison needs of a result."""

    name: Named
    scored_as: tuple[str, str, str] | None
    """Definition, convention for empty responses, choice for open verdicts; None if it failed."""
    values: dict[Mode, float | None]
    bounds: dict[Mode, Bounds | None]
    modes: tuple[Mode, ...]
    claims: _Claims
    cluster: str | None


_Pairs = Sequence[tuple[_Kept, _Kept]]


def _keep(result: Result) -> _Kept:
    score = result_in(result).score
    name = name_of(result)
    if score is None:
        return _Kept(
            name, None, dict.fromkeys(MODES), dict.fromkeys(MODES), (), (), result.cluster
        )
    return _Kept(
        name,
        (score.definition, score.empty, score.undetermined),
        {mode: score.value(mode) for mode in MODES},
        {mode: score.bounds(mode) for mode in MODES},
        tuple(mode for mode in MODES if score.counts(mode) is not None),
        tuple((claim.text, claim.category) for claim in score.claims),
        result.cluster,
    )


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    pair_by: PairedBy | None = None,
    min_paired: float = MIN_PAIRED,
    confidence: float = 0.95,
    cluster: bool | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Two versions over the same samples: paired differences and what changed.

    ``difference = mean over pairs of (B's value − A's value)``, or the range that open verdicts
    leave of it, with an interval that turns a sign-flip test around (see
    `noisesense.stats.interval` for the other intervals): where the versions do not differ, each
    mode is called better or worse at most ``1 − confidence`` of the time. Where verdicts are open,
    the interval reaches from the lower end of the one of (B's lowest − A's highest) to the upper
    end of the one of (B's highest − A's lowest): a difference that the missing verdicts could
    undo is never called one. Claims are matched by their text within a sample.

    Args:
        a: the results of the first version.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by the ids that
            were supplied, and by question if there are none, or none in both. An id equal to the
            sample's content key was not supplied.
        min_paired: the least share of the smaller run that must have a partner in the other.
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
    how = Resampling(confidence, resamples, seed).check()
    by = check_pair_by(pair_by)
    paired = pair(
        [_keep(result) for result in a],
        [_keep(result) for result in b],
        by,
        min_paired=min_paired,
    )
    scored = [(x, y) for x, y in paired.pairs if x.scored_as and y.scored_as]
    definition = _one_definition(scored)
    clustered = cluster if cluster is not None else all(x.cluster is not None for x, _ in scored)
    if cluster and any(x.cluster is None for x, _ in scored):
        raise InputError("a cluster for every pair", "pairs without one", where="A, cluster")
    clustered = clustered and bool(scored)
    unit = "cluster" if clustered else "pair"
    modes = {mode: _mode(mode, scored, how, clustered) for mode in _modes(scored)}
    changes, transitions = _changes(scored)
    return Comparison(
        definition=definition,
        paired_by=paired.by,
        pairs=len(paired.pairs),
        only_a=paired.only_a,
        only_b=paired.only_b,
        failed=tuple(x.name.id for x, y in paired.pairs if not (x.scored_as and y.scored_as)),
        relevant=modes.get("relevant"),
        irrelevant=modes.get("irrelevant"),
        changes=changes,
        transitions=transitions,
        clusters=len({x.cluster for x, _ in scored}) if clustered else None,
        warnings=tuple(
            _warnings(modes.values(), paired, failed=len(paired.pairs) - len(scored), unit=unit)
        ),
    )


def _one_definition(scored: _Pairs) -> DefinitionName | None:
    first = scored[0][0].scored_as if scored else None
    for x, y in scored:
        for run, kept in (("A", x), ("B", y)):
            if kept.scored_as != first:
                raise InputError(
                    f"results scored alike, {first}",
                    str(kept.scored_as),
                    where=f"{run}, result {kept.name.id!r}",
                    hint="read both with one definition=…, empty=… and undetermined=…",
                )
    return cast(DefinitionName, first[0]) if first else None


def _modes(scored: _Pairs) -> tuple[Mode, ...]:
    return scored[0][0].modes if scored else ()


def _mode(mode: Mode, scored: _Pairs, how: Resampling, clustered: bool) -> ModeComparison:
    found = [
        (x, y, x.bounds[mode] or _NONE, y.bounds[mode] or _NONE)
        for x, y in scored
        if x.bounds[mode] is not None and y.bounds[mode] is not None
    ]
    count = len(found)
    is_open = sum(a[0] != a[1] or b[0] != b[1] for _, _, a, b in found)
    lows = _interval([(b[0] - a[1], x.cluster) for x, _, a, b in found], how, clustered)
    interval = lows
    if is_open:
        highs = _interval([(b[1] - a[0], x.cluster) for x, _, a, b in found], how, clustered)
        interval = covering(lows, highs, "sign-flip-range")
    bounds_a = _mean_bounds([a for _, _, a, _ in found])
    bounds_b = _mean_bounds([b for _, _, _, b in found])
    mean_a = _mean([x.values[mode] for x, *_ in found])
    mean_b = _mean([y.values[mode] for _, y, *_ in found])
    return ModeComparison(
        mode=mode,
        pairs=count,
        undetermined=is_open,
        undefined=len(scored) - count,
        bounds_a=bounds_a,
        bounds_b=bounds_b,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=None if mean_a is None or mean_b is None else mean_b - mean_a,
        difference_bounds=(
            None
            if bounds_a is None or bounds_b is None
            else (bounds_b[0] - bounds_a[1], bounds_b[1] - bounds_a[0])
        ),
        interval=interval,
        decision=_decision(interval),
    )


_NONE = (0.0, 0.0)


def _mean_bounds(bounds: Sequence[Bounds]) -> Bounds | None:
    low, high = (_mean([each[end] for each in bounds]) for end in (0, 1))
    return None if low is None or high is None else (low, high)


def _mean(values: Sequence[float | None]) -> float | None:
    """None unless every sample has a value: those that have one are the easy ones."""
    found = [value for value in values if value is not None]
    return fsum(found) / len(found) if found and len(found) == len(values) else None


def _interval(
    differences: Sequence[tuple[float, str | None]], how: Resampling, clustered: bool
) -> Interval | None:
    """Of the mean of these, each with its cluster."""
    units: Counter[Unit] = Counter()
    if not clustered:
        units.update((round(value, 12), 1.0) for value, _ in differences)
        return sign_flip_interval(units, how)
    clusters: dict[str | None, list[float]] = {}
    for value, cluster in differences:
        sums = clusters.setdefault(cluster, [0.0, 0.0])
        sums[0] += value
        sums[1] += 1
    units.update((round(total, 12), count) for total, count in clusters.values())
    return sign_flip_interval(units, how)


def _decision(interval: Interval | None) -> Decision:
    if interval is None or interval.low <= 0 <= interval.high:
        return "undecided"
    return "worse" if interval.low > 0 else "better"


def _changes(
    scored: _Pairs,
) -> tuple[tuple[SampleChange, ...], dict[tuple[Category | None, Category | None], int]]:
    found: list[SampleChange] = []
    transitions: Counter[tuple[Category | None, Category | None]] = Counter()
    for x, y in scored:
        matched = _match(x.claims, y.claims)
        transitions.update((claim.before, claim.after) for claim in matched)
        claims = tuple(claim for claim in matched if claim.before != claim.after)
        change = SampleChange(x.name.id, x.values, y.values, x.bounds, y.bounds, claims)
        if claims or any(change.changed(mode) for mode in MODES):
            found.append(change)
    found.sort(key=lambda change: (-change.largest, -len(change.claims), change.id))
    return tuple(found), dict(transitions.most_common())


def _match(before: _Claims, after: _Claims) -> list[ClaimChange]:
    both, gone, new = match_texts(before, after, lambda claim: claim[0])
    return [
        *(ClaimChange(text, first, second) for (text, first), (_, second) in both),
        *(ClaimChange(text, category, None) for text, category in gone),
        *(ClaimChange(text, None, category) for text, category in new),
    ]


def _warnings(
    modes: Iterable[ModeComparison], paired: Paired[_Kept], *, failed: int, unit: str
) -> list[str]:
    found = list(paired.warnings)
    only_a, only_b = len(paired.only_a), len(paired.only_b)
    if only_a or only_b:
        found.append(
            f"{only_a} samples are only in A and {only_b} only in B; they are in no figure."
        )
    if failed:
        found.append(f"{counted(failed, 'sample')} failed in A or in B and enter no figure.")
    for each in modes:
        if each.undetermined and each.difference_bounds:
            low, high = each.difference_bounds
            are = "is" if each.undetermined == 1 else "are"
            found.append(
                f"{each.mode}: {each.undetermined:,} of {counted(each.pairs, 'pair')} {are} "
                f"undetermined; the difference lies between {low:+.4g} and {high:+.4g}, and the "
                "verdicts do not decide where."
            )
        units = each.interval.units if each.interval else each.pairs
        if units < FEW_UNITS:
            found.append(
                f"{each.mode}: {counted(units, unit)}; below {FEW_UNITS} little can be decided."
            )
    return found
