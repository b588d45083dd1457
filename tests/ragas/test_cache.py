"""A model with ragas' own cache of replies: used, counted, and no way around our asking once."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
from ragas.cache import CacheInterface

from noisesense import Usage, score
from noisesense_adapters.ragas import NoiseSensitivity
from support.mind import Mind
from support.ragas_llms import asked
from support.ragas_peer import ragas_row
from support.server import ScriptedServer
from support.tables import random_pair


@pytest.mark.parametrize("kind", ["async client", "sync client", "LangChain wrapped"])
def test_ragas_cache_is_used(kind: str) -> None:
    sample, verdicts = random_pair(1)
    cache = _Cache()

    async def work(llm: Any) -> list[Usage]:
        usages: list[Usage] = []
        for _ in "12":
            metric = NoiseSensitivity("relevant", _cached(llm, cache))
            found = await metric.ascore(**ragas_row(sample))
            assert found.value == score(verdicts).relevant
            usages.append(found.value.judgement.usage)
        return usages

    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        first, _ = asked(kind, server, work)
        assert first.calls == server.log.calls > 0  # the second time nobody is asked


class _Cache(CacheInterface):
    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self._kept[key]

    def set(self, key: str, value: Any) -> None:
        self._kept[key] = value

    def has_key(self, key: str) -> bool:
        return key in self._kept


def _cached(llm: Any, cache: Any) -> Any:
    if "cache" not in inspect.signature(type(llm)).parameters:
        pytest.skip("this ragas (before 0.4.2) keeps no replies of instructor models")
    if hasattr(llm, "langchain_llm"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return type(llm)(llm.langchain_llm, cache=cache)
    return type(llm)(llm.client, llm.model, llm.provider, cache=cache)
