"""The cost comparison runs, and what it counts is what is promised. Times are not tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.broad

CHUNKS = (1, 5, 10, 20)
WHOSE = ("ragas", "ours", "ours, full")


def test_calls_and_characters() -> None:
    command = [sys.executable, str(Path(__file__).with_name("judge_cost.py"))]
    command += ["--latency", "0", "--samples", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {(row["case"], row["api"], row["whose"]): row for row in json.loads(done.stdout)}
    for api in ("evaluate()", "ascore()"):
        for chunks in CHUNKS:
            ragas, lazy, full = (rows[f"C = {chunks}", api, whose] for whose in WHOSE)
            assert ragas["calls"] == 4 * chunks + 6
            assert lazy["calls"] == full["calls"] == chunks + 3
            assert _characters(lazy) < _characters(full) < 0.4 * _characters(ragas)
        assert rows["C = 10, nothing wrong", api, "ours"]["calls"] == 3
    # Of three samples of 5 chunks the third has nothing wrong.
    for whose, calls in zip(WHOSE, (3 * 26, 2 * 8 + 3, 3 * 8), strict=True):
        assert rows["3 samples, C = 5", "evaluate()", whose]["calls"] == calls


def _characters(row: dict[str, int]) -> int:
    return row["prompt_chars"] + row["completion_chars"]
