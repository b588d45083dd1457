"""The bar of a run: how fast it is, what it spends, and when it will be done."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from noisesense import Result, Usage
from noisesense_adapters.cli.progress import RunProgress


def test_without_a_terminal_a_line_every_minute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("{}\n" * 40, encoding="utf-8")
    now, judge = [0.0], SimpleNamespace(usage=Usage())
    with RunProgress(path, judge, clock=lambda: now[0]) as progress:
        for _ in range(13):
            now[0] += 10
            judge.usage += Usage(calls=2)
            progress.add(Result("q", error="no"))
    assert capsys.readouterr().err.splitlines() == [
        "failed: no",
        "6 of 40 samples, 0:05:40 left, 12 calls, 6 failed",
        "12 of 40 samples, 0:04:40 left, 24 calls, 12 failed",
        "12 more failed like one of these",
    ]


def test_while_the_first_sample_takes_minutes_the_calls_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("{}\n" * 40, encoding="utf-8")
    now, told = [0.0], ""
    judge = SimpleNamespace(usage=Usage(calls=7), form=None, form_reason="")
    with RunProgress(path, judge, clock=lambda: now[0]):
        judge.form, judge.form_reason = "each", "one by one it is"
        now[0] = 61.0
        deadline = time.monotonic() + 120
        while "samples" not in told and time.monotonic() < deadline:
            time.sleep(0.01)
            told += capsys.readouterr().err
    assert told.splitlines() == ["one by one it is", "0 of 40 samples, 7 calls"]
