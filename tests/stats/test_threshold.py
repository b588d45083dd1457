"""Thresholds by labels. Expected values are counted by hand, or by trying every threshold."""

from __future__ import annotations

import random

import pytest

from noisesense import InputError, calibrate
from noisesense.stats.labels_cells import Cut


def test_by_hand() -> None:
    """Labels in the order of their probability: n n y n y y (n = no, y = yes).

    Cut above the first two: 1/3 false yes, no false no, kappa 2/3 ((5/6 - 1/2) / (1/2)). Cut
    above the first three: 1/3 and 1/3, kappa 1/3. Above four: 0 and 1/3, kappa 2/3.
    """
    cells = [(False, 0.1), (False, 0.2), (True, 0.3), (False, 0.4), (True, 0.7), (True, 0.9)]
    found = calibrate(cells)
    assert found.cells == 6
    assert found.balanced.false_yes == found.balanced.false_no == pytest.approx(1 / 3)
    assert found.balanced.kappa == pytest.approx(1 / 3)
    assert 0.3 < found.balanced.threshold <= 0.4
    assert found.best_kappa.kappa == pytest.approx(2 / 3)
    assert found.best_kappa.threshold == 0.25


def test_the_threshold_separates_what_it_says() -> None:
    from sklearn.metrics import cohen_kappa_score  # not in every process

    rng = random.Random(3)
    cells = [
        (label, min(max(rng.gauss(0.6 if label else 0.4, 0.2), 0.0), 1.0))
        for label in (rng.random() < 0.3 for _ in range(60))
    ]
    found = calibrate(cells)
    labels = [label for label, _ in cells]

    def rates(threshold: float) -> tuple[float, float, float]:
        said = [p >= threshold for _, p in cells]
        false_yes = sum(s and not t for s, t in zip(said, labels, strict=True))
        false_no = sum(t and not s for s, t in zip(said, labels, strict=True))
        no, yes = labels.count(False), labels.count(True)
        return false_yes / no, false_no / yes, float(cohen_kappa_score(labels, said))

    for cut in (found.balanced, found.best_kappa):
        expected = (cut.false_yes, cut.false_no, cut.kappa)
        assert rates(cut.threshold) == pytest.approx(expected)
    every = [rates(p) for _, p in cells]
    assert found.best_kappa.kappa == pytest.approx(max(each[2] for each in every))
    least = min(abs(each[0] - each[1]) for each in every)
    assert abs(found.balanced.false_yes - found.balanced.false_no) == pytest.approx(least)


def test_neighbors_and_ends() -> None:
    """Few digits, but as many as tell two probabilities apart."""
    found = calibrate([(False, 0.5), (True, 0.5 + 1e-9)])
    assert 0.5 < found.balanced.threshold <= 0.5 + 1e-9
    assert found.balanced == found.best_kappa
    assert (found.balanced.false_yes, found.balanced.false_no) == (0, 0)
    assert calibrate([(False, 0.2), (True, 0.8)]).balanced.threshold == 0.5
    alike = calibrate([(False, 0.0), (True, 0.0)])  # nothing tells them apart
    assert alike.best_kappa == alike.balanced == Cut(0.0, 1.0, 0.0, 0.0)
    certain = calibrate([(True, 0.2), (False, 1.0)])  # upside down: best is below all
    assert certain.best_kappa == Cut(0.1, 1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("no", "yes", "threshold"),
    [
        (0.1, 0.45, 0.3),  # one digit is enough
        (0.1999, 0.2, 0.2),  # a probability of the threshold is a "yes"
        (0.0, 4e-17, 4e-17),  # no 16 digits tell them apart
    ],
)
def test_digits_of_a_threshold(no: float, yes: float, threshold: float) -> None:
    assert calibrate([(False, no), (True, yes)]).balanced.threshold == threshold


def test_of_two_that_are_as_balanced_the_one_that_agrees_better() -> None:
    """Labels n y y n y. Above two: 1/2 false yes, 1/3 false no, kappa (15 - 13) / (25 - 13). Above
    three: 1/2 and 2/3, as far from each other, kappa (10 - 12) / (25 - 12)."""
    labels = (False, True, True, False, True)
    found = calibrate((label, i / 10) for i, label in enumerate(labels))
    assert found.balanced == Cut(0.2, 1 / 2, 1 / 3, pytest.approx(1 / 6))


def test_labels_of_one_kind() -> None:
    with pytest.raises(InputError, match='labels of both kinds, "yes" and "no", got one kind'):
        calibrate([(True, 0.5)])
    with pytest.raises(InputError, match="got none"):
        calibrate([])


@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.5])
def test_what_is_no_probability(wrong: float) -> None:
    with pytest.raises(InputError, match="cell 1: expected a probability from 0 to 1, got"):
        calibrate([(True, 0.9), (False, wrong), (False, 0.2)])
