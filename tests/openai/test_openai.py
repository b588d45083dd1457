"""`OpenAILLM` through the real openai client: forms, loops, threads, keys, settings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError, MissingExtraError, ReplyError
from noisesense.judging.protocol import Usage
from noisesense_adapters.openai import OpenAILLM
from support import misbehavior as bad
from support.server import ScriptedServer


class Answer(BaseModel):
    text: str


class Yes:
    def answer(self, prompt: str) -> str:
        return '{"text": "yes"}'


def _llm(server: ScriptedServer) -> OpenAILLM:
    return OpenAILLM("m", base_url=server.base_url, api_key="k-1", max_retries=0)


def _ask(llm: OpenAILLM, times: int = 1) -> list[tuple[Answer, Usage]]:
    async def main() -> list[tuple[Answer, Usage]]:
        return list(await asyncio.gather(*(llm.generate("Well?", Answer) for _ in range(times))))

    return asyncio.run(main())


def test_a_reply_with_its_usage() -> None:
    with ScriptedServer(Yes(), api_key="k-1") as server:
        llm = OpenAILLM(
            "m", base_url=server.base_url, api_key="k-1", params={"temperature": 0, "user": "u"}
        )
        # 5 and 15 characters, four a token.
        assert _ask(llm) == [(Answer(text="yes"), Usage(calls=1, input_tokens=2, output_tokens=4))]
    (request,) = server.log.requests
    assert (request.model, request.form, request.prompt) == ("m", "json_schema", "Well?")
    assert llm.name == f"m at 127.0.0.1:{server.port}/v1"
    assert OpenAILLM("m").name == "m"
    assert OpenAILLM("m", base_url="https://user:secret@host/v1/?q=secret").name == "m at host/v1"


@pytest.mark.parametrize(
    ("forms", "asked"),
    [
        (("json_schema", "json_object", "text"), ["json_schema"]),
        (("json_object", "text"), ["json_schema", "json_object"]),
        (("text",), ["json_schema", "json_object", "text"]),
        ((), ["json_schema", "json_object", "text"]),
    ],
)
def test_a_refused_form_is_left_for_good(forms: tuple[str, ...], asked: list[str]) -> None:
    with ScriptedServer(Yes(), forms=forms) as server:
        llm = _llm(server)
        if not forms:
            with pytest.raises(JudgeError, match="HTTP 400"):
                _ask(llm)
            return
        assert _ask(llm)[0][0] == Answer(text="yes")
        assert [r.form for r in server.log.requests] == asked
        _ask(llm, times=3)
        assert [r.form for r in server.log.requests[len(asked) :]] == [asked[-1]] * 3
    spelled_out = 'Its keys are "text".' in server.log.prompts[-1]
    assert spelled_out is (asked[-1] != "json_schema")


@pytest.mark.parametrize("given", [None, openai.AsyncOpenAI, openai.OpenAI])
def test_any_loop_and_any_thread(given: type[openai.AsyncOpenAI | openai.OpenAI] | None) -> None:
    with ScriptedServer(Yes(), latency=0.01) as server:
        client = given(base_url=server.base_url, api_key="k", max_retries=0) if given else None
        llm = OpenAILLM("m", client=client) if client else _llm(server)
        answers = [answer for _ in range(3) for answer in _ask(llm, times=5)]
        threads = [threading.Thread(target=lambda: answers.extend(_ask(llm, 5))) for _ in "1234"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answer.text for answer, _ in answers] == ["yes"] * 35
        if isinstance(client, openai.OpenAI):
            client.close()
    assert server.log.calls == 35


def test_the_client_honours_retry_after() -> None:
    script = bad.first(1, bad.http_error(429, retry_after="1.5"))
    with ScriptedServer(Yes(), script=script) as server:
        llm = OpenAILLM("m", base_url=server.base_url, api_key="k-1", max_retries=1)
        assert _ask(llm)[0][0] == Answer(text="yes")
    refused, taken = server.log.requests
    assert taken.started - refused.started >= 1.5


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(JudgeError, match="OPENAI_API_KEY"):
        _ask(OpenAILLM("m"))
    with ScriptedServer(Yes(), api_key="right") as server:
        with pytest.raises(JudgeError, match=r"HTTP 401, invalid_api_key.*check the API key"):
            _ask(OpenAILLM("m", base_url=server.base_url, api_key="wrong"))
        assert server.log.calls == 1
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert _ask(OpenAILLM("m", base_url=server.base_url))[0][0] == Answer(text="yes")


def test_unreachable_and_unknown_endpoints() -> None:
    with ScriptedServer(Yes()) as server:
        base_url = server.base_url
        with pytest.raises(JudgeError, match=r"HTTP 404.*check the model's name and the base URL"):
            _ask(OpenAILLM("m", base_url=base_url + "/v2", api_key="k-1"))
    with pytest.raises(JudgeError, match="cannot be reached"):
        _ask(OpenAILLM("m", base_url=base_url, api_key="k-1", max_retries=0))


def test_a_reply_that_is_no_completion() -> None:
    for fault in (bad.NOT_A_COMPLETION, bad.Misbehavior("other", body='{"object": "list"}')):
        with (
            ScriptedServer(Yes(), script=bad.always(fault)) as server,
            pytest.raises(
                ReplyError, match=r"the reply is not (JSON|a chat completion)"
            ) as caught,
        ):
            _ask(_llm(server))
        assert caught.value.usage == Usage(calls=1)


def test_groqs_complaint_about_the_reply_is_no_refusal_of_the_form() -> None:
    body = '{"error": {"message": "Failed to generate JSON", "code": "json_validate_failed"}}'
    fault = bad.http_error(400, message=body)
    with ScriptedServer(Yes(), script=bad.always(fault)) as server:
        with pytest.raises(ReplyError):
            _ask(_llm(server))
        assert server.log.calls == 1


@pytest.mark.parametrize(("model", "got"), [(" ", "an empty text"), (None, "NoneType")])
def test_no_name_is_refused(model: Any, got: str) -> None:
    with pytest.raises(InputError, match=f"model: expected a model's name, got {got}"):
        OpenAILLM(model)


@pytest.mark.parametrize(
    ("given", "environment", "seconds"),
    [
        ({}, "", 60),
        ({"base_url": "http://127.0.0.1:11434/v1"}, "", 600),
        ({}, "http://192.168.0.7/v1", 600),
        ({"base_url": "http://127.0.0.1:11434/v1", "timeout": 5}, "", 5),
    ],
)
def test_a_server_of_ones_own_has_more_time(
    given: dict[str, Any], environment: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float] = []

    def made(**settings: Any) -> None:
        seen.append(settings["timeout"])
        raise openai.OpenAIError

    monkeypatch.setenv("OPENAI_BASE_URL", environment)
    monkeypatch.setattr(openai, "AsyncOpenAI", made)
    with pytest.raises(JudgeError):
        _ask(OpenAILLM("m", api_key="k-1", **given))
    assert seen == [seconds]


def test_it_is_shown_by_its_name() -> None:
    llm = OpenAILLM("m", base_url="http://user:secret@127.0.0.1:9/v1", api_key="k-1")
    assert repr(llm) == "OpenAILLM('m at 127.0.0.1:9/v1')"


def test_a_client_and_settings_for_another_are_refused() -> None:
    client = openai.OpenAI(api_key="k-1")
    with pytest.raises(InputError, match="either a client or"):
        OpenAILLM("m", client=client, timeout=1)
    client.close()


def test_without_the_client_library_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'noisesense\[openai\]'"):
        _ask(OpenAILLM("m", api_key="k-1"))


def test_importing_the_bridge_imports_no_client() -> None:
    check = "import sys, noisesense_adapters.openai; assert 'openai' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_an_address_without_a_scheme_is_named() -> None:
    with pytest.raises(
        InputError, match=r"base_url: expected an address that begins with http://"
    ):
        OpenAILLM("m", base_url="localhost:8000/v1", api_key="k")
