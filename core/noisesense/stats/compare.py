"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast, get_args

from noisesense._claims import Category
from noisesense.definitions import DefinitionName, Mode
from noisesense.errors import InputError, describe
from noisesense.results import Result
from noisesense.stats._pairs import Kept, Paired, pair
from noisesense.stats._resampling import Unit
from noisesense.stats._sign_flips import sign_flip_interval
from noisesense.stats._warnings import FEW_UNITS, counted
from noisesense.stats.comparison import (
    ClaimChange,
    Comparison,
    Decision,
    ModeComparison,
    PairedBy,
    SampleChange,
)
from noisesense.stats.interval import Interval, Resampling

__all__ = ["compare"]

_Pairs = Sequence[tuple[Kept, Kept]]


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
    cluster: bool | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Two versions over the same samples: paired differences and what changed.

    ``difference = mean over pairs of (B's value − A's value)``, with an interval that turns a
    sign-flip test around (see `noisesense.stats.interval` for the other intervals): where the
    versions do not differ, each mode is called better or worse at most ``1 − confidence`` of the
    time. Claims are matched by their text within a sample.

    Args:
        a: the results of the first version.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by id, and by
            question if no id is in both.
        confidence: of the intervals.
        cluster: flip whole clusters? By default if every pair's A names its cluster.
        seed: the same seed gives the same intervals.
        resamples: how many random sign patterns.

    Memory grows with the number of samples: the claims' texts of both versions are kept.

    Raises:
        InputError: nothing to pair, a sample twice, or the versions were scored under several
            definitions.
    """
    how = Resampling(confidence, resamples, seed).check()
    if pair_by is not None and pair_by not in get_args(PairedBy):
        raise InputError("'id' or 'question'", describe(pair_by), where="pair_by")
    paired = pair(a, b, pair_by)
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
        failed=tuple(x.id for x, y in paired.pairs if not (x.scored_as and y.scored_as)),
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
                    where=f"{run}, result {kept.id!r}",
                    hint="read both with one definition=… and empty=… (--definition, --empty)",
                )
    return cast(DefinitionName, first[0]) if first else None


def _modes(scored: _Pairs) -> tuple[Mode, ...]:
    return scored[0][0].modes if scored else ()


def _mode(mode: Mode, scored: _Pairs, how: Resampling, clustered: bool) -> ModeComparison:
    found: list[tuple[float, float]] = []
    units: Counter[Unit] = Counter()
    clusters: dict[str | None, list[float]] = {}
    for x, y in scored:
        a, b = x.values[mode], y.values[mode]
        if a is None or b is None:
            continue
        found.append((a, b))
        units[round(b - a, 12), 1.0] += 1
        sums = clusters.setdefault(x.cluster, [0.0, 0.0])
        sums[0] += b - a
        sums[1] += 1
    if clustered:
        units = Counter((round(total, 12), count) for total, count in clusters.values())
    count = len(found)
    mean_a = sum(a for a, _ in found) / count if count else None
    mean_b = sum(b for _, b in found) / count if count else None
    interval = sign_flip_interval(units, how)
    return ModeComparison(
        mode=mode,
        pairs=count,
        undefined=len(scored) - count,
        mean_a=mean_a,
        mean_b=mean_b,
        difference=None if mean_a is None or mean_b is None else mean_b - mean_a,
        interval=interval,
        decision=_decision(interval),
    )


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
        changed = tuple(claim for claim in matched if claim.before != claim.after)
        if changed or x.values != y.values:
            found.append(SampleChange(x.id, x.values, y.values, changed))
    found.sort(key=lambda change: (-change.largest, -len(change.claims), change.id))
    return tuple(found), dict(transitions.most_common())


def _match(
    before: Sequence[tuple[str, Category]], after: Sequence[tuple[str, Category]]
) -> list[ClaimChange]:
    """Claims of the same words, in order where a text occurs more than once."""
    waiting: dict[str, list[Category]] = {}
    for text, category in after:
        waiting.setdefault(_words(text), []).append(category)
    both: list[ClaimChange] = []
    gone: list[ClaimChange] = []
    for text, category in before:
        matches = waiting.get(_words(text))
        if matches:
            both.append(ClaimChange(text, category, matches.pop(0)))
        else:
            gone.append(ClaimChange(text, category, None))
    new: list[ClaimChange] = []
    for text, _ in reversed(after):
        if waiting[_words(text)]:
            new.append(ClaimChange(text, None, waiting[_words(text)].pop()))
    return [*both, *gone, *reversed(new)]


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def _warnings(
    modes: Iterable[ModeComparison], paired: Paired, *, failed: int, unit: str
) -> list[str]:
    found: list[str] = []
    only_a, only_b = len(paired.only_a), len(paired.only_b)
    if only_a or only_b:
        found.append(
            f"{only_a} samples are only in A and {only_b} only in B; they are in no figure."
        )
    if failed:
        found.append(f"{counted(failed, 'sample')} failed in A or in B and enter no figure.")
    for each in modes:
        units = each.interval.units if each.interval else each.pairs
        if units < FEW_UNITS:
            found.append(
                f"{each.mode}: {counted(units, unit)}; below {FEW_UNITS} little can be decided."
            )
    return found
