"""A figure that is exactly at its threshold reaches it, whatever floats make of it."""

from __future__ import annotations

import pytest

from noisesense.stats.risk import Figure, RiskThresholds, risk_signs


def _gap(mean: float, median: float) -> bool | None:
    values = [(median, 1)]
    signs = risk_signs(
        values,
        (values, values),
        mean=Figure(mean, (mean, mean)),
        median=Figure(median, (median, median)),
        stdev=Figure(0.0, (0.0, 0.0)),
        thresholds=RiskThresholds(),
    )
    return signs[1].present


@pytest.mark.parametrize(
    ("mean", "median", "present"),
    [
        (17 / 60, 11 / 60, True),
        (11 / 60, 17 / 60, True),
        (17 / 60 - 1e-9, 11 / 60, False),
        (0.3, 0.2, True),  # as floats the difference is less than 0.1
        (7 / 30, 2 / 15, True),
        (0.25, 0.2, False),
    ],
)
def test_mean_and_median_a_tenth_apart(mean: float, median: float, present: bool) -> None:
    assert _gap(mean, median) is present
    assert 0.3 - 0.2 < 0.1


@pytest.mark.parametrize(("mean", "median"), [(0.3, None), (None, 0.3)])
def test_a_distance_needs_both_figures(mean: float | None, median: float | None) -> None:
    values = [(0.3, 1)]
    _, gap, _ = risk_signs(
        values,
        (values, values),
        mean=Figure(mean, (0.2, 0.5)),
        median=Figure(median, (0.1, 0.4)),
        stdev=Figure(0.0, (0.0, 0.0)),
        thresholds=RiskThresholds(),
    )
    assert gap.figure is None
    assert gap.bounds == pytest.approx((0.0, 0.4))


@pytest.mark.parametrize(
    ("mean", "median"), [((0.2, 0.5), None), (None, (0.2, 0.5)), (None, None)]
)
def test_a_distance_needs_both_bounds(
    mean: tuple[float, float] | None, median: tuple[float, float] | None
) -> None:
    _, gap, _ = risk_signs(
        None,
        ([], []),
        mean=Figure(None, mean),
        median=Figure(None, median),
        stdev=Figure(None, None),
        thresholds=RiskThresholds(),
    )
    assert gap.present is gap.figure is gap.bounds is None
    assert gap.sentence == "mean far from median: undefined (distance, threshold 0.1)"


def test_a_distance_has_no_sign() -> None:
    # Chosen figures beside bounds that leave more open.
    for mean, median in ((0.2, 0.5), (0.5, 0.2)):
        _, gap, _ = risk_signs(
            [(0.2, 1)],
            ([(0.2, 1)], [(0.5, 1)]),
            mean=Figure(mean, (0.1, 0.5)),
            median=Figure(median, (0.2, 0.6)),
            stdev=Figure(0.0, (0.0, 0.0)),
            thresholds=RiskThresholds(),
        )
        assert gap.figure == pytest.approx(0.3)
