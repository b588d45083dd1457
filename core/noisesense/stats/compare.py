"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisesense.scoring.definitions import MODES, DefinitionName, modes_of
from noisesense.scoring.outcomes import BothModes, Record, check_limit
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.scoring.scoring import NO_JUDGE, Score
from noisesense.stats.changes import SampleChange, largest_first, sample_change
from noisesense.stats.clusters import are_questions, units_of_results
from noisesense.stats.figures import Figure, FigureComparison, Values, value_of
from noisesense.stats.interval import Resampling
from noisesense.stats.pairing import (
    MIN_PAIRED,
    Paired,
    PairedBy,
    pair,
    same_texts,
)
from noisesense.stats.summarize import (
    FEW_UNITS,
    are_echoes,
    counted,
    echo_of,
)
from noisesense.verdicts.sample import Sample


@dataclass(frozen=True)
class Comparison(Record, BothModes[FigureComparison]):
    """Two versions over the same samples.

    Attributes:
        definition: under which both were scored.
        paired_by: ``"id"``, or ``"question"``: user input and reference.
        pairs: samples that both versions have, failed ones included.
        only_a: ids that only A has.
        only_b: ids that only B has.
        failed: ids (A's) of pairs in which one version or both failed.
        undefined_in_a: ids (A's) of pairs in which A alone has nothing to measure.
        undefined_in_b: those in which B alone has nothing to measure.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
        any: claims that are incorrect and come from a chunk, relevant or not. Where B finds more
            relevant chunks, the same noise moves from one mode to the other, and this stays.
        correct: correct claims, also of answers that claim nothing.
        changes: the samples that changed, those that changed most first.
        clusters: how many clusters the scored pairs are in, of which each figure's ``interval``
            counts those with something to measure; None: the intervals are over single pairs.
        margin: the difference that does not matter; 0: any may.
        warnings: what a reader of the figures must know, in words.
    """

    _derived = ("undefined_share",)

    definition: DefinitionName | None
    paired_by: PairedBy
    pairs: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    failed: tuple[str, ...]
    undefined_in_a: tuple[str, ...]
    undefined_in_b: tuple[str, ...]
    relevant: FigureComparison | None
    irrelevant: FigureComparison | None
    any: FigureComparison | None
    correct: FigureComparison | None
    changes: tuple[SampleChange, ...]
    clusters: int | None
    margin: float
    warnings: tuple[str, ...]

    @property
    def figures(self) -> tuple[FigureComparison, ...]:
        """The comparisons of all figures that the definition has."""
        comparisons = (self.relevant, self.irrelevant, self.any, self.correct)
        return tuple(each for each in comparisons if each is not None)

    @property
    def worse(self) -> tuple[Figure, ...]:
        """The figures in which B is worse, for a check that fails."""
        worse: list[Figure] = []
        for comparison in self.figures:
            if comparison.decision == "worse":
                worse.append(comparison.figure)
        return tuple(worse)

    @property
    def lost(self) -> bool:
        """Has B fewer correct claims, beyond chance?"""
        return self.correct is not None and self.correct.side == "worse"

    @property
    def undefined_share(self) -> float | None:
        """The share of the scored pairs in which only one version has something to measure."""
        scored = self.pairs - len(self.failed)
        one_sided = len(self.undefined_in_a) + len(self.undefined_in_b)
        return one_sided / scored if scored else None


