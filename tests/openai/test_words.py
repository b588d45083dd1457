"""A word as the reply, through the real clients; with its probability where there is one."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from noisesense import JudgeError
from noisesense.errors import ReplyError
from noisesense.judging.protocol import Choice, Usage, WordLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from support.langchain_models import chat_openai, run
from support.misbehavior import Misbehavior, always, first, http_error
from support.server import ScriptedServer

WORDS = ("yes", "no")


class Says:
    def __init__(self, text: str) -> None:
        self.text = text

    def answer(self, prompt: str) -> str:
        return self.text


def _asked(server: ScriptedServer, times: int = 1) -> list[tuple[Choice, Usage]]:
    llm = OpenAILLM("m", base_url=server.base_url, api_key="k", max_retries=0)
    assert isinstance(llm, WordLLM)

    async def main() -> list[tuple[Choice, Usage]]:
        return [await llm.choose("Does it say so?", WORDS) for _ in range(times)]

    return asyncio.run(main())


def _with_logprobs(**tokens: float) -> Misbehavior:
    listed = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in tokens.items()]

    def reshape(completion: dict[str, Any]) -> object:
        first_token = {**listed[0], "top_logprobs": listed}
        completion["choices"][0]["logprobs"] = {"content": [first_token], "refusal": None}
        return completion

    return Misbehavior("logprobs", reshape=reshape)


def test_a_word_and_what_it_cost() -> None:
    with ScriptedServer(Says(" Yes.")) as server:
        assert _asked(server) == [(Choice("yes", None), Usage(1, 0, 0, 4, 2))]
    (request,) = server.log.requests
    assert request.form == "text"
    assert request.prompt == "Does it say so?"


def test_the_share_of_the_first_word_among_the_words() -> None:
    # "Yes" and " yes" are one word; what is neither is left out: 0.6 / (0.6 + 0.2).
    script = always(_with_logprobs(**{"Yes": 0.4, " yes": 0.2, "no": 0.2, "Maybe": 0.1}))
    with ScriptedServer(Says("yes"), script=script) as server:
        ((choice, _),) = _asked(server)
    assert choice.word == "yes"
    assert choice.probability == pytest.approx(0.75)


def test_a_short_reply_that_reaches_its_limit_is_a_word_all_the_same() -> None:
    with ScriptedServer(
        Says("No, the text does not"), script=always(Misbehavior("cut", finish_reason="length"))
    ) as server:
        assert _asked(server)[0][0] == Choice("no")


@pytest.mark.parametrize("text", ["perhaps", "yes and no", "", "The text says yes"])
def test_anything_else_is_no_reply(text: str) -> None:
    with ScriptedServer(Says(text)) as server, pytest.raises(ReplyError) as caught:
        _asked(server)
    assert isinstance(caught.value.usage, Usage)
    assert caught.value.usage.calls == 1


def test_an_endpoint_without_probabilities_or_limits_is_asked_without_them_for_good() -> None:
    refusal = http_error(400, message=json.dumps({"error": {"message": "unknown: logprobs"}}))
    with ScriptedServer(Says("no"), script=first(2, refusal)) as server:
        assert [choice.word for choice, _ in _asked(server, times=3)] == ["no"] * 3
    assert server.log.calls == 2 + 3
    with (
        ScriptedServer(Says("no"), script=always(refusal)) as server,
        pytest.raises(JudgeError, match="HTTP 400"),
    ):
        _asked(server)


def test_a_langchain_model_is_asked_in_words() -> None:
    with ScriptedServer(Says("**No**")) as server:
        llm = LangChainLLM(chat_openai(server))
        assert isinstance(llm, WordLLM)
        assert run(llm.choose("Does it say so?", WORDS)) == (
            Choice("no"),
            Usage(1, 0, 0, 4, 2),
        )
    with ScriptedServer(Says("neither")) as server, pytest.raises(ReplyError):
        run(LangChainLLM(chat_openai(server)).choose("Does it say so?", WORDS))
