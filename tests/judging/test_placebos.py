"""Questions of known answer: a judge that always says the same does not pass, a sound one does.

Rows are of small systems. A model takes each sentence for a claim; whether a text says one, it
answers exactly, or always alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    LLMJudge,
    RecordedJudge,
    Summary,
    Tally,
    Verdicts,
    gate_run,
    read_results,
    score,
    summarize,
)
from noisesense.judging.protocol import Placebos
from noisesense.judging.sentences import sentences
from noisesense.scoring.results import Result
from noisesense_adapters.datasets.score import score_dataset
from support.command_here import run_here
from support.datasets import write_jsonl
from support.mind import data_of
from support.scripted_llm import ScriptedLLM
from support.server import ScriptedServer

Row = dict[str, Any]
Capsys = pytest.CaptureFixture[str]
CITIES = ["Lyon", "Oslo", "Kyoto", "Quito", "Turin", "Accra", "Delhi", "Perth", "Sofia", "Tunis"]
SIZES = (5, 6, 8, 10)


class Model:
    """Says yes where the text holds the statement; or ``always`` the same word, of ``texts``."""

    def __init__(self, always: str = "", texts: str = "") -> None:
        self.always = always
        self.texts = texts

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": sentences(data["text"])})
        return json.dumps(
            {number: self._word(data, said) for number, said in data["claims"].items()}
        )

    def _word(self, data: Mapping[str, Any], said: str) -> str:
        text = data.get("premise") or " ".join(data.get("listed", [said]))
        if self.always and self.texts in text:
            return self.always
        return "yes" if said in text else "no"


def row(number: int, **fields: Any) -> Row:
    city = f"{CITIES[number % len(CITIES)]} {number // len(CITIES)}"
    fact = f"{city} has {number + 11} bridges."
    texts = {"user_input": f"How many bridges has {city}?", "response": fact, "reference": fact}
    return {**texts, "retrieved_contexts": [fact, f"{city} is old."], **fields}


def facts(number: int) -> Row:
    """Two claims an answer, in other words than the reference."""
    right = row(number)
    return {**right, "response": f"{right['reference']} It is known."}


SYSTEMS: dict[str, Callable[[int], Row]] = {
    "one claim an answer, all right": row,
    "all wrong": lambda number: row(number, response=f"A rumor of {CITIES[number % 10]}."),
    "two claims, one of them nowhere": facts,
    "one word": lambda number: row(number, response=CITIES[number % 10], reference="Rome"),
    "yes and no": lambda number: row(
        number, response=("Yes.", "No.")[number % 2], reference=("Yes.", "No.")[number % 2]
    ),
    "no question": lambda number: row(number, user_input=""),
    "one document": lambda number: row(number, retrieved_contexts=["All about bridges."]),
    "one question": lambda number: row(number, user_input="How many bridges are there?"),
    "one reference": lambda number: row(number, reference="Each city has a bridge."),
    "another script": lambda number: row(
        number, response=f"第{number}座桥很长。", reference=f"第{number}座桥很长。"
    ),
}


def judge(always: str = "") -> LLMJudge:
    return LLMJudge(ScriptedLLM(Model(always).answer))


def scored(folder: Path, rows: list[Row], by: Any, out: Path | None = None) -> Summary:
    return score_dataset(write_jsonl(folder / "rows.jsonl", rows), judge=by, out=out)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_an_exact_judge_is_not_stopped(system: str, count: int, tmp_path: Path) -> None:
    """40 small sound systems."""
    summary = scored(tmp_path, [SYSTEMS[system](number) for number in range(count)], judge())
    assert summary.placebos == (5, 0, 0)
    assert "placebos" not in {sign.name for sign in summary.signs}


@pytest.mark.parametrize(("always", "wrong"), [("yes", 4), ("no", 5)])
def test_a_judge_that_always_says_the_same_does_not_pass(
    always: str, wrong: int, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four are claims of other rows, of two references and two chunks, and one is a sentence.

    One that always says no finds no claim on the question: all five are sentences.
    """
    rows = [facts(number) for number in range(10)]
    data = write_jsonl(tmp_path / "rows.jsonl", rows)
    out = tmp_path / "out.jsonl"
    summary = score_dataset(data, judge=judge(always), out=out)
    assert summary.placebos == (5, wrong, 0)
    assert gate_run(summary, 0.3).outcome == "not measured"
    said = f"the judge was wrong in {wrong} of 5 questions that only test if it tells yes from no"
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with ScriptedServer(Model(always)) as server:
        asked: list[str | Path] = ["score", data, "--judge", "openai:m"]
        asked += ["--base-url", server.base_url]
        done = run_here(capsys, *asked, "--fail-above", "0.3")
    assert done.status == 5
    assert said in done.out.splitlines()
    assert f"A sign that the run is broken: {said}." in done.err
    assert run_here(capsys, "gate", out, "--fail-above", "0.3").status == 5


