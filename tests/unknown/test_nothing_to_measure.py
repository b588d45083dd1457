"""Nothing retrieved, no claims by the judge's word: no gate passes either.

The conformance kit asks the same of every host, with verdicts that are given.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import LLMJudge, Sample, score
from noisesense.scoring.definitions import MODES
from support.command_here import run_here
from support.datasets import write_jsonl
from support.mind import data_of
from support.scripted_llm import ScriptedLLM
from support.server import ScriptedServer

LIMIT = 0.2
RESPONSE = "The ferry to Norderney sails at noon, and it takes bicycles."


class Mind:
    """Says that everything is noise; or, of ``lists`` of claims, that there are none."""

    def __init__(self, empty: int) -> None:
        self.empty = empty
        self.lists: dict[str, int] = {}

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" not in data:
            word = "no" if data["premise"] == "It sails at nine." else "yes"
            return json.dumps(dict.fromkeys(data["claims"], word))
        asked = self.lists[data["text"]] = self.lists.get(data["text"], 0) + 1
        return json.dumps({"claims": [] if asked <= self.empty else [data["text"]]})


CASES: dict[str, tuple[list[str], int]] = {
    "nothing retrieved": ([], 0),
    "only blank chunks": (["", " \n"], 0),
    "no claims, said always": (["A chunk about the ferry."], 10**6),
    "no claims, said once": (["A chunk about the ferry."], 1),
}
"""What was retrieved, and how often the judge says of a text that it makes no claims."""


class Case:
    def __init__(self, name: str) -> None:
        contexts, self.empty = CASES[name]
        texts = {"user_input": "When does the ferry sail?", "reference": "It sails at nine."}
        self.sample = Sample(**texts, response=RESPONSE, retrieved_contexts=contexts)
        # A first empty list is not believed: what is asked again is all noise.
        self.value = 1.0 if self.empty == 1 else None

    def judge(self) -> LLMJudge:
        return LLMJudge(ScriptedLLM(Mind(self.empty).answer), max_reasks=0)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.fixture
def server(case: Case) -> Iterator[ScriptedServer]:
    with ScriptedServer(Mind(case.empty)) as running:
        yield running


def test_the_core(case: Case) -> None:
    found = score(asyncio.run(case.judge().judge(case.sample)))
    assert found.value("relevant") == case.value
    for mode in MODES:
        if case.value is None:
            assert found.gate(mode, LIMIT) == found.status(mode) == "undefined"
    assert found.gate("relevant", LIMIT) != "pass"


def test_the_command_line(
    case: Case,
    server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THE_KEY", "k")
    texts = write_jsonl(tmp_path / "texts.jsonl", [case.sample.model_dump(mode="json")])
    judge = ("--judge", "openai:scripted", "--base-url", server.base_url)
    key = ("--api-key-env", "THE_KEY", "--out", tmp_path / "out.jsonl")
    gate = ("--fail-above", str(LIMIT), "--max-unanswered", "1")
    done = run_here(capsys, "score", texts, *judge, *key, *gate)
    assert done.status == (5 if case.value is None else 1), done
    assert done.status == 1 or "nothing was measured" in done.err