class _Pair(NamedTuple):
    """A sample that both versions have, and its scores."""

    x: Result
    y: Result
    a: Score
    b: Score


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
    leave of it, with an interval (see `noisesense.stats.paired.difference_interval`): where the
    versions do not differ, each figure is called better or worse about ``1 − confidence`` of the
    time, and *worse* half as often. Where verdicts are open, B is worse only if every way in which
    they may fall says so. Fewer than 6 pairs decide nothing. Pairs that name the same cluster, or
    else have the same question and reference, count as one. Claims are matched by their text
    within a sample. Memory grows with the number of samples.

    Args:
        a: the results of the first version, the baseline.
        b: of the second.
        pair_by: ``"id"``; ``"question"``: user input and reference; by default by the ids that
            were supplied (not keys of the content), and by question if none are in both.
        min_paired: the least share of A that must have a partner in B.
        margin: the difference that does not matter, 0 to 1; of correct claims it is a share of
            A's. Above 0, B is worse or better only if it is by more than this, and the same if it
            surely is not, also where half a pair more differs by 1: what is rare is not "the
            same" because it was not seen.
        confidence: of the intervals.

    Raises:
        PairingError: no sample is in both runs, or fewer than ``min_paired``.
        InputError: an empty run, an id twice in one, a number out of range, or results that were
            not scored alike.
    """
    resampling = Resampling(confidence)
    check_limit(margin, "margin")
    first = list(map(result_in, a))
    second = list(map(result_in, b))
    paired = pair(first, second, pair_by, min_paired=min_paired)
    check_scored_alike((*first, *second), "A, B")
    scored: list[_Pair] = []
    failed: list[str] = []
    undefined_in_a: list[str] = []
    undefined_in_b: list[str] = []
    for x, y in paired.pairs:
        if x.score is None or y.score is None:
            failed.append(x.id)
            continue
        scored.append(_Pair(x, y, x.score, y.score))
        if _lacks(x.score, y.score):
            undefined_in_a.append(x.id)
        if _lacks(y.score, x.score):
            undefined_in_b.append(x.id)
    changes = largest_first(sample_change(pair.x.id, pair.a, pair.b) for pair in scored)
    units = units_of_results((pair.x, pair.y) for pair in scored)
    clusters = len({*units})
    figures = _figures(scored, units, resampling, margin)
    warnings = [
        *paired.warnings,
        *_of_clusters(units),
        *_of_unpaired(paired),
        *_of_few_units(figures.values(), clustered=clusters < len(units)),
        *_of_judges(scored),
        *_same_texts(scored, changes),
        *_echoes(scored),
    ]
    return Comparison(
        definition=scored[0].a.definition if scored else None,
        paired_by=paired.by,
        pairs=len(paired.pairs),
        only_a=paired.only_a,
        only_b=paired.only_b,
        failed=tuple(failed),
        undefined_in_a=tuple(undefined_in_a),
        undefined_in_b=tuple(undefined_in_b),
        relevant=figures.get("relevant"),
        irrelevant=figures.get("irrelevant"),
        any=figures.get("any"),
        correct=figures.get("correct"),
        changes=changes,
        clusters=clusters if clusters < len(units) else None,
        margin=margin,
        warnings=tuple(warnings),
    )


def _lacks(score: Score, other: Score) -> bool:
    """Is there a figure of noise in which only the other version has something to measure?"""
    if value_of("any", score) is None and value_of("any", other) is not None:
        return True
    return not {*score.measures}.issuperset(other.measures)


def _figures(
    pairs: Sequence[_Pair],
    units: Sequence[Hashable],
    resampling: Resampling,
    margin: float,
) -> dict[Figure, FigureComparison]:
    if not pairs:
        return {}
    chosen: tuple[Figure, ...] = (*modes_of(pairs[0].a.definition), "any", "correct")
    figures: dict[Figure, FigureComparison] = {}
    for figure in chosen:
        values = _values(figure, pairs, units)
        figures[figure] = values.compared(figure, len(pairs), resampling, margin)
    return figures


def _values(figure: Figure, pairs: Sequence[_Pair], units: Sequence[Hashable]) -> Values:
    values = Values([], [], [])
    for scored, unit in zip(pairs, units, strict=True):
        a = value_of(figure, scored.a)
        b = value_of(figure, scored.b)
        if a is not None and b is not None:
            values.before.append(a)
            values.after.append(b)
            values.units.append(unit)
    return values


def _of_clusters(units: Sequence[Hashable]) -> Iterator[str]:
    """A warning where several pairs answer one question."""
    questions = len({*units})
    if questions < len(units) and are_questions(units):
        yield (
            f"{counted(len(units), 'pair')} answer {counted(questions, 'question')}: the answers "
            "to one question count as one in every interval."
        )


def _of_unpaired(paired: Paired) -> Iterator[str]:
    only_a = len(paired.only_a)
    only_b = len(paired.only_b)
    if only_a or only_b:
        yield f"samples only in A: {only_a}, only in B: {only_b}; they are in no figure."


def _of_few_units(figures: Iterable[FigureComparison], *, clustered: bool) -> Iterator[str]:
    """A warning of the modes with so few pairs or clusters that they say little or nothing."""
    modes_by_warning: dict[str, list[str]] = {}
    for comparison in figures:
        enough = comparison.effective >= FEW_UNITS and not comparison.too_few
        if enough or comparison.figure not in MODES:
            continue
        units = counted(comparison.pairs, "pair")
        if clustered:
            units = _clusters_text(comparison)
        meaning = "only large differences can be decided."
        if comparison.too_few:
            meaning = f"fewer than {comparison.fewest} decide nothing."
        modes = modes_by_warning.setdefault(f"{units}; {meaning}", [])
        modes.append(comparison.figure)
    for warning, modes in modes_by_warning.items():
        yield f"{' and '.join(modes)}: {warning}"


def _clusters_text(comparison: FigureComparison) -> str:
    """How many clusters there are, and how many of equal size say as much."""
    interval = comparison.interval
    if interval is None:
        # There are no units, or one.
        return counted(round(comparison.effective), "cluster")
    clusters = counted(interval.units, "cluster")
    if comparison.effective >= interval.units - 0.5:
        return clusters
    return f"{clusters} of unequal size, which say as much as {comparison.effective:.1f}"


def _echoes(scored: Sequence[_Pair]) -> Iterator[str]:
    in_a = sum(pair.x.echoes for pair in scored)
    in_b = sum(pair.y.echoes for pair in scored)
    for run, count in (("A", in_a), ("B", in_b)):
        if are_echoes(count, len(scored)):
            yield f"{run}: {echo_of(count, len(scored))}"


def _of_judges(scored: Sequence[_Pair]) -> Iterator[str]:
    """Differences that are the judge's, and not the versions'."""
    before = {pair.x.judge for pair in scored} - {None, NO_JUDGE}
    after = {pair.y.judge for pair in scored} - {None, NO_JUDGE}
    if before and after and before != after:
        yield (
            "A and B were not judged alike (model, way to check or options): part of the "
            "difference may be the judge's."
        )


def _same_texts(scored: Sequence[_Pair], changes: Sequence[SampleChange]) -> Iterator[str]:
    """Samples that changed, though their texts did not."""
    changed = {change.id for change in changes}
    judged_again = 0
    labeled_again = 0
    for x, y, *_ in scored:
        if x.id not in changed or x.sample is None or not same_texts(x, y):
            continue
        if y.sample is None or _labels(x.sample) == _labels(y.sample):
            judged_again += 1
        else:
            labeled_again += 1
    if judged_again:
        yield (
            f"{_changed_alike(judged_again)}, judged otherwise: with one store for both runs "
            "(score --store FILE) a text is judged once."
        )
    if labeled_again:
        yield (
            f"{_changed_alike(labeled_again)}, but other labels of which chunks are relevant: "
            "part of the difference is the labels'."
        )


def _changed_alike(samples: int) -> str:
    have = "has" if samples == 1 else "have"
    return f"{counted(samples, 'sample')} that changed {have} the same texts in both"


def _labels(sample: Sample) -> list[bool | None]:
    return [chunk.relevant for chunk in sample.retrieved_contexts]
