"""A judge from the name of a model, and which endpoints need no key."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import InputError, JudgeError
from noisesense_adapters.datasets.score import score_dataset
from noisesense_adapters.factory import model_judge
from noisesense_adapters.models.identity import patience
from support.mind import Mind
from support.scripted_judge import PAIRS, texts
from support.server import ScriptedServer


def test_a_local_endpoint_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="not installed")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(Mind(PAIRS[:1])) as server:
        judge = model_judge("openai:scripted", base_url=server.base_url)
        assert score_dataset(texts(tmp_path, PAIRS[:1]), judge=judge).scored == 1


def test_a_key_that_is_not_set_is_told_without_the_name_of_its_variable() -> None:
    """Somebody may have put the key itself there."""
    with pytest.raises(JudgeError, match="is not set") as raised:
        model_judge("openai:m", api_key_env="NOT_SET_HERE")
    assert "NOT_SET_HERE" not in str(raised.value)


def test_an_unknown_provider_is_told_with_those_that_there_are() -> None:
    pytest.importorskip("langchain", reason="not installed")
    with pytest.raises(InputError, match=r"got 'antropic'\. Hint: Supported .*: anthropic, "):
        model_judge("antropic:claude")
    with pytest.raises(InputError, match=r"got 'openia'\. Hint: did you mean openai"):
        model_judge("openia:gpt")


def test_a_local_endpoint_is_waited_for_ten_minutes_any_other_for_one() -> None:
    for host in (
        "localhost:11434",
        "[::1]",
        "192.168.0.7",
        "docker.internal",
        "nas.local",
        "a.localhost",
    ):
        assert patience(f"http://{host}/v1") == 600, host
    for address in ("https://localhost.example.com/v1", "https://8.8.8.8/v1", "http://[", ""):
        assert patience(address) == 60, address
