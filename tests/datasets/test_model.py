"""A judge from the name of a model, and which endpoints need no key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, JudgeError
from noisesense_adapters.datasets.model import model_judge, structured_llm
from noisesense_adapters.datasets.score import score_dataset
from noisesense_adapters.toolbox.judges import is_local, patience
from support.mind import Mind
from support.scripted_judge import PAIRS, texts
from support.scripted_llm import ScriptedLLM
from support.server import ScriptedServer


def test_a_local_endpoint_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="not installed")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(Mind(PAIRS[:1])) as server:
        judge = model_judge("openai:scripted", base_url=server.base_url)
        assert score_dataset(texts(tmp_path, PAIRS[:1]), judge=judge).scored == 1


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        ("openai:m", {"device": "cpu"}, InputError, "device with a local judge .* only"),
        ("openai:m", {"claims": "openai:m"}, InputError, "claims with a local judge"),
        ("local:m", {"base_url": "http://x"}, InputError, "base_url with a model that is asked"),
        ("local:m", {"votes": 3}, InputError, "votes with a model that is asked only, got 3"),
        ("openai:m", {"api_key_env": "NOT_SET_HERE"}, JudgeError, "is not set"),
        ("gpt-4", {}, InputError, "judge: expected provider:model, got 'gpt-4'"),
    ],
)
def test_options_of_another_kind_of_judge(
    model: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        model_judge(model, **options)
    assert "NOT_SET_HERE" not in str(raised.value)  # somebody may have put the key itself there


def test_a_model_of_the_users_own_is_taken_as_it_is() -> None:
    llm = ScriptedLLM(Mind(PAIRS[:1]).answer)
    assert structured_llm(llm) is llm


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://[::1]/v1", True),
        ("http://192.168.0.7/v1", True),
        ("http://host.docker.internal/v1", True),
        ("https://localhost.example.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_which_endpoint_is_local(url: str, local: bool) -> None:
    assert is_local(url) is local
    assert patience(url) == (600 if local else 60)
