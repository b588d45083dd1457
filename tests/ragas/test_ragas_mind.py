"""The scripted mind behind ragas' own metric: over HTTP, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any

from noisesense import score
from noisesense.fixtures import reference_examples
from support.ragas_llms import asked, evaluated_by
from support.ragas_mind import RagasMind, why_not_comparable
from support.ragas_peer import ragas_row
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
