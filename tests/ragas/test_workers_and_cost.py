"""What ragas' users set for a run holds for our calls: workers, batches, cost counting."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from ragas.cost import get_token_usage_for_openai
from ragas.run_config import RunConfig

from noisesense import Sample, Verdicts
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity
from support.chat import tokens
from support.mind import Mind
from support.ragas_llms import evaluated_by
from support.server import ScriptedServer
from support.sizes import by_turns, named
from support.tables import Shape, random_pairs

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


def test_without_a_setting_calls_do_run_at_once() -> None:
    with ScriptedServer(Mind(_pairs()), together={"": 5}) as server:
        evaluated_by("async client", server, SAMPLES, [NoiseSensitivity()])
    assert server.log.concurrency > 4


def test_cost_is_counted_once_with_langchain() -> None:
    with ScriptedServer(Mind(_pairs())) as server:
        result = evaluated_by(
            "LangChain",
            server,
            SAMPLES,
            [NoiseSensitivity()],
            token_usage_parser=get_token_usage_for_openai,
        )
    assert result.total_tokens().input_tokens == sum(tokens(p) for p in server.log.prompts)


SEVERAL = """
import sys, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
from noisesense_adapters.ragas import NoiseSensitivity
from ragas.run_config import RunConfig
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from support.ragas_runs import evaluated
from support.tables import Shape, random_pairs
samples = [sample for sample, _ in random_pairs(3, shape={shape!r})]
url = {url!r}
models = {{
    "chat": ChatOpenAI(model="m", base_url=url, api_key="k"),
    "factory": llm_factory("m", client=AsyncOpenAI(base_url=url, api_key="k")),
}}
for name in {order!r}:
    evaluated(samples, [NoiseSensitivity()], llm=models[name], raise_exceptions=True)
"""


@pytest.mark.broad
@pytest.mark.parametrize(
    "order", [("chat", "factory"), ("factory", "factory"), ("factory", "chat", "factory")]
)
def test_an_earlier_run_costs_no_request(order: tuple[str, ...]) -> None:
    """Connections of the earlier run belong to a loop that is gone: none is used again.

    The clients repeat lost requests by themselves, so only the server knows of them.
    """
    shape = Shape(response_claims=(3, 3), chunks=(2, 2))
    pairs = list(random_pairs(3, shape=shape))
    with ScriptedServer(Mind(pairs)) as server:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                SEVERAL.format(path=sys.path, url=server.base_url, order=order, shape=shape),
            ],
            capture_output=True,
            text=True,
            env={"RAGAS_DO_NOT_TRACK": "true", "PATH": "", "HOME": "/nonexistent"},
        )
    assert done.returncode == 0, done.stderr[-2000:]
    # Two lists of claims, the reference, and two chunks where a claim is incorrect.
    wrong = [any(not claim.correct for claim in v.response_claims) for _, v in pairs]
    assert server.log.calls == len(order) * sum(3 + 2 * each for each in wrong)
