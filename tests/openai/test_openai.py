"""`OpenAILLM` through the real openai client: forms, words, loops, threads, keys, settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.prompts import Answer as OneAnswer
from noisesense.judging.protocol import Usage
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from support import misbehavior as bad
from support.says import Answer, Says
from support.server import ScriptedServer


def _llm(server: ScriptedServer, **settings: Any) -> OpenAILLM:
    return OpenAILLM(
        "m", **{"base_url": server.base_url, "api_key": "k-1", "max_retries": 0, **settings}
    )


def _asked(work: Callable[[], Awaitable[Any]], times: int = 1) -> list[Any]:
    async def main() -> list[Any]:
        return list(await asyncio.gather(*(work() for _ in range(times))))

    return asyncio.run(main())


def _ask(llm: OpenAILLM, times: int = 1) -> list[tuple[Answer, Usage]]:
    return _asked(lambda: llm.generate("Well?", Answer), times)


def test_a_reply_has_its_usage_and_the_name_its_endpoint_no_secret() -> None:
    with ScriptedServer(Says(), api_key="k-1") as server:
        llm = _llm(server, params={"temperature": 0, "user": "u"})
        # 5 and 15 characters, four a token.
        assert _ask(llm) == [(Answer(text="yes"), Usage(calls=1, input_tokens=2, output_tokens=4))]
    (request,) = server.log.requests
    assert request.model == "m"
    assert request.form == "json_schema"
    assert request.prompt == "Well?"
    assert llm.name == f"m at 127.0.0.1:{server.port}/v1"
    assert OpenAILLM("m").name == "m"
    secret = OpenAILLM("m", base_url="https://user:secret@host/v1/?q=secret")
    assert repr(secret) == "OpenAILLM('m at host/v1')"


@pytest.mark.parametrize(
    ("forms", "asked"),
    [
        (("json_schema", "text"), ["json_schema"]),
        (("text",), ["json_schema", "text"]),
    ],
)
def test_a_refused_form_is_left_for_good(forms: tuple[str, ...], asked: list[str]) -> None:
    with ScriptedServer(Says(), forms=forms) as server:
        llm = _llm(server)
        assert _ask(llm)[0][0] == Answer(text="yes")
        _ask(llm, times=3)
        assert [r.form for r in server.log.requests] == [*asked, *[asked[-1]] * 3]
    spelled_out = 'Its keys are "text".' in server.log.prompts[-1]
    assert spelled_out is (asked[-1] != "json_schema")


def test_a_missing_key_a_wrong_key_and_a_wrong_address_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        _ask(OpenAILLM("m"))
    with ScriptedServer(Says(), api_key="right") as server:
        with pytest.raises(JudgeError, match=r"HTTP 401, invalid_api_key.*check the API key"):
            _ask(_llm(server, api_key="wrong"))
        with pytest.raises(JudgeError, match=r"HTTP 404.*check the model's name and the base URL"):
            _ask(_llm(server, base_url=f"{server.base_url}/v2"))
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert _ask(_llm(server, api_key=None))[0][0] == Answer(text="yes")


def test_a_reply_that_is_no_completion_is_an_error_after_one_call() -> None:
    groq = '{"error": {"message": "Failed to generate JSON", "code": "json_validate_failed"}}'
    for fault in (
        bad.NOT_A_COMPLETION,
        bad.Misbehavior("other", body='{"object": "list"}'),
        bad.http_error(400, message=groq),  # about the reply: no refusal of the form
    ):
        with ScriptedServer(Says(), script=bad.always(fault)) as server:
            with pytest.raises(ReplyError) as caught:
                _ask(_llm(server))
            assert caught.value.usage == Usage(calls=1)
            assert server.log.calls == 1


class Thinks(ChatClient):
    """Reaches a small limit while it thinks, a large one while it replies."""

    async def create(self, **request: Any) -> object:
        self.limit: int = request["max_completion_tokens"]
        message = SimpleNamespace(content="<think>Is it"[self.limit > 99 :])
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="length")])


def test_a_model_that_thinks_first_has_room_for_it_from_then_on() -> None:
    client = Thinks(api_key="k")
    llm = OpenAILLM("m", client=client)
    for most in (64, 8_064, 8_064):
        with pytest.raises(ReplyError, match="cut short"):
            _asked(lambda: llm.generate("Well?", OneAnswer))
        assert client.limit == most
