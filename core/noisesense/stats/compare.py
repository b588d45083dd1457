"""Is version B worse than version A, or is that noise?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from noisesense.scoring.definitions import DefinitionName, modes_of
from noisesense.scoring.outcomes import BothModes, Record, check_between, check_limit
from noisesense.scoring.results import Result, check_scored_alike, results_in
from noisesense.scoring.scoring import NO_JUDGE, Score
from noisesense.stats.clusters import are_questions, units_of_results
from noisesense.stats.figures import Figure, FigureComparison, compared, value_of
from noisesense.stats.pairing import MIN_PAIRED, PairedBy, pair
from noisesense.stats.summarize import FEW_UNITS, counted


@dataclass(frozen=True)
class Comparison(Record, BothModes[FigureComparison]):
    """Two versions over the same samples.

    Attributes:
        definition: under which both were scored; None, as the four figures are, if no pair has
            two scores.
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
        clusters: how many clusters the scored pairs are in, of which each figure's ``interval``
            counts those with something to measure; None: the intervals are over single pairs.
        warnings: what a reader of the figures must know, in words.
    """

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
    clusters: int | None
    warnings: tuple[str, ...]

    @property
    def figures(self) -> tuple[FigureComparison, ...]:
        """The comparisons of all figures that the definition has; none if no pair was scored."""
        comparisons = (self.relevant, self.irrelevant, self.any, self.correct)
        return tuple(each for each in comparisons if each is not None)


def compare(
    a: Iterable[Result],
    b: Iterable[Result],
    *,
    pair_by: PairedBy | None = None,
    min_paired: float = MIN_PAIRED,
    margin: float = 0.0,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two versions over the same samples: paired differences.

    ``difference = mean over pairs of (B's value − A's value)``, or the range that open verdicts
    leave of it, with an interval (see `noisesense.stats.paired.difference_interval`): where the
    versions do not differ, each figure is called better or worse about ``1 − confidence`` of the
    time, and *worse* half as often. Where verdicts are open, B is worse only if every way in which
    they may fall says so. Fewer than 6 pairs decide nothing. Pairs that name the same cluster, or
    else have the same question and reference, count as one. Memory grows with the number
    of samples.

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
        InputError: an empty run, an id twice in one (not if paired by question), a number out of
            range, an unknown ``pair_by``, something else than results, or results that were not
            scored alike.
        MissingExtraError: numpy or SciPy is not installed.
    """
    check_between(confidence, "confidence")
    check_limit(margin, "margin")
    first = list(results_in(a))
    second = list(results_in(b))
    paired = pair(first, second, pair_by, min_paired=min_paired)
    check_scored_alike((*first, *second), "A, B")
    results: list[tuple[Result, Result]] = []
    scores: list[tuple[Score, Score]] = []
    failed: list[str] = []
    undefined_in_a: list[str] = []
    undefined_in_b: list[str] = []
    for i, j in paired.places:
        x = first[i]
        y = second[j]
        if x.score is None or y.score is None:
            failed.append(x.id)
            continue
        results.append((x, y))
        scores.append((x.score, y.score))
        if _lacks(x.score, y.score):
            undefined_in_a.append(x.id)
        if _lacks(y.score, x.score):
            undefined_in_b.append(x.id)
    units = units_of_results(results)
    clusters = len({*units})
    figures: dict[Figure, FigureComparison] = {}
    definition = scores[0][0].definition if scores else None
    if definition is not None:
        chosen: tuple[Figure, ...] = (*modes_of(definition), "any", "correct")
        for figure in chosen:
            figures[figure] = compared(figure, scores, units, confidence, margin)
    warnings = [*paired.warnings, *_of_units(units, figures.get("any")), *_of_judges(results)]
    only_a = len(paired.only_a)
    only_b = len(paired.only_b)
    if only_a or only_b:
        warnings.append(
            f"samples only in A: {only_a}, only in B: {only_b}; they are in no figure."
        )
    return Comparison(
        definition=definition,
        paired_by=paired.by,
        pairs=len(paired.places),
        only_a=paired.only_a,
        only_b=paired.only_b,
        failed=tuple(failed),
        undefined_in_a=tuple(undefined_in_a),
        undefined_in_b=tuple(undefined_in_b),
        relevant=figures.get("relevant"),
        irrelevant=figures.get("irrelevant"),
        any=figures.get("any"),
        correct=figures.get("correct"),
        clusters=clusters if clusters < len(units) else None,
        warnings=tuple(warnings),
    )


def _lacks(score: Score, other: Score) -> bool:
    """Tell whether ``other`` alone has a value in a figure of noise, be it that of ``empty``."""
    if value_of("any", score) is None and value_of("any", other) is not None:
        return True
    return not {*score.measures}.issuperset(other.measures)


def _of_units(units: Sequence[Hashable], whole: FigureComparison | None) -> Iterator[str]:
    """Yield warnings where several pairs answer one question, and where so few tell little."""
    questions = len({*units})
    if questions < len(units) and are_questions(units):
        yield (
            f"{counted(len(units), 'pair')} answer {counted(questions, 'question')}: the answers "
            "to one question count as one in every interval."
        )
    if whole is None or whole.effective >= FEW_UNITS:
        return
    as_much = counted(whole.pairs, "pair")
    if questions < len(units):
        as_much += f", in clusters that say as much as {whole.effective:.1f}"
    if whole.too_few:
        yield f"{as_much}: fewer than {whole.fewest} decide nothing."
    else:
        yield f"{as_much}: only large differences can be decided."


def _of_judges(pairs: Sequence[tuple[Result, Result]]) -> Iterator[str]:
    """Yield a warning if A and B were not judged alike."""
    before = {x.judge for x, _ in pairs} - {None, NO_JUDGE}
    after = {y.judge for _, y in pairs} - {None, NO_JUDGE}
    if before and after and before != after:
        yield (
            "A and B were not judged alike (model, way to check or options): part of the "
            "difference may be the judge's."
        )
