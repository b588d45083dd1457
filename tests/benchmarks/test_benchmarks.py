"""The benchmarks run and print what pages quote. How fast things are is not tested."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
broad = pytest.mark.broad
WHOSE = ("ragas", "ours", "ours, full")


def ran(folder: Path, name: str, *options: str, most_status: int = 0) -> str:
    command = [sys.executable, str(HERE / name), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode <= most_status, done.stdout + done.stderr[-2000:]
    return done.stdout


@broad
def test_replies_with_ids_from_0_leave_verdicts_open_and_give_none_wrong(tmp_path: Path) -> None:
    out = ran(tmp_path, "faults.py", "--bridge", "openai", "--kind", "ids ")
    rows = {row[:16].strip(): row[16:].split() for row in out.splitlines()}
    assert rows["ids from 0"] == ["open", "14", "14"]
    assert rows["ids 0 to N"] == ["open", "14", "14"]
    for name in ("WRONG:", "RAW:", "too many:"):
        assert [line.split()[-1] for line in out.splitlines() if name in line] == ["0"]


@pytest.mark.parametrize(
    "way", ["our client, path", pytest.param("LangChain, query", marks=broad)]
)
def test_no_secret_in_an_endpoints_address_is_left_anywhere(tmp_path: Path, way: str) -> None:
    events = ("--event", "well", "--event", "401", "--event", "said", "--event", "elsewhere")
    out = ran(tmp_path, "canaries.py", "--way", way, *events)
    checks, found = re.findall(r"(\d+) checks, (\d+) found", out)[-1]
    assert int(checks) >= 4 * 15
    assert int(found) == 0


@broad
def test_sound_systems_are_not_stopped_and_those_with_foreign_contexts_are(tmp_path: Path) -> None:
    assert "STOPPED" not in ran(tmp_path, "broken_systems.py", "--kind", "sound:")
    out = ran(tmp_path, "broken_systems.py", "--kind", "contexts, all: of")
    assert len(re.findall(r"^\w+ - +4$", out, re.MULTILINE)) == 5, "each gate stops all four"


@broad
def test_our_judging_takes_fewer_calls_and_characters_than_that_of_ragas(tmp_path: Path) -> None:
    out = ran(tmp_path, "judge_cost.py", "--latency", "0", "--samples", "3", "--json")
    rows = {(row["case"], row["whose"]): row for row in json.loads(out)}
    for chunks in (1, 5, 10, 20):
        three = [rows[f"C = {chunks}", whose] for whose in WHOSE]
        assert [row["calls"] for row in three] == [4 * chunks + 6, chunks + 3, chunks + 3]
        ragas, lazy, full = (r["prompt_chars"] + r["completion_chars"] for r in three)
        assert lazy < full < 0.4 * ragas
    assert rows["C = 10, nothing wrong", "ours"]["calls"] == 3
    # Of three samples of 5 chunks the third has nothing wrong.
    for whose, calls in zip(WHOSE, (3 * 26, 2 * 8 + 3, 3 * 8), strict=True):
        assert rows["3 samples, C = 5", whose]["calls"] == calls


@broad
def test_lists_in_other_words_take_few_calls_more(tmp_path: Path) -> None:
    out = ran(tmp_path, "reworded_lists.py")
    rows = {row[:24].strip(): row[24:].split() for row in out.splitlines()}
    for group in ("English", "others", "all"):
        assert rows[f"{group}, copies"][2:4] == ["0", "0"]  # neither strays nor anything left out
        assert 1.0 <= float(rows[f"{group}, in other words"][-1]) < 1.3


@broad
def test_the_benchmark_of_coverage_prints_its_thirteen_tables(tmp_path: Path) -> None:
    # One data set says nothing about coverage, so the exit status may be 1.
    options = ("--datasets", "1", "--resamples", "100", "--processes", "2")
    out = ran(tmp_path, "coverage.py", *options, most_status=1)
    assert len(re.findall(r"in % of 1 data sets a row", out)) == 13
    assert re.search(r"relevant +300( +(0|100)\.0){6}", out)
    assert re.search(r"\d+ figures out of their range", out)


@pytest.mark.parametrize("only", ["judging", pytest.param("", marks=broad)])
def test_no_pattern_takes_more_than_linear_time(tmp_path: Path, only: str) -> None:
    """Up to 16,384 characters: a square of them is several times the limit."""
    out = ran(tmp_path, "patterns.py", "--most", "16384", "--only", only)
    found = re.search(r"^(\d+) patterns, [\d,]+ texts, 0 too slow$", out, re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= (10 if only else 40)


@pytest.mark.parametrize("pattern", [r"\s+$", r"(a+)+b", r"got .*?(?=! |$)", r"<(.*)>.*</\1>"])
def test_a_pattern_that_takes_more_is_found(tmp_path: Path, pattern: str) -> None:
    out = ran(tmp_path, "patterns.py", "--pattern", pattern, most_status=1)
    assert "1 too slow" in out
