"""The bar of a run: how fast it is, what it spends, and when it will be done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import Result, Usage
from noisesense_adapters.cli.progress import Pace, RunProgress


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


def test_without_a_terminal_a_line_every_minute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("{}\n" * 40, encoding="utf-8")
    now = [0.0]
    progress = RunProgress(path, clock=lambda: now[0])
    with progress:
        for _ in range(13):
            now[0] += 10
            progress.add(Result("q", error="no", usage=Usage(calls=2)))
    assert capsys.readouterr().err.splitlines() == [
        "failed: no",
        "6 of 40 samples, 0.1/s, 0:05:40 left, 12 calls, 6 failed",
        "12 of 40 samples, 0.1/s, 0:04:40 left, 24 calls, 12 failed",
        "12 more failed like one of these",
    ]
