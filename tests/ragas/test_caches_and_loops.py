"""ragas' caches and retries in several event loops: each ``evaluate()`` makes one of its own."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from ragas.cache import DiskCacheBackend
from ragas.llms import llm_factory
from ragas.llms.base import InstructorLLM, LangchainLLMWrapper
from ragas.run_config import RunConfig

from noisesense import LLMJudge, score
from noisesense.errors import ReplyError
from noisesense.judging.protocol import Judgement
from noisesense_adapters.ragas.llm import bridge_over
from support import misbehavior as bad
from support.faults import CALLS, TRUTH, pairs
from support.mind import Mind
from support.server import ScriptedServer

SAMPLE = pairs()[0][0]
LOOPS = range(3)
_numbers = itertools.count()  # LangChain shares the clients of equal timeouts


def model_of(kind: str, server: ScriptedServer, cache: Any, name: str = "m", **more: Any) -> Any:
    options: dict[str, Any] = {"base_url": server.base_url, "api_key": "k", "max_retries": 0}
    kept = {**more, "cache": cache}
    if kind == "factory":
        return llm_factory(name, client=AsyncOpenAI(**options), **kept)
    if kind == "factory, sync":
        return llm_factory(name, client=OpenAI(**options), **kept)
    config = RunConfig(max_retries=3, max_wait=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        chat = ChatOpenAI(model=name, timeout=20 + next(_numbers) / 1e6, **options, **more)
        return LangchainLLMWrapper(chat, config, cache=cache)


KINDS = ("factory", "factory, sync", "LangChain")
# Before ragas 0.4.3 a model of llm_factory has no cache.
HAS_CACHE = "cache" in inspect.signature(InstructorLLM).parameters
CACHED = [kind for kind in KINDS if HAS_CACHE or kind == "LangChain"]
each_cached_kind = pytest.mark.parametrize("kind", CACHED)


@contextmanager
def quiet() -> Iterator[None]:
    """Connections of loops that are gone are not closed: the collector says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield


def judged(llm: Any) -> Judgement:
    """By a judge of its own, in an event loop of its own."""
    return asyncio.run(LLMJudge(bridge_over(llm)).judge_detailed(SAMPLE))


@each_cached_kind
def test_a_cache_on_disk_asks_once_in_three_loops(kind: str, tmp_path: Path) -> None:
    with quiet(), ScriptedServer(Mind(pairs())) as server:
        for loop in LOOPS:
            llm = model_of(kind, server, DiskCacheBackend(str(tmp_path)))
            found = judged(llm)
            assert score(found.verdicts).relevant == TRUTH
            assert found.usage.calls == (0 if loop else CALLS)
        assert server.log.calls == CALLS


@each_cached_kind
def test_a_cache_keeps_no_reply_that_was_cut(kind: str, tmp_path: Path) -> None:
    """The replies are whole to look at. Each is asked for three times in each of two runs."""
    cut = bad.always(bad.Misbehavior("cut", finish_reason="length"))
    with quiet(), ScriptedServer(Mind(pairs()), script=cut) as server:
        for _ in range(2):
            before = server.log.calls
            with pytest.raises(ReplyError):
                judged(model_of(kind, server, DiskCacheBackend(str(tmp_path))))
            assert server.log.calls >= before + 3


@each_cached_kind
def test_models_of_one_cache_are_told_apart(kind: str, tmp_path: Path) -> None:
    """By their names and options. The identity alone would do: it holds the name, too."""
    cache = DiskCacheBackend(str(tmp_path))
    with quiet(), ScriptedServer(Mind(pairs())) as server:
        for name in ("one", "other"):
            for heat in (0, 0.5):
                judged(model_of(kind, server, cache, name, temperature=heat))
        assert server.log.calls == 4 * CALLS
