"""ragas' own models as the judge's: from texts to the figure, through real clients on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ragas.run_config import RunConfig

from noisesense import Usage, VerdictStore, score
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.faults import CALLS, pairs
from support.mind import Mind
from support.ragas_llms import KEY, KINDS, asked, evaluated_by
from support.ragas_peer import ragas_row
from support.server import ScriptedServer
from support.tables import random_pair

each_kind = pytest.mark.parametrize("kind", KINDS)
SAMPLE, VERDICTS = random_pair(1)
SAMPLES = [sample for sample, _ in pairs()]
TRUTH = score(VERDICTS)


def both(**options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, **options) for mode in MODES]


def paid(values: Iterable[ScoredFloat]) -> Usage:
    return sum((value.judgement.usage for value in values), Usage())


@each_kind
def test_ragas_workers_bound_the_calls_in_flight(kind: str) -> None:
    """Without such a bound a blocking client, too, is asked several things at once."""
    one = RunConfig(max_workers=1, max_retries=1)
    with ScriptedServer(Mind(pairs()), latency=0.01) as server:
        evaluated_by(kind, server, SAMPLES, both(), raise_exceptions=True, run_config=one)
    assert server.log.calls == 2 * CALLS
    assert server.log.concurrency == 1


@each_kind
def test_ascore_judges_once_for_both_modes_then_its_store_pays(kind: str, tmp_path: Path) -> None:
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
