"""A threshold by labels. Expected values are counted by hand, or by trying every threshold."""

from __future__ import annotations

import random

import pytest

from noisesense import InputError, calibrate
from noisesense.stats.labels_cells import Calibration


def test_by_hand() -> None:
    """Labels in the order of their probability: n n y n y y (n = no, y = yes).

    Cut above the first two: 1/3 false yes, no false no, kappa 2/3 ((5/6 - 1/2) / (1/2)). Above
    three 1/3 and 1/3, kappa 1/3; above four again 2/3, no more balanced: the lower one is taken.
    """
    cells = [(False, 0.1), (False, 0.2), (True, 0.3), (False, 0.4), (True, 0.7), (True, 0.9)]
    assert calibrate(cells) == Calibration(6, 0.25, 1 / 3, 0.0, pytest.approx(2 / 3))


def test_of_two_that_agree_as_well_the_more_balanced_one() -> None:
    """Labels y n y n: below all 1 false yes and 0 false no, above two 1/2 and 1/2; kappa 0."""
    found = calibrate((label, i / 10) for i, label in enumerate((True, False, True, False)))
    assert found == Calibration(4, 0.2, 1 / 2, 1 / 2, 0.0)


def test_the_threshold_separates_what_it_says() -> None:
    rng = random.Random(3)
    labels = [rng.random() < 0.3 for _ in range(60)]
    probabilities = [drawn_for(label, rng) for label in labels]
    found = calibrate(zip(labels, probabilities, strict=True))
    expected = (found.false_yes, found.false_no, found.kappa)
    assert rates(labels, probabilities, found.threshold) == pytest.approx(expected)
    best = max(rates(labels, probabilities, each)[2] for each in probabilities)
    assert found.kappa == pytest.approx(best)


def drawn_for(label: bool, rng: random.Random) -> float:
    middle = 0.6 if label else 0.4
    return min(max(rng.gauss(middle, 0.2), 0.0), 1.0)


def rates(
    labels: list[bool], probabilities: list[float], threshold: float
) -> tuple[float, float, float]:
    """False yes, false no and kappa."""
    from sklearn.metrics import cohen_kappa_score, confusion_matrix  # not in every process

    said = [probability >= threshold for probability in probabilities]
    (no, false_yes), (false_no, yes) = confusion_matrix(labels, said).tolist()
    kappa = float(cohen_kappa_score(labels, said))
    return false_yes / (no + false_yes), false_no / (yes + false_no), kappa


@pytest.mark.parametrize(
    ("no", "yes", "threshold"),
    [
        (0.2, 0.8, 0.5),
        (0.1, 0.45, 0.3),  # one digit is enough
        (0.1999, 0.2, 0.2),  # a probability of the threshold is a "yes"
        (0.5, 0.5 + 1e-9, pytest.approx(0.5 + 5e-10, abs=5e-10)),
        (0.0, 4e-17, 4e-17),  # no 16 digits tell them apart
    ],
)
def test_as_few_digits_as_tell_two_apart(no: float, yes: float, threshold: float) -> None:
    found = calibrate([(False, no), (True, yes)])
    assert no < found.threshold <= yes
    assert found == Calibration(2, threshold, 0.0, 0.0, 1.0)


def test_where_nothing_is_better_than_all() -> None:
    alike = calibrate([(False, 0.0), (True, 0.0)])  # nothing tells them apart
    assert alike == Calibration(2, 0.0, 1.0, 0.0, 0.0)
    certain = calibrate([(True, 0.2), (False, 1.0)])  # upside down: best is below all
    assert certain == Calibration(2, 0.1, 1.0, 0.0, 0.0)


def test_labels_of_one_kind() -> None:
    with pytest.raises(InputError, match='labels of both kinds, "yes" and "no", got one kind'):
        calibrate([(True, 0.5)])
    with pytest.raises(InputError, match="got none"):
        calibrate([])


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.5])
def test_what_is_no_probability(wrong: float) -> None:
    with pytest.raises(InputError, match="cell 1: expected a probability from 0 to 1, got"):
        calibrate([(True, 0.9), (False, wrong), (False, 0.2)])
