"""Where to cut a classifier's probabilities: by claims that people labeled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from noisesense.errors import InputError, describe
from noisesense.scoring.records import Record
from noisesense.stats.labels_cells import kappa


@dataclass(frozen=True)
class Cut(Record):
    """A threshold, and what is wrong with the verdicts it gives.

    Attributes:
        threshold: a probability of at least this is a "yes".
        false_yes: of the "no" that people gave, the share it calls "yes".
        false_no: of the "yes", the share it calls "no".
        kappa: Cohen's.
    """

    threshold: float
    false_yes: float
    false_no: float
    kappa: float


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
        InputError: not both a "yes" and a "no"; a probability outside 0 to 1, or NaN.
    """
    given = list(cells)
    for number, (_, p) in enumerate(given):
        if not 0 <= p <= 1:
            raise InputError("a probability from 0 to 1", describe(p), where=f"cell {number}")
    found = sorted(given, key=lambda cell: cell[1])
    yes = sum(label for label, _ in found)
    no = len(found) - yes
    if not yes or not no:
        got = "none" if not found else "one kind"
        raise InputError('labels of both kinds, "yes" and "no"', got, where="calibrate")
    values = [(p, [label for label, _ in of]) for p, of in groupby(found, lambda cell: cell[1])]
    cuts: list[Cut] = []
    # A cut above all is as good as the one below all, which stands first.
    missed, refused, below = 0, 0, 0.0
    for p, labels in values:
        counts = (yes - missed, missed, no - refused, refused)
        agreement = kappa(counts)
        assert agreement is not None, "there are labels of both kinds"
        cuts.append(Cut(_between(below, p), counts[2] / no, missed / yes, agreement))
        missed += sum(labels)
        refused += len(labels) - sum(labels)
        below = p

    def unbalanced(cut: Cut) -> float:
        # Rounded: 1/2 is as far from 1/3 as from 2/3.
        return round(abs(cut.false_yes - cut.false_no), 12)

    return Calibration(
        cells=len(found),
        balanced=min(cuts, key=lambda cut: (unbalanced(cut), -cut.kappa)),
        best_kappa=min(cuts, key=lambda cut: (-cut.kappa, unbalanced(cut))),
    )


def _between(low: float, high: float) -> float:
    """The middle, rounded, but above the one and at most the other."""
    middle = (low + high) / 2
    for digits in range(1, 17):
        if low < round(middle, digits) <= high:
            return round(middle, digits)
    return high
