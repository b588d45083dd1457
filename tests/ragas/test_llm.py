"""ragas' own models as the judge's: from texts to the figure, through real clients on loopback."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ragas.run_config import RunConfig

from noisesense import Usage, VerdictStore, score
from noisesense.scoring.definitions import MODES
from noisesense_adapters.models import running
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.faults import CALLS, pairs
from support.mind import Mind
from support.misbehavior import HANG, always
from support.ragas_llms import KEY, KINDS, asked, evaluated_by
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS
from support.server import ScriptedServer
from support.sizes import by_turns, named
from support.tables import Shape, random_pair, random_pairs

each_kind = pytest.mark.parametrize("kind", KINDS)
SAMPLE, VERDICTS = random_pair(1)
SAMPLES = [sample for sample, _ in pairs()]
TRUTH = score(VERDICTS)


def both(**options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, **options) for mode in MODES]


def cells(result: Any) -> list[ScoredFloat]:
    return [row[name] for row in result.scores for name in COLUMNS.values()]


def paid(values: Iterable[ScoredFloat]) -> Usage:
    return sum((value.judgement.usage for value in values), Usage())


@pytest.mark.parametrize("kind", ["LangChain", "LangChain wrapped"])
def test_ragas_own_counting_of_tokens_counts_the_judges_calls(kind: str) -> None:
    from ragas.cost import get_token_usage_for_openai as parser

    with ScriptedServer(Mind(pairs())) as server:
        result = evaluated_by(kind, server, SAMPLES, both(), token_usage_parser=parser)
    counted = result.total_tokens()
    usage = paid(cells(result))
    assert counted.input_tokens == usage.input_tokens > 0
    assert counted.output_tokens == usage.output_tokens > 0
    assert len(result.cost_cb.usage_data) == server.log.calls


WORKERS: dict[str, dict[str, Any]] = {
    "as many as there are": {},
    "1 worker": {"run_config": RunConfig(max_workers=1, max_retries=1)},
    "3 workers": {"run_config": RunConfig(max_workers=3, max_retries=1), "batch_size": 5},
}


@pytest.mark.parametrize(("options", "kind"), by_turns(WORKERS, named(list(KINDS))))
def test_ragas_workers_bound_the_calls_in_flight(options: dict[str, Any], kind: str) -> None:
    """Without such a bound a blocking client, too, is asked several things at once."""
    together = {} if options else {"": 4}
    with ScriptedServer(Mind(pairs()), latency=0.01, together=together) as server:
        evaluated_by(kind, server, SAMPLES, both(), raise_exceptions=True, **options)
    assert server.log.calls == 2 * CALLS
    if options:
        assert server.log.concurrency <= options["run_config"].max_workers


@each_kind
def test_a_model_given_to_the_metric_in_ascore_and_its_store(kind: str, tmp_path: Path) -> None:
    """Both modes judge once; asked again, the store pays."""

    async def work(llm: Any) -> list[Any]:
        metrics = both(llm=llm, store=store)
        found = []
        for _ in "12":
            ascores = (metric.ascore(**ragas_row(SAMPLE)) for metric in metrics)
            found.append([each.value for each in await asyncio.gather(*ascores)])
        return found

    mind = Mind([(SAMPLE, VERDICTS)])
    with VerdictStore(tmp_path / "store.sqlite") as store, ScriptedServer(mind) as server:
        first, second = asked(kind, server, work)
    assert first == second == [TRUTH.relevant, TRUTH.irrelevant]
    assert paid(first).calls == server.log.calls <= len(SAMPLE.retrieved_contexts) + 3
    assert paid(second).calls == 0
    assert paid(second).cached_calls == server.log.calls
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert KEY.encode() not in kept


def test_a_wrapper_in_another_loop_is_asked_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_first", lambda: None)  # some loop that is gone
    with ScriptedServer(Mind(pairs())) as server:
        result = evaluated_by("LangChain wrapped", server, SAMPLES, both(), raise_exceptions=True)
    assert paid(cells(result)).calls == server.log.calls == 2 * CALLS


@pytest.mark.parametrize("kind", ["async client", "LangChain", "LangChain wrapped"])
def test_a_cancelled_sample_ends_its_requests_and_can_be_judged_again(kind: str) -> None:
    async def work(llm: Any) -> Any:
        metric = NoiseSensitivity("relevant", llm)
        asking = asyncio.ensure_future(metric.ascore(**ragas_row(SAMPLE)))
        while server.log.calls < 2:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.script = None
        return await metric.ascore(**ragas_row(SAMPLE))

    with ScriptedServer(Mind([(SAMPLE, VERDICTS)]), script=always(HANG)) as server:
        found = asked(kind, server, work)
        hung = [request for request in server.log.requests if request.fault == "hang"]
    assert found.value == TRUTH.relevant
    assert [request.aborted for request in hung] == [True, True]


# In a process of its own: the clients keep connections of loops that are gone, of which the
# garbage collector warns at its own time; and in a running loop ragas patches asyncio for good.
SCRIPT = """
import asyncio, math, sys, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
import openai
from noisesense_adapters.ragas import NoiseSensitivity
from ragas.llms import llm_factory
from ragas.run_config import RunConfig
from support.ragas_runs import evaluated
from support.tables import Shape, random_pairs
client = openai.{kind}(base_url={url!r}, api_key="k", max_retries=0)
options = {{"llm": llm_factory("m", client=client), "run_config": RunConfig(max_retries=1)}}
def evaluate(seed):
    samples = [sample for sample, _ in random_pairs(4, seed=seed, shape={shape!r})]
    result = evaluated(samples, [NoiseSensitivity()], raise_exceptions=True, **options)
    return [value for row in result.scores for value in row.values()]
async def cell():  # of a notebook
    return evaluate(20)
values = evaluate(0) + evaluate(10) + asyncio.run(cell())
print(sum(map(math.isnan, values)), sum(value.judgement.usage.calls for value in values))
"""


@pytest.mark.broad
@pytest.mark.parametrize("kind", ["AsyncOpenAI", "OpenAI"])
def test_no_run_loses_a_sample_to_the_connections_of_another(kind: str) -> None:
    shape = Shape(response_claims=(1, 4), chunks=(1, 4))
    tables = [pair for seed in (0, 10, 20) for pair in random_pairs(4, seed=seed, shape=shape)]
    with ScriptedServer(Mind(tables)) as server:
        code = SCRIPT.format(path=sys.path, url=server.base_url, kind=kind, shape=shape)
        env = {"RAGAS_DO_NOT_TRACK": "true", "PATH": "", "HOME": "/nonexistent"}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.stdout.split() == ["0", str(server.log.calls)], done.stderr[-2000:]
    assert len(set(server.log.prompts)) == server.log.calls >= 3 * len(tables)
