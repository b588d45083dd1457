"""Every gate over what a system did, with a scripted judge."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gates.ways import WAYS, WORKING, Judge, Judging, Row, honest
from noisesense import Summary, gate_run
from noisesense_adapters.datasets.score import score_dataset
from support.command_here import run_here
from support.datasets import write_jsonl
from support.pages import ROOT, blocks_of

LIMIT = 0.4
"""A noisy answer alone has 1 / 3; the working system's mean is 0.1."""


class Ended(NamedTuple):
    """How a gate ended, and all that a person sees of it."""

    passed: bool
    shown: str = ""


def check(name: str, gate: Callable[[list[Row], Judging], Ended]) -> None:
    """No way to break a system passes in silence.

    A gate passes if it ends as passed; what ends the run (an error of the system, of the host, of
    ours) is no pass. Whatever passes has to show what is missing.
    """
    way = WAYS[name]
    try:
        ended = gate(way.rows(), way.judging)
    except Exception as error:  # noqa: BLE001 - whatever ends a run fails a job
        ended = Ended(False, str(error))
    assert not (ended.passed and not way.names), f"it passed, and shows {ended.shown!r}"
    assert not ended.passed or re.search(way.names, ended.shown), ended.shown


# ------------------------------------------------------------------ files


def scored(rows: Sequence[Row], judging: Judging, folder: Path, name: str = "results") -> Path:
    """The results file of a run."""
    lines = [
        {
            "id": row.id,
            "user_input": row.question,
            "response": row.response,
            "reference": row.reference,
            "retrieved_contexts": row.contexts,
        }
        for row in rows
    ]
    data = write_jsonl(folder / f"{name}-rows.jsonl", lines)
    out = folder / f"{name}.jsonl"
    score_dataset(data, judge=Judge(judging), out=out)
    return out


def by_score(
    rows: list[Row], judging: Judging, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Ended:
    path = scored(rows, judging, folder)
    expected = str(len(WORKING))
    done = run_here(capsys, "score", path, "--fail-above", str(LIMIT), "--expect", expected)
    return Ended(done.status == 0, done.out + done.err)


def by_compare(
    rows: list[Row], judging: Judging, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Ended:
    before = scored(WORKING, honest, folder, "baseline")
    after = scored(rows, judging, folder)
    done = run_here(capsys, "compare", before, after, "--fail-if-worse", "--margin", "0.05")
    return Ended(done.status == 0, done.out + done.err)


PAGE = ROOT / "adapters" / "noisesense_adapters" / "cli" / "flaky.md"


@cache
def recipe() -> str:
    """The page's test of one run, for as many questions as there are here."""
    (code,) = (block.text for block in blocks_of(PAGE) if block.title == "test_noise.py")
    changed, times = re.subn(r"QUESTIONS = \d+", f"QUESTIONS = {len(WORKING)}", code)
    assert times == 1
    return changed


def by_recipe(
    rows: list[Row], judging: Judging, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Ended:
    scored(rows, judging, folder)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(recipe(), "test_noise.py", "exec"), names)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            names["test_noise_stays_within_the_limit"]()
        except AssertionError as error:
            return Ended(False, str(error))
    return Ended(True, "\n".join(str(each.message) for each in warned))


def gated(summary: Summary, samples: int) -> Ended:
    """As the pages of the hosts have it."""
    found = gate_run(summary, LIMIT, min_samples=samples)
    return Ended(found.passed, found.reason)
