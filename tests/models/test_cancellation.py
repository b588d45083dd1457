"""Judging that is given up: nothing is left running, and the judge still works."""

from __future__ import annotations

import asyncio
import threading
import weakref

import pytest

from noisesense import LLMJudge, score
from noisesense_adapters.models import running
from support import misbehavior as bad
from support.bridges import BRIDGES
from support.faults import TRUTH, mind, pairs
from support.langchain_models import run
from support.server import ScriptedServer


@pytest.mark.parametrize("bridge", ["openai", "langchain", "langchain, in a second loop"])
def test_a_cancelled_judge_leaves_no_task_and_works_again(
    bridge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
