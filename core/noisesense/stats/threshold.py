"""Where to cut a classifier's probabilities: by claims that people labeled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from noisesense.errors import InputError
from noisesense.scoring.records import Record
from noisesense.stats.cells import kappa


@dataclass(frozen=True)
class Cut(Record):
    """A threshold, and what is wrong with the verdicts it gives.

    Attributes:
        threshold: a probability of at least this is a "yes".
        false_yes: of the "no" that people gave, the share it calls "yes".
        false_no: of the "yes", the share it calls "no".
        kappa: Cohen's; None where all labels are called the same and are the same.
    """

    threshold: float
    false_yes: float
    false_no: float
    kappa: float | None


@dataclass(frozen=True)
class Calibration(Record):
    """Two thresholds to choose from. Both are chosen on these labels, and flatter themselves on
    them: their rates on other labels are what counts.

    Attributes:
        cells: labeled verdicts with a probability.
        balanced: where the two rates are nearest to each other.
        best_kappa: where kappa is highest.
    """

    cells: int
    balanced: Cut
    best_kappa: Cut


def calibrate(cells: Iterable[tuple[bool, float]]) -> Calibration:
    """The thresholds that balance false "yes" and false "no", and that agree best with people.

    Every threshold between two neighboring probabilities is tried. It is their middle, rounded as
    far as that tells the two apart.

    Args:
        cells: what people said, and the probability.

    Raises:
        InputError: not both a "yes" and a "no".
    """
    found = sorted(cells, key=lambda cell: cell[1])
    yes = sum(label for label, _ in found)
    no = len(found) - yes
    if not yes or not no:
        got = "none" if not found else "one kind"
        raise InputError('labels of both kinds, "yes" and "no"', got, where="calibrate")
    values = [(p, [label for label, _ in of]) for p, of in groupby(found, lambda cell: cell[1])]
    cuts: list[Cut] = []
    missed, refused, below = 0, 0, 0.0
    for p, labels in values:
        counts = (yes - missed, missed, no - refused, refused)
        cuts.append(Cut(_between(below, p), counts[2] / no, missed / yes, kappa(counts)))
        missed += sum(labels)
        refused += len(labels) - sum(labels)
        below = p
    if below < 1:
        cuts.append(Cut(_between(below, 1.0), 0.0, 1.0, kappa((0, yes, 0, no))))

    def unbalanced(cut: Cut) -> float:
        return abs(cut.false_yes - cut.false_no)

    def agreement(cut: Cut) -> float:
        return -1.0 if cut.kappa is None else cut.kappa

    return Calibration(
        cells=len(found),
        balanced=min(cuts, key=lambda cut: (unbalanced(cut), -agreement(cut))),
        best_kappa=min(cuts, key=lambda cut: (-agreement(cut), unbalanced(cut))),
    )


def _between(low: float, high: float) -> float:
    """The middle, rounded, but above the one and at most the other."""
    middle = (low + high) / 2
    for digits in range(1, 17):
        if low < round(middle, digits) <= high:
            return round(middle, digits)
    return high
