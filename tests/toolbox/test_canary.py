"""No key and no prompt in anything that a person or a file gets to see."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import LLMJudge, VerdictStore, score
from noisesense.errors import NoiseSenseError
from noisesense.judging.prompts import DEFAULT_PROMPTS
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense_adapters.langchain import LangChainLLM
from noisesense_adapters.openai import OpenAILLM
from noisesense_adapters.openai.client import ChatClient
from noisesense_adapters.toolbox import running as _ask
from support import misbehavior as bad
from support.faults import FAULTS, STRUCK, Fault, mind, pairs
from support.langchain_models import chat_openai, run
from support.server import ScriptedServer

KEY = "sk-canary-5f2e9c"
INSTRUCTIONS = (DEFAULT_PROMPTS.decompose[:30], DEFAULT_PROMPTS.verify[:30])
TEXT = f"{STRUCK} says claim 1."  # of the sample: may stand in reasons, not in errors

Make = Callable[[ScriptedServer], StructuredLLM]
BRIDGES: dict[str, Make] = {
    "openai": lambda server: OpenAILLM(
        "m", base_url=server.base_url, api_key=KEY, timeout=0.5, max_retries=0
    ),
    "promptfoo": lambda server: OpenAILLM(
        "m",
        client=ChatClient(base_url=server.base_url, api_key=KEY, timeout=0.5, max_retries=0),
    ),
    "langchain": lambda server: LangChainLLM(chat_openai(server, key=KEY, timeout=0.5)),
}

# An endpoint, a proxy or a model that repeats what it was sent.
_ECHO = json.dumps({"error": {"message": f"{KEY} {TEXT}", "code": KEY, "type": TEXT}})
ECHOES = tuple(
    Fault(f"echo {status}", bad.http_error(status, message=_ECHO), "failed", 6)
    for status in (400, 401, 403, 404, 422, 429, 500)
) + tuple(
    Fault(f"echo {text[:12]}", bad.says(text), "unusable", 6)
    for text in (
        f"{KEY} {TEXT}",
        json.dumps({TEXT: KEY}),
        json.dumps({"claims": {TEXT: KEY}}),
        json.dumps({"claims": [KEY, {TEXT: KEY}]}),
        f'{{"claims": ["{KEY}", "{TEXT}',
    )
)


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ask, "_first", None)


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.broad)])
@pytest.mark.parametrize("make", BRIDGES.values(), ids=BRIDGES.keys())
def test_nothing_leaks(
    make: Make,
    every: int,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    errors: list[BaseException] = []
    lasting = [fault for fault in FAULTS if fault.times is None]
    for i, fault in enumerate([*ECHOES, *lasting[::every]]):
        with (
            ScriptedServer(mind(), script=fault.script()) as server,
            VerdictStore(tmp_path / f"{i}.sqlite") as store,
        ):
            llm = make(server)
            judge = LLMJudge(llm, store=store)
            for result in _judge_all(judge):
                if isinstance(result, Judgement):
                    seen += [repr(result.usage), *_reasons(result)]
                else:
                    errors.append(result)
            seen += [repr(llm), repr(judge), repr(store), str(getattr(llm, "name", ""))]
            assert {request.key for request in server.log.requests} == {KEY}
    assert len(errors) >= len(ECHOES)
    for error in errors:
        shown = _everything_of(error)
        assert TEXT not in shown
        seen.append(shown)
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("noisesense")]
    printed = capfd.readouterr()
    kept = [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    for text in [*seen, *ours, *kept, printed.out, printed.err]:
        assert KEY not in text
        assert not any(words in text for words in INSTRUCTIONS)


def _judge_all(judge: LLMJudge) -> list[Judgement | BaseException]:
    async def main() -> list[Judgement | BaseException]:
        samples = [sample for sample, _ in pairs()]
        return await asyncio.gather(*map(judge.judge_detailed, samples), return_exceptions=True)

    return run(main())


def _reasons(judgement: Judgement) -> list[str]:
    found = score(judgement.verdicts)
    return [found.reason("relevant"), found.reason("irrelevant"), json.dumps(found.to_dict())]


def _everything_of(error: BaseException) -> str:
    """What is printed of an error, and what hangs on it and on the errors behind it."""
    parts = traceback.format_exception(error)
    link: BaseException | None = error
    while link is not None:
        assert isinstance(link, NoiseSenseError), f"{type(link).__name__} hangs on {error!r}"
        parts += [repr(link), repr(vars(link)), repr(link.args)]
        link = link.__cause__ or link.__context__
    return "\n".join(parts)
