"""Labels on some of a judge's results, and the mean people would find in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from noisesense.errors import PairingError
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import Range
from noisesense.scoring.results import Result, check_scored_alike, results_in
from noisesense.stats.clusters import units_of_results
from noisesense.stats.pairing import PairedBy, pair, same_texts
from noisesense.stats.powered_mean import PPIMean, differ, powered_mean


class Labeled(NamedTuple):
    """A judge's results beside people's."""

    pairs: list[tuple[Result, Result]]
    """The judge's and people's on the same texts, answer included."""
    others: list[Result]
    """The judge's results without labels."""
    warnings: list[str]


def labeled_pairs(
    judge: Iterable[Result],
    labels: Sequence[Result],
    by: PairedBy | None,
) -> Labeled:
    """Return the samples that both have with the same texts, and those without labels.

    They are paired as in `noisesense.compare`.

    Raises:
        PairingError: no sample is in both, or none with the same texts.
        InputError: nothing on one side, an id twice (not if paired by question), an unknown rule
            ``by``, something else than results, or results that were not scored alike.
    """
    judged = [*results_in(judge)]
    check_scored_alike((*judged, *labels), "results, labels")
    paired = pair(judged, labels, by)
    same: list[tuple[Result, Result]] = []
    places: list[int] = []
    for i, j in paired.places:
        if same_texts(judged[i], labels[j]):
            same.append((judged[i], labels[j]))
            places.append(i)
    others = len(paired.places) - len(same)
    if not same:
        raise PairingError(
            "labels on judged samples",
            f"{others} that differ in their answer or another text",
            where=f"human, paired by {paired.by}",
            hint="labels belong to one answer: label what the judge has judged",
        )
    warnings = paired.warnings
    others += len(paired.only_b)
    if others:
        warnings.append(
            f"labeled samples that are not in the results, or with another text: {others} of "
            f"{len(labels)}; they are in no figure."
        )
    unlabeled = sorted({*range(len(judged))} - {*places})
    if differ(places, unlabeled):
        warnings.append(
            "The labeled samples stand together in the results, more than a random choice would: "
            "labels on the first ones tell nothing of the others. 'noisesense trust "
            "export-labels' writes a sheet in random order, to be filled in from the top."
        )
    return Labeled(same, [judged[place] for place in unlabeled], warnings)


def corrected_mean(labeled: Labeled, mode: Mode, confidence: float) -> PPIMean:
    """Return the mean of one mode that people would find, see `powered_mean`.

    Failed samples and those with nothing to measure are left out; one of its warnings counts them,
    another says if the labels are hardly on a random choice of the samples. Raises `InputError`
    below two labels.
    """
    bounds = [result.bounds(mode) for result in labeled.others]
    others = [each for each in bounds if each is not None]
    scores: list[Range] = []
    labels: list[Range] = []
    of_mode: list[tuple[Result, Result]] = []
    for ours, people in labeled.pairs:
        score = ours.bounds(mode)
        label = people.bounds(mode)
        if score is not None and label is not None:
            scores.append(score)
            labels.append(label)
            of_mode.append((ours, people))
    powered = powered_mean(others, scores, labels, confidence, units_of_results(of_mode))
    left_out = len(bounds) - len(others) + len(labeled.pairs) - len(labels)
    if left_out:
        are = "sample is" if left_out == 1 else "samples are"
        warning = f"{left_out} {are} not in the mean: failed, or with nothing to measure."
        powered = replace(powered, warnings=(*powered.warnings, warning))
    return powered
