"""The bar of a run: how fast it is, what it spends, and when it will be done."""

from __future__ import annotations

from collections.abc import Callable

from noisesense_adapters.cli.progress import Pace


def clock(*seconds: float) -> Callable[[], float]:
    given = iter(seconds)
    return lambda: next(given)


def test_rate_and_time_left_by_hand() -> None:
    pace = Pace(clock(100, 102, 103, 104))
    assert pace.rate is None
    assert pace.shown(10) == ""
    for _ in range(3):
        pace.add()
    # Three in four seconds; 5,400 more take 7,200 seconds.
    assert pace.rate == 0.75
    assert pace.shown(5400) == "0.8/s, 2:00:00 left"
    assert pace.shown(None) == "0.8/s"


def test_only_the_last_thousand_count() -> None:
    """A slow start is forgotten: from 50 seconds on, ten a second."""
    pace = Pace(clock(0, *(50 + i / 10 for i in range(1001))))
    for _ in range(1001):
        pace.add()
    assert round(pace.rate or 0, 6) == 10


def test_no_time_at_all_is_no_rate() -> None:
    pace = Pace(clock(7, 7))
    pace.add()
    assert (pace.rate, pace.shown(3)) == (None, "")
