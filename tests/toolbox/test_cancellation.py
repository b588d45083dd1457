"""Judging that is given up: nothing is left running, and the judge still works."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from noisesense import LLMJudge, score
from noisesense.judging.protocol import StructuredLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.toolbox import running as _ask
from support import misbehavior as bad
from support.faults import TRUTH, mind, pairs
from support.langchain_models import chat_openai, run
from support.server import ScriptedServer

Make = Callable[[ScriptedServer], StructuredLLM]
BRIDGES: dict[str, Make] = {
    "openai": lambda server: OpenAILLM("m", base_url=server.base_url, api_key="k"),
    "langchain": lambda server: LangChainLLM(chat_openai(server)),
}


@pytest.mark.parametrize("make", BRIDGES.values(), ids=BRIDGES.keys())
def test_cancelling_the_judge_ends_its_requests(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ask, "_first", None)
    sample, _ = pairs()[0]
    with ScriptedServer(mind(), script=bad.first(2, bad.HANG)) as server:
        judge = LLMJudge(make(server))

        async def main() -> None:
            await _cancelled(judge, server)
            assert asyncio.all_tasks() - {asyncio.current_task()} == set()
            while not all(request.aborted for request in server.log.requests):
                await asyncio.sleep(0.01)
            assert score(await judge.judge(sample)).relevant == TRUTH

        run(main())
        assert server.log.calls == 2 + 6


def test_a_thread_that_is_given_up_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second loop LangChain is asked by threads, which cannot be stopped."""
    other = asyncio.new_event_loop()
    monkeypatch.setattr(_ask, "_first", weakref.ref(other))
    sample, _ = pairs()[0]
    with ScriptedServer(mind(), script=bad.first(2, bad.HANG)) as server:
        judge = LLMJudge(LangChainLLM(chat_openai(server)))

        async def main() -> None:
            await _cancelled(judge, server)
            assert asyncio.all_tasks() - {asyncio.current_task()} == set()
            assert score(await judge.judge(sample)).relevant == TRUTH

        run(main())
        assert server.log.calls == 2 + 6
    # The end of the server is the end of what hangs at it.
    for thread in threading.enumerate():
        if thread.name == "noisesense-ask":
            thread.join()
    other.close()


async def _cancelled(judge: LLMJudge, server: ScriptedServer) -> None:
    """Cancel the judging of the first sample once both of its first calls hang."""
    asking = asyncio.ensure_future(judge.judge(pairs()[0][0]))
    while server.log.calls < 2:
        await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


ASK = """
import asyncio, sys, weakref
from noisesense import LLMJudge
from noisesense_adapters.toolbox import running
from support.faults import pairs

bridge, url = sys.argv[1:]
if bridge == "openai":
    from noisesense_adapters.openai import OpenAILLM
    llm = OpenAILLM("m", base_url=url, api_key="sk-canary")
else:
    from langchain_openai import ChatOpenAI
    from noisesense_adapters.langchain import LangChainLLM
    llm = LangChainLLM(ChatOpenAI(model="gpt-4o-mini", base_url=url, api_key="sk-canary"))
if bridge == "threads":
    running._first = weakref.ref(asyncio.new_event_loop())
asyncio.run(LLMJudge(llm).judge(pairs()[0][0]))
"""


@pytest.mark.parametrize(
    "bridge",
    [
        "openai",
        *(pytest.param(each, marks=pytest.mark.broad) for each in ("langchain", "threads")),
    ],
)
def test_ctrl_c_ends_the_process(bridge: str) -> None:
    with ScriptedServer(mind(), script=bad.always(bad.HANG)) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", ASK, bridge, server.base_url],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        while server.log.calls < 2:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode != 0
    assert errors.rstrip().splitlines()[-1] == "KeyboardInterrupt"
    assert errors.count("Traceback") <= 2, errors  # the interrupt and what it interrupted
    for word in ("sk-canary", "Task was destroyed", "never retrieved", "Exception ignored"):
        assert word not in errors
