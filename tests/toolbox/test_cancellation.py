"""Judging that is given up: nothing is left running, and the judge still works."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from noisesense import LLMJudge, score
from noisesense_adapters.toolbox import running
from support import misbehavior as bad
from support.bridges import BRIDGES
from support.command import ROOTS, environment
from support.faults import TRUTH, mind, pairs
from support.langchain_models import run
from support.server import ScriptedServer


@pytest.mark.parametrize("bridge", ["openai", "langchain", "langchain, in a second loop"])
def test_a_judge_that_is_cancelled(bridge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its requests end. In a second loop LangChain is asked by threads, which cannot be stopped,
    but hold nobody."""
    other = asyncio.new_event_loop()
    name, _, second = bridge.partition(", ")
    if second:
        monkeypatch.setattr(running, "_first", weakref.ref(other))
    with ScriptedServer(mind(), script=bad.first(2, bad.HANG)) as server:
        judge, (sample, _) = LLMJudge(BRIDGES[name](server)), pairs()[0]

        async def main() -> None:
            asking = asyncio.ensure_future(judge.judge(sample))
            while server.log.calls < 2:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert asyncio.all_tasks() - {asyncio.current_task()} == set()
            while not (second or all(request.aborted for request in server.log.requests)):
                await asyncio.sleep(0.01)
            assert score(await judge.judge(sample)).relevant == TRUTH

        run(main())
        assert server.log.calls == 2 + 6
    # The end of the server is the end of what hangs at it.
    for thread in threading.enumerate():
        if thread.name == "noisesense-ask":
            thread.join()
    other.close()


ASK = """
import asyncio, sys
from noisesense import LLMJudge
from noisesense_adapters.openai import OpenAILLM
from support.faults import pairs

llm = OpenAILLM("m", base_url=sys.argv[1], api_key="sk-canary")
asyncio.run(LLMJudge(llm).judge(pairs()[0][0]))
"""


def test_ctrl_c_ends_the_process() -> None:
    with ScriptedServer(mind(), script=bad.always(bad.HANG)) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", ASK, server.base_url],
            env=environment([*ROOTS, *map(type(ROOTS[0]), sys.path)]),
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
