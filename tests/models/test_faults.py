"""Sound and faulty endpoints through the openai client, Promptfoo's, and LangChain's ChatOpenAI.

The last with and without forms.
"""

from __future__ import annotations

import pytest
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from noisesense import LLMJudge, score
from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense.scoring.definitions import MODES
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from support.bridges import Make, judged, settings
from support.faults import (
    MAX_WAIT,
    RETRIES,
    STRUCK,
    TRUTH,
    Fault,
    faults_through,
    mind,
    other_cells,
    pairs,
)
from support.langchain_models import InWords, chat_openai
from support.server import ScriptedServer
from support.timeouts import ChatClientOnDemand, async_client, clients


def _openai(server: ScriptedServer) -> StructuredLLM:
    options = settings(server, max_retries=RETRIES, http_client=async_client())
    return OpenAILLM("m", client=AsyncOpenAI(**options))


def _promptfoo(server: ScriptedServer) -> StructuredLLM:
    return OpenAILLM("m", client=ChatClientOnDemand(**settings(server, max_retries=RETRIES)))


def _langchain(server: ScriptedServer, kind: type[ChatOpenAI] = ChatOpenAI) -> StructuredLLM:
    return LangChainLLM(chat_openai(server, kind, max_retries=RETRIES, **clients()))


BRIDGES: dict[str, Make] = {
    "openai": _openai,
    "promptfoo": _promptfoo,
    "langchain": _langchain,
    "in words": lambda server: _langchain(server, InWords),
}


@pytest.mark.parametrize(("fault", "make"), faults_through(BRIDGES, every=("openai", "langchain")))
def test_a_fault_costs_only_its_own_sample_and_makes_no_verdict_wrong(
    fault: Fault, make: Make
) -> None:
    with ScriptedServer(mind(), script=fault.script()) as server:
        untouched, struck = judged(LLMJudge(make(server), max_wait=MAX_WAIT))
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests
    assert isinstance(untouched, Judgement)
    assert _values(untouched) == (TRUTH, TRUTH)
    assert untouched.unanswered == 0
    if isinstance(struck, JudgeError):
        outcome = "unusable" if isinstance(struck, ReplyError) else "failed"
        assert fault.outcome in (outcome, "safe")
    else:
        assert isinstance(struck, Judgement), struck
        _assert_what_was_judged(fault, struck)


def _assert_what_was_judged(fault: Fault, struck: Judgement) -> None:
    assert fault.outcome not in ("unusable", "failed")
    if fault.outcome != "safe":
        assert (struck.unanswered == 0) is (fault.outcome == "exact")
    known = {"exact": (TRUTH, TRUTH), "undefined": (None, None)}
    values = _values(struck)
    assert values == known.get(fault.outcome, values)
    assert not other_cells(struck.verdicts, pairs()[1][1])
    for mode in MODES:
        low, high = score(struck.verdicts).bounds(mode) or (0.0, 1.0)
        assert low <= TRUTH <= high


def _values(judgement: Judgement) -> tuple[float | None, float | None]:
    found = score(judgement.verdicts)
    return found.relevant, found.irrelevant
