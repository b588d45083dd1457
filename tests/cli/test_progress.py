"""The bar of a run: how fast it is, what it spends, and when it will be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import Result, Usage
from noisesense_adapters.cli.progress import RunProgress


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
        "6 of 40 samples, 0:05:40 left, 12 calls, 6 failed",
        "12 of 40 samples, 0:04:40 left, 24 calls, 12 failed",
        "12 more failed like one of these",
    ]
