"""Texts judged by a model: who is asked, with which key, and what is said when it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.promptfoo import get_assert
from support.mind import Mind
from support.misbehavior import INVALID_JSON, always
from support.server import ScriptedServer

EXAMPLE = reference_examples()[0]
CANARY = "sk-canary-71c2"
GIVEN = {
    "query": EXAMPLE.sample.user_input,
    "reference": EXAMPLE.sample.reference,
    "contextChunks": [chunk.text for chunk in EXAMPLE.sample.retrieved_contexts],
}


@pytest.fixture(autouse=True)
def _no_judge_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUDGE_KEY", CANARY)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Mind([(EXAMPLE.sample, EXAMPLE.verdicts)])) as running:
        yield running


def assess(judge: Any = None, *, test: Any = None, **config: Any) -> dict[str, Any]:
    settings = {**config, **({} if judge is None else {"judge": judge})}
    context = {"vars": GIVEN, "config": settings, "test": test or {}}
    result = get_assert(EXAMPLE.sample.response, context)
    assert CANARY not in repr(result)
    return result


def _judge(server: ScriptedServer, **settings: Any) -> dict[str, Any]:
    return {
        "model": "scripted", "baseUrl": server.base_url, "apiKeyEnv": "JUDGE_KEY", **settings
    }  # fmt: skip


def test_two_assertions_in_one_process_judge_once_to_the_documented_figure(
    server: ScriptedServer,
) -> None:
    first, second = (assess(_judge(server), mode=mode) for mode in MODES)
    assert server.log.calls == 4  # one chunk: C + 3
    assert {ask.key for ask in server.log.requests} == {CANARY}
    for result, calls in ((first, 4), (second, 0)):
        assert list(result["namedScores"].values()) == [0.5, 0.0]
        judged = {"calls": calls, "cachedCalls": 0, "reasks": 0, "unanswered": 0}
        assert result["metadata"]["judge"] == judged
        tokens = result["tokensUsed"]
        assert tokens["numRequests"] == calls
        assert tokens["total"] == tokens["prompt"] + tokens["completion"]
        assert (tokens["total"] > 0) is (calls > 0)


def test_settings_are_accepted_the_prefix_dropped_the_temperature_sent(
    server: ScriptedServer,
) -> None:
    for settings in (
        {"model": "openai:chat:scripted", "timeout": 7, "temperature": 0},
        {"check": "list", "plan": "full", "maxConcurrency": 1, "maxReasks": 0, "textChars": 99},
    ):
        assert assess(_judge(server, **settings))["score"] == 0.5
        asked = server.log.requests[-1]
        assert asked.model == "scripted"
        assert asked.body.get("temperature") == settings.get("temperature")


def test_config_before_options_before_environment(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    grader = {
        "id": "openai:chat:of-options",
        "config": {"apiKey": "of-options", "apiBaseUrl": server.base_url},
    }
    options = {"options": {"provider": grader}}

    assess(_judge(server), test=options)
    assess(test=options)
    assess(test={"options": {"provider": {"text": {"id": "openai:chat:of-text"}}}})
    assess()
    assess("openai:chat:named")
    seen = dict.fromkeys((ask.model, ask.key) for ask in server.log.requests)
    assert list(seen) == [
        ("scripted", CANARY),
        ("of-options", "of-options"),
        ("of-text", "of-the-environment"),
        ("gpt-4.1-mini", "of-the-environment"),
        ("named", "of-the-environment"),
    ]


BAD_JUDGES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "another kind": ("openai:embedding:small", ("config.judge", "openai:chat:MODEL")),
    "another provider": ("anthropic:messages:x", ("config.judge", "openai:chat:MODEL", "baseUrl")),
    "an unknown setting": ({"modle": "a"}, ("config.judge", "'modle'", "only known fields")),
    "a key": ({"apiKey": CANARY}, ("config.judge", "apiKeyEnv", "no key belongs there")),
    "a key where its name belongs": ({"apiKeyEnv": CANARY}, ("apiKeyEnv", "not set", "export it")),
    "a host that is none": ({"baseUrl": "http://[::1"}, ("config.judge, its baseUrl", "a host")),
    "a negative timeout": (
        {"timeout": -1},
        ("config.judge, timeout", "a number of 0 or more, got -1"),
    ),
    "no votes": ({"votes": 0}, ("config.judge, votes", "expected a number of 1 or more, got 0")),
    "a text as a number": ({"temperature": "0"}, ("temperature: expected a valid number, got",)),
    "an unknown plan": ({"plan": "eager"}, ("config.judge, plan", "'lazy'", "'eager'")),
    "an unusable store": ({"store": "/"}, ("config.judge", "/")),
}


@pytest.mark.parametrize("case", BAD_JUDGES)
def test_bad_settings_are_named_and_no_key_is_repeated(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    judge, names = BAD_JUDGES[case]
    result = assess(judge)

    assert result["metadata"] == {"status": "error"}
    assert [name for name in names if name not in result["reason"]] == []


@pytest.mark.parametrize("grader", ["anthropic:claude", {"id": "file://g.py"}, {"config": {}}, 3])
def test_another_grader_cannot_be_asked_from_python(
    monkeypatch: pytest.MonkeyPatch, grader: Any
) -> None:
    """Not even if a key lies in the environment: another model than was chosen would judge."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    reason = assess(test={"options": {"provider": grader}})["reason"]

    assert "test.options.provider: expected openai:chat:MODEL" in reason
    assert "config.judge" in reason


def test_garbage_is_undetermined_and_tells_its_cost(server: ScriptedServer) -> None:
    server.script = always(INVALID_JSON)
    result = assess(_judge(server))
    assert result["pass"] is False
    assert result["metadata"] == {"status": "undetermined"}
    assert result["tokensUsed"]["numRequests"] > 0
