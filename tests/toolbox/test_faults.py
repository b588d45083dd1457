"""The fault table through the openai client, Promptfoo's, and LangChain's ChatOpenAI.

The last with and without forms.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

from noisesense import LLMJudge, Sample, Verdicts, score
from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.toolbox import running as _ask
from support import misbehavior as bad
from support.faults import (
    RETRIES,
    STRUCK,
    TRUTH,
    Fault,
    Items,
    faults_through,
    in_verdicts,
    mind,
    pairs,
)
from support.langchain_models import chat_openai, run
from support.mind import Mind
from support.server import ScriptedServer
from support.timeouts import ChatClientOnDemand, async_client, clients

Make = Callable[..., StructuredLLM]


class InWords(ChatOpenAI):
    """A chat model without structured output, and with a real client."""

    def with_structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def _openai(server: ScriptedServer, timeout: float = 60) -> StructuredLLM:
    client = AsyncOpenAI(
        base_url=server.base_url,
        api_key="k",
        timeout=timeout,
        max_retries=RETRIES,
        http_client=async_client(),
    )
    return OpenAILLM("m", client=client)


def _chat_client(server: ScriptedServer, timeout: float = 60) -> StructuredLLM:
    client = ChatClientOnDemand(
        base_url=server.base_url, api_key="k", timeout=timeout, max_retries=RETRIES
    )
    return OpenAILLM("m", client=client)


def _langchain(
    server: ScriptedServer, timeout: float = 60, kind: type[ChatOpenAI] = ChatOpenAI
) -> StructuredLLM:
    options = {"timeout": timeout, "max_retries": RETRIES, **clients()}
    return LangChainLLM(chat_openai(server, kind, **options))


def _in_words(server: ScriptedServer, timeout: float = 60) -> StructuredLLM:
    return _langchain(server, timeout, InWords)


BRIDGES: dict[str, Make] = {
    "openai": _openai,
    "promptfoo": _chat_client,
    "langchain": _langchain,
    "in words": _in_words,
}
each_bridge = pytest.mark.parametrize("make", BRIDGES.values(), ids=BRIDGES.keys())


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ask, "_first", None)


def _judge_all(judge: LLMJudge) -> dict[str, Judgement | BaseException]:
    samples = [sample for sample, _ in pairs()]

    async def main() -> list[Judgement | BaseException]:
        return await asyncio.gather(*map(judge.judge_detailed, samples), return_exceptions=True)

    return {_name(sample): got for sample, got in zip(samples, run(main()), strict=True)}


def _name(sample: Sample) -> str:
    return sample.user_input.removeprefix("Who is ").removesuffix("?")


@pytest.mark.parametrize(("fault", "make"), faults_through(BRIDGES, every=("openai", "langchain")))
def test_fault(fault: Fault, make: Make) -> None:
    with ScriptedServer(mind(), script=fault.script()) as server:
        judge = LLMJudge(make(server))
        results = _judge_all(judge)
        struck = results.pop(STRUCK)
        for name, result in results.items():
            assert isinstance(result, Judgement), name
            assert _values(result) == (TRUTH, TRUTH), name
            assert result.unanswered == 0
        assert sum(STRUCK in prompt for prompt in server.log.prompts) <= fault.requests
    if fault.outcome == "safe" and isinstance(struck, JudgeError):
        return
    if fault.outcome == "failed":
        assert isinstance(struck, JudgeError)
        assert not isinstance(struck, ReplyError)
    elif fault.outcome == "unusable":
        assert isinstance(struck, ReplyError)
    else:
        assert isinstance(struck, Judgement), struck
        assert fault.outcome == "safe" or (struck.unanswered == 0) is (fault.outcome == "exact")
        if fault.outcome == "exact":
            assert _values(struck) == (TRUTH, TRUTH)
        if fault.outcome == "undefined":
            assert _values(struck) == (None, None)
        _assert_nothing_wrong(struck.verdicts, pairs()[1][1])
        for mode in ("relevant", "irrelevant"):
            low, high = score(struck.verdicts).bounds(mode) or (0.0, 1.0)
            assert low <= TRUTH <= high


def _values(judgement: Judgement) -> tuple[float | None, float | None]:
    found = score(judgement.verdicts)
    return found.relevant, found.irrelevant


@each_bridge
@pytest.mark.parametrize(
    ("error", "says"),
    [
        ({"code": "context_length_exceeded"}, "longer than the model's context"),
        ({"message": "maximum context length is 8192, sk-canary"}, "longer than the model's"),
        ({"code": "content_filter"}, "content filter refused the prompt"),
        ({"code": "insufficient_quota"}, "no quota left"),
        ({"code": "unsupported_value", "param": "temperature"}, "value, temperature). Hint: rem"),
        ({"message": "Unsupported parameter: 'sk-canary'"}, "not take one of the options sent"),
        ({"code": "model_not_found"}, "does not know the model"),
        ({"type": "server_overloaded"}, "HTTP 400, server_overloaded"),
        ({"message": "sk-canary"}, "HTTP 400. Hint"),
    ],
)
def test_a_provider_says_the_cause(make: Make, error: dict[str, str], says: str) -> None:
    refusal = bad.http_error(400, message=json.dumps({"error": error}))
    with ScriptedServer(mind(), script=bad.always(refusal)) as server:
        result = _judge_all(LLMJudge(make(server)))[STRUCK]
    assert type(result) is JudgeError
    assert says in str(result)
    assert "canary" not in str(result)


@each_bridge
def test_connection_refused(make: Make) -> None:
    with ScriptedServer(mind()) as server:
        judge = LLMJudge(make(server))
    results = _judge_all(judge)
    for result in results.values():
        assert isinstance(result, JudgeError)
        assert "cannot be reached" in str(result)


@each_bridge
def test_an_endpoint_without_structured_output(make: Make) -> None:
    with ScriptedServer(mind(), forms=["text"]) as server:
        results = _judge_all(LLMJudge(make(server)))
        # Refused: at most two more of the six calls that are out before one came back.
        assert sum(request.status == 400 for request in server.log.requests) <= 2 * 6
        assert sum(request.status == 200 for request in server.log.requests) == len(pairs()) * 6
    for result in results.values():
        assert isinstance(result, Judgement)
        assert _values(result) == (TRUTH, TRUTH)


def _from_zero(items: Items) -> Items:
    return [{**item, "id": i} for i, item in enumerate(items)]


def _without_gaps(items: Items) -> Items:
    return [{**item, "id": i} for i, item in enumerate(items, start=1)]


@pytest.mark.parametrize(("renumber", "unanswered"), [(_from_zero, 4), (_without_gaps, 0)])
def test_claims_numbered_anew_get_no_wrong_verdict(
    renumber: Callable[[Items], Items], unanswered: int
) -> None:
    """Claims 2 and 4 are incorrect and asked further, as 1 and 2.

    Taken by its ids, a reply numbered from 0 would give claim 2 what is true of 4.
    """
    verdicts = Verdicts.from_matrices(
        reference_to_response=[True, False, True, False],
        chunks_to_response=[[False, False], [False, False], [False, False], [True, True]],
        relevant=[True, False],
        response_claims=[f"Claim {i}." for i in "1234"],
        chunks=["Passage 0.", "Passage 1."],
    )
    sample = Sample(
        response="The response.",
        reference="The reference.",
        retrieved_contexts=verdicts.chunks or (),
    )
    fault = bad.when(lambda prompt: "Passage" in prompt, in_verdicts("anew", renumber))
    with ScriptedServer(Mind([(sample, verdicts)]), script=fault) as server:
        judgement = run(LLMJudge(_openai(server)).judge_detailed(sample))
    _assert_nothing_wrong(judgement.verdicts, verdicts)
    assert judgement.unanswered == unanswered


def _assert_nothing_wrong(judged: Verdicts, true: Verdicts) -> None:
    """Every verdict that is there is the true one."""
    for field, table in judged.to_matrices().items():
        for cell, truth in zip(_flat(table), _flat(true.to_matrices()[field]), strict=True):
            assert cell in (None, truth), field


def _flat(table: Any) -> Iterator[bool | None]:
    for cell in table or ():
        if isinstance(cell, list):
            yield from cell
        else:
            yield cell
