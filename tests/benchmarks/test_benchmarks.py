"""The benchmarks run and print what pages quote. How fast things are is not tested."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from judge_quality import Text, measure, texts  # noqa: E402

broad = pytest.mark.broad
WHOSE = ("ragas", "ours", "ours, full")


def ran(folder: Path, name: str, *options: str, most_status: int = 0) -> str:
    command = [sys.executable, str(HERE / name), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode <= most_status, done.stdout + done.stderr[-2000:]
    return done.stdout


@broad
def test_a_score_and_an_assertion(tmp_path: Path) -> None:
    out = ran(tmp_path, "core_cost.py", "--runs", "1")
    assert re.search(r"random tables +[\d.]+ +[\d.]+ \( *[\d.]+×\)", out)
    for case in ("verdicts in a recording", "judged, all in the store", "judged, 6 calls"):
        assert re.search(rf"ours, {case} +\d+ \( *[\d.]+×\)", out), case


@broad
def test_a_part_of_the_fault_table(tmp_path: Path) -> None:
    out = ran(tmp_path, "faults.py", "--bridge", "openai", "--kind", "ids ", "--every", "60")
    rows = {row[:16].strip(): row[16:].split() for row in out.splitlines()}
    assert rows["ids as text"] == ["exact", "6", "6"]
    assert rows["ids from 0"] == ["open", "14", "14"]
    assert rows["ids 0 to N"] == ["open", "14", "14"]
    for name in ("WRONG:", "RAW:", "too many:"):
        assert [line.split()[-1] for line in out.splitlines() if name in line] == ["0"]


@broad
def test_what_the_hosts_own_metrics_can_do(tmp_path: Path) -> None:
    out = ran(tmp_path, "host_apis.py")
    assert "theirs works and ours does not, without a reason: 0" in out
    assert "| ragas | RunConfig(max_workers=1) | works | works |" in out


@broad
def test_calls_and_characters_of_judging(tmp_path: Path) -> None:
    out = ran(tmp_path, "judge_cost.py", "--latency", "0", "--samples", "3", "--json")
    rows = {(row["case"], row["api"], row["whose"]): row for row in json.loads(out)}
    for api in ("evaluate()", "ascore()"):
        for chunks in (1, 5, 10, 20):
            three = [rows[f"C = {chunks}", api, whose] for whose in WHOSE]
            assert [row["calls"] for row in three] == [4 * chunks + 6, chunks + 3, chunks + 3]
            ragas, lazy, full = (r["prompt_chars"] + r["completion_chars"] for r in three)
            assert lazy < full < 0.4 * ragas
        assert rows["C = 10, nothing wrong", api, "ours"]["calls"] == 3
    # Of three samples of 5 chunks the third has nothing wrong.
    for whose, calls in zip(WHOSE, (3 * 26, 2 * 8 + 3, 3 * 8), strict=True):
        assert rows["3 samples, C = 5", "evaluate()", whose]["calls"] == calls


@broad
def test_coverage_of_intervals(tmp_path: Path) -> None:
    # One data set says nothing about coverage, so the exit status may be 1.
    options = ("--datasets", "1", "--resamples", "100", "--processes", "2")
    out = ran(tmp_path, "coverage.py", *options, most_status=1)
    assert len(re.findall(r"in % of 1 data sets a row", out)) == 12
    assert re.search(r"relevant +300( +(0|100)\.0){6}", out)
    assert re.search(r"\d+ figures out of their range", out)


@broad
def test_throughput(tmp_path: Path) -> None:
    out = ran(tmp_path, "throughput.py", "--samples", "2000")
    for way in ("noisesense score", "noisesense, read_results"):
        assert re.search(rf"{way} +2,000( +[\d.,]+){{5}}", out)
    assert "the same means: True; ours the same to the last bit: True" in out


def test_statements_for_real_models_are_of_each_kind_in_both_halves() -> None:
    given = texts()
    cells = [(text, truth) for text in given for _, truth in text.statements]
    halves = Counter(text.half for text, _ in cells)
    assert (len(cells), set(halves)) == (499, {"tune", "held"})
    assert abs(halves["tune"] - halves["held"]) <= 10
    assert 0.4 <= sum(truth for _, truth in cells) / len(cells) <= 0.6
    tune, held = ({text.kind for text in given if text.half == half} for half in halves)
    assert tune == held
    for half in halves:  # nine samples: 36 texts, 22 of 64 statements said
        short = [text for text in given if (text.kind, text.half) == ("sample", half)]
        said = [truth for text in short for _, truth in text.statements]
        assert (len(short), sum(said), len(said)) == (36, 22, 64)
    # No statement, and no text, is in both halves or there twice.
    assert len({text.text for text in given}) == len(given)
    for text in given:
        assert len(set(text.asked)) == len(text.statements)


def test_the_table_of_a_real_model_counts_every_cell_once() -> None:
    given = [
        Text("plain", "tune", "The sea.", (("It is the sea.", True), ("A lake.", False))),
        Text("names", "tune", "The tower.", (("It is silent.", False),)),
    ]

    def ask(text: Text) -> Any:
        return [None if "silent" in statement else True for statement in text.asked]

    both, plain = measure("a form", ask, given)
    # Right: the first. A false yes: the second. Open: the third; balanced (1/1 + 0/2) / 2.
    assert both.shown[1:8] == ["tune", "all", "1 of 3, 33%", "1 of 2", "0 of 1", "50%", "1"]
    assert plain.shown[1:6] == ["tune", "plain", "1 of 2, 50%", "1 of 1", "0 of 1"]
    (alone,) = measure("a form", ask, given[:1])
    assert alone.shown[1:4] == ["tune", "plain", "1 of 2, 50%"]