def test_a_judge_that_says_yes_to_chunks_does_not_pass(tmp_path: Path) -> None:
    """Two of five are about chunks, in which alone there is the word "kept"."""
    rows = [row(number) for number in range(5)]
    for each in rows:
        each["retrieved_contexts"] = [f"{each['reference']} It is kept."]
    summary = scored(tmp_path, rows, LLMJudge(ScriptedLLM(Model("yes", "kept").answer)))
    assert summary.placebos == (5, 2, 0)
    assert [sign.name for sign in summary.signs] == ["placebos"]


def test_the_fifth_row_has_the_placebos_and_their_cost(tmp_path: Path) -> None:
    """Each answer is the reference: 2 calls a row, for both lists of claims."""
    out = tmp_path / "out.jsonl"
    summary = scored(tmp_path, [row(number) for number in range(6)], judge(), out)
    results = list(read_results(out))
    assert [result.placebos.asked for result in results] == [0, 0, 0, 0, 5, 0]
    assert [result.usage.calls for result in results] == [2, 2, 2, 2, 2 + 5, 2]
    assert summary.usage.calls == 17
    tally = Tally()
    for result in results:
        tally.add(result)
    assert (tally + tally).summary().placebos == (10, 0, 0)


SCORE = score(Verdicts.from_matrices([True], [[True]], [[True]]))


@pytest.mark.parametrize(
    ("asked", "wrong", "is_sign"),
    [(5, 1, False), (5, 2, True), (10, 2, False), (10, 3, True), (0, 0, False)],
)
def test_how_many_wrong_answers_are_a_sign(asked: int, wrong: int, is_sign: bool) -> None:
    results = [Result(str(number), SCORE) for number in range(4)]
    summary = summarize([*results, Result("last", SCORE, placebos=Placebos(asked, wrong))])
    assert [sign.name for sign in summary.signs] == ["placebos"] * is_sign


@pytest.mark.parametrize("same", ["user_input", "reference"])
def test_no_placebo_is_a_claim_of_a_row_with_the_same_text(same: str, tmp_path: Path) -> None:
    """It may be true there. So there are only sentences of the reference itself."""
    rows = [row(number, response=f"Rumor {number}.", **{same: "Known."}) for number in range(5)]
    summary = scored(tmp_path, rows, judge("yes"))
    assert summary.placebos == (5, 0, 0)


def test_less_than_five_rows_and_recorded_verdicts_ask_no_placebos(tmp_path: Path) -> None:
    rows = [row(number) for number in range(5)]
    assert scored(tmp_path, rows[:4], judge("yes")).placebos == (0, 0, 0)
    out = tmp_path / "out.jsonl"
    assert scored(tmp_path, rows, judge("yes"), out).placebos == (5, 4, 0)
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    recorded = [{name: line[name] for name in ("sample", "verdicts")} for line in lines]
    recording = write_jsonl(tmp_path / "recording.jsonl", recorded)
    assert scored(tmp_path, rows, RecordedJudge(recording)).placebos == (0, 0, 0)
    assert score_dataset(recording).placebos == (0, 0, 0)


class Failing(LLMJudge):
    async def entailment(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("out of reach")


def test_placebos_that_cannot_be_asked_are_unanswered_and_fail_no_row(tmp_path: Path) -> None:
    failing = Failing(ScriptedLLM(Model().answer))
    summary = scored(tmp_path, [row(number) for number in range(5)], failing)
    assert summary.placebos == (5, 0, 5)
    assert summary.failed == 0
