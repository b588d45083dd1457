"""What each bridge sends for one model: the same number everywhere needs the same request."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense.judging.prompts import DEFAULT_PROMPTS, claims_form
from noisesense_adapters.models.replies import json_form, spelled_out
from support.chat import prompt_of
from support.host_bridges import BRIDGES, TEMPERATURE
from support.langchain_models import run
from support.server import ScriptedServer

TEXT = "The bell of Arle was cast in 1480."
PROMPT = DEFAULT_PROMPTS.decomposition(TEXT)
FORM = claims_form(TEXT)


class NoClaims:
    def answer(self, prompt: str) -> str:
        return '{"claims": []}'


# Does it ask for a form, the limit in tokens of the reply, what its host adds.
REQUESTS: dict[str, tuple[bool, int | None, dict[str, Any]]] = {
    "openai": (True, 512, {}),
    "ragas": (True, 512, {"top_p": 0.1}),
    "langchain": (True, None, {}),
    "deepeval": (True, None, {}),
    "deepeval, local": (False, None, {}),
    "pydantic-ai": (True, None, {}),
}


@pytest.mark.parametrize("name", BRIDGES)
def test_each_bridge_sends_prompt_form_temperature_limit_and_no_more(name: str) -> None:
    form, limit, added = REQUESTS[name]

    async def ask(server: ScriptedServer) -> None:
        async with BRIDGES[name](server) as llm:
            await llm.generate(PROMPT, FORM)

    with ScriptedServer(NoClaims()) as server:
        run(ask(server))
    (request,) = server.log.requests
    body = dict(request.body)
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert prompt_of(body) == (PROMPT if form else spelled_out(PROMPT, FORM))
    for own in ("messages", "model"):
        del body[own]
    for usual in ("stream", "n"):
        body.pop(usual, None)
    said = body.pop("response_format", None)
    if form:
        said["json_schema"]["schema"].pop("title", None)
        said["json_schema"]["schema"]["properties"]["claims"].pop("title", None)
        said["json_schema"].pop("description", None)
        expected = {"name": "Claims", "schema": json_form(FORM), "strict": True}
        assert said == {"type": "json_schema", "json_schema": expected}
    limits = {} if limit is None else {"max_tokens": limit}
    assert body == {"temperature": TEMPERATURE, **limits, **added}
