"""``noisesense ablation``: plan and report, with real files and a judge on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisesense import read_results, write_results
from noisesense.ablation import plan
from support.ablation_world import run_of, sentences
from support.command_here import assert_fits, run_here
from support.datasets import write_jsonl
from support.mind import Mind
from support.server import ScriptedServer

Capsys = pytest.CaptureFixture[str]


class Reads(Mind):
    """The sentences of a text are its claims, and it entails those."""

    def claims(self, text: str, question: str = "") -> list[str]:
        return sentences(text)

    def verdicts(self, premise: str, claims: dict[int, str]) -> dict[int, bool]:
        return {number: claim in sentences(premise) for number, claim in claims.items()}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with ScriptedServer(Reads(())) as running:
        yield running


@pytest.fixture
def judge(server: ScriptedServer) -> list[str]:
    return ["--judge", "openai:m", "--base-url", server.base_url]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_results(tmp_path / "results.jsonl", run_of([1] * 8))
    return tmp_path / "results.jsonl"


def test_a_plan_is_that_of_the_variants_and_overwrites_no_file(
    results: Path, capsys: Capsys
) -> None:
    todo = results.with_name("todo.jsonl")
    planned = ("ablation", "plan", results, "--out", todo, "--variants", "again,without")
    done = run_here(capsys, *planned)
    assert done.status == 0
    rows = [json.loads(line) for line in todo.read_text("utf-8").splitlines()]
    assert rows == plan(read_results(results), ("again", "without"))
    before = results.read_bytes()
    over_results = run_here(capsys, "ablation", "plan", results, "--out", results)
    assert over_results.status == 2
    assert results.read_bytes() == before
    assert run_here(capsys, *planned).status == 2


@pytest.fixture
def report(results: Path, judge: list[str]) -> list[Any]:
    """The command that reports on a plan's answers."""
    rows = plan(read_results(results), ("without", "without-other"))
    for row in rows:
        texts = [each["text"] for each in row["retrieved_contexts"]]
        if len(texts) == 1:
            texts.append("no more is known")
        row["response"] = ". ".join(texts)
    answered = write_jsonl(results.with_name("answered.jsonl"), rows)
    return ["ablation", "report", results, answered, *judge]


def test_answers_are_judged_and_reported(
    report: list[Any],
    server: ScriptedServer,
    tmp_path: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = run_here(capsys, *report)
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert "So these documents matter." in said
    assert "other claims, same answers 8 100% 0% +100 " in said
    # `again` said the very same; of the other two it is asked what they say again.
    assert server.log.calls == 8 * 2
    assert "judging: 16 calls" in said
    monkeypatch.setenv("COLUMNS", "80")
    assert_fits(run_here(capsys, *report), 80)
    page = tmp_path / "report.html"
    done = run_here(capsys, *report, "--json", "--report", page)
    assert json.loads(done.out)["effect"]["gone"]["low"] == 8.0
    assert "other claims, same answers" in page.read_text("utf-8")


def test_rows_without_an_answer_and_rows_of_no_plan_are_errors(
    results: Path, judge: list[str], capsys: Capsys
) -> None:
    todo = write_jsonl(results.with_name("todo.jsonl"), plan(read_results(results)))
    done = run_here(capsys, "ablation", "report", results, todo, *judge)
    assert done.status == 2
    assert "expected an answer, got none in 24 rows" in done.err
    answered = write_jsonl(results.with_name("answered.jsonl"), [{"id": "s0"}])
    done = run_here(capsys, "ablation", "report", results, answered, *judge)
    assert done.status == 2
    assert "answer 1" in done.err
