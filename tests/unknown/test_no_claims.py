"""Lists that are no claims, and answers that claim nothing: no host gives a determined score.

Some thirty lists and five refusals through every bridge and host with its own model object; the
gate never passes. Nothing is kept of a list that is refused by its form.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisesense import LLMJudge, Sample, VerdictStore, read_results
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from noisesense_adapters.promptfoo import get_assert
from noisesense_adapters.ragas import NoiseSensitivity
from support.bridges import BRIDGES
from support.command_here import run_here
from support.datasets import write_jsonl
from support.deepeval_fixtures import loop, offline  # noqa: F401
from support.deepeval_run import OpenAIModel, case_of, run
from support.no_claims import BY_FORM, LISTS, REFUSALS, ListMind, sample_of
from support.ragas_llms import evaluated_by
from support.ragas_runs import COLUMNS
from support.server import ScriptedServer

LIMIT = 0.3
COUNT = len(LISTS) + len(REFUSALS)
SAMPLES = [sample_of(number) for number in range(len(LISTS))] + [
    sample_of(len(LISTS) + number, refusal) for number, refusal in enumerate(REFUSALS)
]
# A judge lists the refusal as a claim, as small ones do; it is beside the question.
MIND = ListMind([*LISTS, *([refusal] for refusal in REFUSALS)])


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(MIND) as running:
        yield running


@pytest.mark.parametrize("bridge", BRIDGES)
def test_over_every_bridge_no_such_list_is_read_and_a_refusal_has_no_claims(
    server: ScriptedServer, bridge: str, tmp_path: Path
) -> None:
    from support.langchain_models import run as run_once

    with VerdictStore(tmp_path / "store.db") as store:
        judge = LLMJudge(BRIDGES[bridge](server), store=store)

        async def judged() -> list[Any]:
            work = map(judge.judge, SAMPLES)
            return await asyncio.gather(*work, return_exceptions=True)

        found = run_once(judged())
        kept = store.transact(lambda file: file.execute("SELECT reply FROM calls").fetchall())
    for error in found[: len(LISTS)]:
        assert "gave no usable list" in str(error)
    for verdicts in found[len(LISTS) :]:
        assert verdicts.response_claims == ()
    assert kept_of_refused_lists(kept) == []


def kept_of_refused_lists(kept: list[tuple[str]]) -> list[str]:
    """Those texts of lists refused by their form that stand in the store."""
    stored = "".join(reply for (reply,) in kept)
    texts = {text for claims in BY_FORM for text in claims if len(text) > 20}
    return [text for text in texts if text in stored]


@pytest.mark.parametrize("kind", ["async client", "LangChain"])
def test_in_ragas_none_has_a_number(server: ScriptedServer, kind: str) -> None:
    metrics = [NoiseSensitivity(mode) for mode in MODES]
    result = evaluated_by(kind, server, SAMPLES, metrics)
    for row in result.scores:
        assert all(math.isnan(row[COLUMNS[mode]]) for mode in MODES)
    assert len(result.scores) == COUNT


def test_in_deepeval_none_has_a_score_or_passes(
    loop: asyncio.AbstractEventLoop,  # noqa: F811
    server: ScriptedServer,
) -> None:
    model = OpenAIModel(model="gpt-4o-mini", api_key="k", base_url=server.base_url)
    cases = [case_of(sample, name=str(i)) for i, sample in enumerate(SAMPLES)]
    metric = NoiseSensitivityMetric(threshold=LIMIT, model=model)
    results = run(cases, [metric], ignore_errors=True)
    for number, result in enumerate(results):
        (data,) = result.metrics_data
        assert data.score is None
        assert data.success is not True
        assert ("no usable list" in str(data.reason)) is (number < len(LISTS))


@pytest.mark.parametrize("number", range(COUNT))
def test_in_promptfoo_none_has_a_named_score_or_passes(
    server: ScriptedServer, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k")
    sample: Sample = SAMPLES[number]
    judge = {"model": "scripted", "baseUrl": server.base_url, "apiKeyEnv": "JUDGE_KEY"}
    given = {
        "query": sample.user_input,
        "reference": sample.reference,
        "contextChunks": [chunk.text for chunk in sample.retrieved_contexts],
    }
    context = {"vars": given, "config": {"judge": judge, "maxNoise": LIMIT}, "test": {}}
    result = get_assert(sample.response, context)
    assert result["pass"] is False
    assert ("no usable list" if number < len(LISTS) else "undefined") in result["reason"]
    assert result.get("namedScores", {}) == {}


def test_on_the_command_line_none_has_a_number_and_each_list_failed(
    server: ScriptedServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    # A run whose first samples all fail ends: the refusals come first.
    rows = [sample.model_dump(mode="json") for sample in reversed(SAMPLES)]
    texts = write_jsonl(tmp_path / "texts.jsonl", rows)
    out = tmp_path / "out.jsonl"
    judge = ("--judge", "openai:scripted", "--base-url", server.base_url)
    rest = ("--out", out, "--fail-above", str(LIMIT))
    done = run_here(capsys, "score", texts, *judge, *rest)
    assert done.status not in (0, 1), done
    results = list(read_results(out))
    assert {result.score.relevant for result in results if result.score} == {None}
    assert sum(result.error is not None for result in results) == len(LISTS)
