"""Texts in, the scripted mind's verdicts out: random tables and the documented examples."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from noisesense import LLMJudge, RecordedJudge, Sample, Verdicts, score
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.judging.protocol import Judge, StructuredLLM
from noisesense.scoring.definitions import DEFINITIONS, DefinitionName
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.toolbox import running as _ask
from support.langchain_models import chat_openai, run
from support.mind import Mind
from support.server import ScriptedServer
from support.sizes import few_or_many
from support.tables import Shape, random_pairs

Make = Callable[[ScriptedServer], StructuredLLM]

BRIDGES: dict[str, Make] = {
    "openai": lambda server: OpenAILLM("m", base_url=server.base_url, api_key="k"),
    "promptfoo": lambda server: OpenAILLM(
        "m", client=ChatClient(base_url=server.base_url, api_key="k")
    ),
    "langchain": lambda server: LangChainLLM(chat_openai(server)),
}
each_bridge = pytest.mark.parametrize("make", BRIDGES.values(), ids=BRIDGES.keys())

SHAPE = Shape(response_claims=(0, 6), reference_claims=(1, 4), chunks=(1, 6), labelled=0.2)


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ask, "_first", None)


@each_bridge
@few_or_many(15, 500)
def test_random_tables_come_back_and_score_as_recorded(
    make: Make, tmp_path: Path, count: int
) -> None:
    pairs = list(random_pairs(count, shape=SHAPE))
    samples = [sample for sample, _ in pairs]
    write_recording(tmp_path / "true.jsonl", pairs)
    with ScriptedServer(Mind(pairs)) as server:
        llm = make(server)
        full, lazy = LLMJudge(llm, plan="full"), LLMJudge(llm)

        async def main() -> list[list[Verdicts]]:
            judges = full, lazy, RecordedJudge(tmp_path / "true.jsonl")
            return [await _judged(judge, samples) for judge in judges]

        by_full, by_lazy, recorded = run(main())
    assert (full.totals.unanswered, lazy.totals.unanswered) == (0, 0)
    assert by_full == [verdicts.beside(sample) for sample, verdicts in pairs]
    for i, true in enumerate(recorded):
        for name in DEFINITIONS:
            assert _scores(by_full[i], name) == _scores(true, name), i
            assert _scores(by_lazy[i], name) == _scores(true, name), i


async def _judged(judge: Judge, samples: Sequence[Sample]) -> list[Verdicts]:
    return list(await asyncio.gather(*map(judge.judge, samples)))


def _scores(verdicts: Verdicts, name: DefinitionName) -> tuple[float | None, float | None]:
    found = score(verdicts, definition=name)
    return found.relevant, found.irrelevant


@each_bridge
@pytest.mark.parametrize("example", reference_examples(), ids=lambda example: example.id)
def test_documented_examples(example: ReferenceExample, make: Make) -> None:
    with ScriptedServer(Mind([(example.sample, example.verdicts)])) as server:
        verdicts = run(LLMJudge(make(server)).judge(example.sample))
    for name, expected in example.expected.items():
        assert _scores(verdicts, name) == pytest.approx(expected), name
    documented = score(verdicts, definition=example.documented_definition)
    for mode, figure in example.documented.items():
        # As printed: to as many places as the source gives.
        assert documented.value(mode) == pytest.approx(figure, abs=_half_a_place(figure))


def _half_a_place(figure: float) -> float:
    return 0.5 * 10.0 ** -len(repr(figure).partition(".")[2]) + 1e-12
