"""Several ``evaluate()`` runs in one process: each has an event loop of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.mind import Mind
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

SHAPE = Shape(response_claims=(1, 4), chunks=(1, 4))
RUNS = 3

# In a process of its own: the clients keep connections of loops that are gone, of which the
# garbage collector warns at its own time.
SCRIPT = """
import sys, math, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from ragas.run_config import RunConfig
from support.ragas_runs import dataset, evaluated
from support.tables import Shape, random_pairs
url, kind = {url!r}, {kind!r}
if kind == "LangChain":
    from langchain_openai import ChatOpenAI
    llm = ChatOpenAI(model="m", base_url=url, api_key="k", max_retries=0)
else:
    from ragas.llms import llm_factory
    import openai
    llm = llm_factory("m", client=getattr(openai, kind)(base_url=url, api_key="k", max_retries=0))
lost = calls = 0
for run in range({runs}):
    pairs = list(random_pairs(4, seed=run * 10, shape={shape!r}))
    samples = [sample for sample, _ in pairs]
    options = {{"llm": llm, "run_config": RunConfig(max_retries=1)}}
    result = evaluated(samples, [NoiseSensitivity()], raise_exceptions=True, **options)
    for row, (_, verdicts) in zip(result.scores, pairs):
        (value,) = row.values()
        calls += value.judgement.usage.calls
        lost += math.isnan(value)
print(lost, calls)
"""


@pytest.mark.broad
@pytest.mark.parametrize("kind", ["AsyncOpenAI", "OpenAI", "LangChain"])
def test_no_run_loses_a_sample_to_the_connections_of_another(kind: str) -> None:
    pairs = [pair for run in range(RUNS) for pair in random_pairs(4, seed=run * 10, shape=SHAPE)]
    with ScriptedServer(Mind(pairs)) as server:
        code = SCRIPT.format(path=sys.path, url=server.base_url, kind=kind, runs=RUNS, shape=SHAPE)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={"RAGAS_DO_NOT_TRACK": "true", "PATH": "", "HOME": "/nonexistent"},
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["0", str(server.log.calls)]
    assert server.log.calls >= sum(3 for _ in pairs)
    assert len(set(server.log.prompts)) == server.log.calls


NOTEBOOK = """
import sys, asyncio, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
from noisesense import score
from noisesense_adapters.ragas import NoiseSensitivity
from support.ragas_runs import CountingJudge, evaluated
from support.tables import random_pairs
async def cell():
    pairs = list(random_pairs(10))
    judge = CountingJudge(pairs, seconds=0.001)
    metrics = [NoiseSensitivity(mode, judge=judge) for mode in ("relevant", "irrelevant")]
    result = evaluated([sample for sample, _ in pairs], metrics)
    found = [value.score.relevant for value in result["noise_sensitivity(mode=relevant)"]]
    print(len(judge.asked), found == [score(verdicts).relevant for _, verdicts in pairs])
asyncio.run(cell())
"""


@pytest.mark.broad
def test_evaluate_inside_a_running_loop_as_in_a_notebook() -> None:
    """There ragas patches asyncio for good, so this too runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK.format(path=sys.path)],
        capture_output=True,
        text=True,
        env={"RAGAS_DO_NOT_TRACK": "true", "PATH": "", "HOME": "/nonexistent"},
    )
    assert done.stdout.split() == ["10", "True"], done.stderr[-2000:]
