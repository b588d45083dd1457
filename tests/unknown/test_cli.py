"""Every way to withhold a verdict, through ``noisesense score``: figures, words, exit statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisesense import read_results
from noisesense.scoring.definitions import MODES
from support.command_here import Done, run_here
from support.datasets import write_jsonl
from support.server import ScriptedServer
from support.withholding import (
    CASES,
    LIMIT,
    NOTHING,
    WAYS,
    Case,
    Way,
    few_or_all,
    mind,
    script,
    wrong_with,
)

each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(mind(), script=script) as running:
        yield running


class Command:
    """``noisesense score`` of some cases, in a folder of its own."""

    def __init__(self, server: ScriptedServer, folder: Path, capsys: Any) -> None:
        self.folder = folder
        self.capsys = capsys
        self.out = folder / "out.jsonl"
        self.judge = ("--judge", "openai:scripted", "--base-url", server.base_url)

    def __call__(self, cases: list[Case]) -> Done:
        self.out.unlink(missing_ok=True)
        rows = [{"id": case.id, **case.sample.model_dump(mode="json")} for case in cases]
        texts = write_jsonl(self.folder / "texts.jsonl", rows)
        return run_here(self.capsys, "score", texts, *self.judge, "--out", self.out)

    def gate(self, *options: str) -> Done:
        """``noisesense gate`` of the cases that were scored last."""
        return run_here(self.capsys, "gate", self.out, *options)


@pytest.fixture
def command(
    server: ScriptedServer, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    return Command(server, tmp_path, capsys)


def of(way: Way) -> list[Case]:
    return [case for case in CASES if case.way is way]


@few_or_all
@each_way
def test_the_gate_and_table_of_one_sample_are_as_every_completion_gives(
    command: Command, way: Way, cases: tuple[Case, ...]
) -> None:
    """Whatever share may stay unanswered: 0 only where every completion is within the limit."""
    wrong = ""
    for case in cases:
        if case.way is not way:
            continue
        scored = command([case])
        gate = command.gate("--fail-above", str(LIMIT), "--max-unanswered", "1")
        passes = all(case.expected(mode).passes for mode in MODES)
        if (gate.status == 0) is not passes:
            wrong += f"{case.id}: exit status {gate.status}\n{gate.out}{gate.err}\n"
        wrong += wrong_in_table(case, scored)
    assert wrong == ""


def wrong_in_table(case: Case, done: Done) -> str:
    """The means are the bounds, and what is open is counted or told."""
    means = _row(done.out, "mean of samples")
    opened = _row(done.out, "left open by the judge")
    failures = "".join(line for line in done.err.splitlines() if line.startswith("failed:"))
    wrong = ""
    for mode in MODES:
        is_open = opened.get(mode, "0") != "0"
        told = f"undetermined {failures}" if is_open else failures
        wrong += wrong_with(case, mode, words=told)
        low, high = case.expected(mode).bounds
        mean = f"{low:.4f}" if low == high else f"{low:.4f} to {high:.4f}"
        assert means.get(mode) == (mean if case.usable else None), done.out
    return wrong


def _row(table: str, name: str) -> dict[str, str]:
    """A row of the table of figures, by mode."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in table.splitlines()]
    cells = next((cells for found, *cells in rows if found == name), [])
    return dict(zip(MODES, cells, strict=False))


@each_way
def test_over_5_percent_unanswered_is_never_status_0_without_a_gate(
    command: Command, way: Way
) -> None:
    """Never 0 by default, though no gate was asked for: more than 5% of the cells are open."""
    done = command(of(way))
    assert done.status != 0, done.out + done.err
    words = done.out + done.err
    wrong = ""
    found = {result.id: result for result in read_results(command.out)}
    for case in of(way):
        result = found[case.id]
        if result.score is None:
            assert not case.usable
            wrong += wrong_with(case, MODES[0], words=str(result.error))
            continue
        for mode in MODES:
            number = result.score.value(mode)
            told = result.score.reason(mode)
            wrong += wrong_with(case, mode, number=number, words=told)
    assert wrong == ""
    assert ("left open by the judge" if way.id != NOTHING else "no usable") in words
