"""The scripted mind behind ragas' own metric: over HTTP, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from noisesense import InputError, Sample, Verdicts, score
from noisesense.fixtures import reference_examples
from noisesense_adapters.demo.ragas_mind import RagasMind, why_not_comparable
from noisesense_adapters.demo.ragas_peer import ragas_row
from support.ragas_llms import asked, evaluated_by
from support.ragas_runs import COLUMNS, same
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

PAIRS = [
    *random_pairs(4, shape=Shape(response_claims=(1, 5))),  # without any, numpy warns in ragas
    *((e.sample, e.verdicts) for e in reference_examples() if not why_not_comparable(e.verdicts)),
]


def test_ragas_own_metric_in_evaluate_over_http() -> None:
    from ragas.metrics._noise_sensitivity import NoiseSensitivity

    metrics = [NoiseSensitivity(mode=mode) for mode in COLUMNS]  # type: ignore[arg-type]
    with ScriptedServer(RagasMind(PAIRS)) as server:
        result = evaluated_by("LangChain", server, [sample for sample, _ in PAIRS], metrics)
    for row, (_, verdicts) in zip(result.scores, PAIRS, strict=True):
        for mode, name in COLUMNS.items():
            assert same(row[name], score(verdicts).value(mode))  # type: ignore[arg-type]
    # 2C + 3 calls a mode: what ours is compared with.
    chunks = sum(len(sample.retrieved_contexts) for sample, _ in PAIRS)
    assert server.log.calls == 2 * (2 * chunks + 3 * len(PAIRS))


def test_ragas_own_metric_of_the_collections_over_http() -> None:
    from ragas.metrics.collections import NoiseSensitivity

    async def work(llm: Any) -> Any:
        metric = NoiseSensitivity(llm=llm, mode="irrelevant")
        return await asyncio.gather(*(metric.ascore(**ragas_row(sample)) for sample, _ in PAIRS))

    with ScriptedServer(RagasMind(PAIRS)) as server:
        results = asked("async client", server, work)
    for found, (_, verdicts) in zip(results, PAIRS, strict=True):
        assert same(found.value, score(verdicts).irrelevant)


def _pair(text: str, *, correct: bool | None = True, **table: Any) -> tuple[Sample, Verdicts]:
    table = {"chunks_to_response": [[True]], "chunks_to_reference": [[True]], **table}
    verdicts = Verdicts.from_matrices(
        [correct], **table, response_claims=["It is so."], reference_claims=["It is thus."]
    )
    sample = Sample(response=text, reference="r", retrieved_contexts=("c",))  # type: ignore[arg-type]
    return sample, verdicts


@pytest.mark.parametrize(
    ("pairs", "names"),
    [
        ([_pair("a", correct=None)], ("pair 0", "undetermined")),
        ([_pair("a", chunks_to_response=[[None]])], ("pair 0", "undetermined")),
        ([_pair("a"), _pair("b", correct=False)], ("pair 1", "two answers", "'r'")),
        ([_pair("a"), _pair("b", chunks_to_response=[[False]])], ("pair 1", "two answers", "'c'")),
    ],
)
def test_what_it_cannot_answer_it_refuses_to_learn(
    pairs: list[tuple[Sample, Verdicts]], names: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as caught:
        RagasMind(pairs)
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize(
    "prompt",
    [
        "Hello?",
        '…\ninput: {"question": "?", "answer": "unknown"}\nOutput: ',
        '…\ninput: {"context": "c", "statements": ["unknown"]}\nOutput: ',
    ],
)
def test_a_prompt_it_does_not_know_is_an_error(prompt: str) -> None:
    with pytest.raises(LookupError):
        RagasMind([_pair("a")]).answer(prompt)


def test_claims_without_text_are_told_apart() -> None:
    pairs = [
        (
            Sample(response=f"text {k}", reference=f"ref {k}", retrieved_contexts=("c",)),  # type: ignore[arg-type]
            Verdicts.from_matrices([False], [[wrong]], [[True]]),
        )
        for k, wrong in enumerate([True, False])
    ]
    mind = RagasMind(pairs, reason="it says so")
    for sample, verdicts in pairs:
        asked_for = {"question": "", "answer": sample.response}
        (claim,) = json.loads(mind.answer(f"\ninput: {json.dumps(asked_for)}"))["statements"]
        judged = {"context": "c", "statements": [claim]}
        (row,) = json.loads(mind.answer(f"\ninput: {json.dumps(judged)}\nOutput: "))["statements"]
        wanted = int(0 in verdicts.response_claims[0].entailed_by)
        assert row == {"statement": claim, "reason": "it says so", "verdict": wanted}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, None),
        ({"chunks_to_reference": [[False]]}, None),
        ({"relevant": [True]}, None),
        ({"relevant": [False]}, "labels"),
        ({"chunks_to_reference": [[None]]}, "yes and no"),
        ({"chunks_to_reference": []}, None),
        ({"chunks_to_reference": [], "relevant": [False]}, "no reference claims"),
    ],
)
def test_why_not_comparable(table: dict[str, Any], says: str | None) -> None:
    given = {"chunks_to_reference": [[True]], **table}
    problem = why_not_comparable(Verdicts.from_matrices([False], [[True]], **given))
    assert problem is None if says is None else says in str(problem)
