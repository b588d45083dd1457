"""What ragas' users set for a run holds for our calls: workers, batches, cost counting."""

from __future__ import annotations

from typing import Any

import pytest
from ragas.run_config import RunConfig

from noisesense import Sample, Verdicts
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity
from support.mind import Mind
from support.ragas_llms import evaluated_by
from support.server import ScriptedServer
from support.sizes import by_turns, named

# One claim, incorrect, and 12 chunks: 2 + 1 + 12 calls.
CHUNKS = 12
VERDICTS = Verdicts.from_matrices([False], [[True] * CHUNKS], [[True] * CHUNKS])
SAMPLES = [
    Sample(
        response=f"answer {i}",
        reference=f"reference {i}",
        retrieved_contexts=[f"chunk {i}, {j}" for j in range(CHUNKS)],
    )
    for i in range(3)
]


def _pairs() -> list[tuple[Sample, Verdicts]]:
    """Claims of their own for each sample: the mind finds a sample by its texts."""
    pairs = []
    for i, sample in enumerate(SAMPLES):
        data = VERDICTS.model_dump(mode="json", exclude={"chunks"})
        for side in ("response_claims", "reference_claims"):
            for claim in data[side]:
                claim["text"] = f"{side} {i}"
        pairs.append((sample, Verdicts.model_validate(data)))
    return pairs


WORKERS: dict[str, tuple[Any, int]] = {
    "1 worker": ({"run_config": RunConfig(max_workers=1, max_retries=1)}, 1),
    "4 workers": ({"run_config": RunConfig(max_workers=4, max_retries=1)}, 4),
    "3 workers, batches of 5": (
        {"run_config": RunConfig(max_workers=3, max_retries=1), "batch_size": 5},
        3,
    ),
}
"""How a run is bounded, and to how many calls at once."""


@pytest.mark.parametrize(
    ("workers", "llm"), by_turns(WORKERS, named(["async client", "sync client", "LangChain"]))
)
def test_workers_bound_the_calls_in_flight(workers: tuple[Any, int], llm: str) -> None:
    options, most = workers
    with ScriptedServer(Mind(_pairs()), latency=0.01) as server:
        metrics = [NoiseSensitivity(mode) for mode in MODES]
        evaluated_by(llm, server, SAMPLES, metrics, raise_exceptions=True, **options)
    assert server.log.calls == len(SAMPLES) * (3 + CHUNKS)
    assert server.log.concurrency <= most
