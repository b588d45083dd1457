"""What an output that is an object may hold."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert

CLEAN: dict[str, Any] = {
    "response_claims": [{"text": "a", "correct": True, "entailed_by": []}],
    "reference_claims": [],
}
NOISY: dict[str, Any] = {
    "response_claims": [{"text": "a", "correct": False, "entailed_by": [0]}],
    "reference_claims": [],
}
VARS = {"query": "q", "reference": "r", "contextChunks": [{"text": "c", "relevant": True}]}


def test_an_output_that_is_an_object_is_trusted() -> None:
    """Its verdicts count, where nobody else gives any: whoever writes it grades it."""
    output = {"answer": "a", "verdicts": CLEAN}
    assert get_assert(output, {"vars": VARS})["pass"] is True


@pytest.mark.parametrize("place", ["config", "vars"])
def test_verdicts_of_the_test_win_over_the_outputs(place: str) -> None:
    output = {"answer": "a", "verdicts": CLEAN}
    context: dict[str, Any] = {"vars": dict(VARS), "config": {}}
    context[place]["verdicts"] = NOISY
    result = get_assert(output, context)
    assert result["pass"] is False
    assert result["namedScores"]["noise_sensitivity_relevant"] == 1.0


def test_a_judge_in_the_config_is_asked_whatever_the_output_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    context = {"vars": VARS, "config": {"judge": {"model": "openai:gpt-4.1-mini"}}}
    result = get_assert({"answer": "a", "verdicts": CLEAN}, context)
    assert result["metadata"]["status"] == "error"  # it has no key


def test_a_text_grades_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However it looks: this is what ``options.transform`` makes of an object."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    output = '{"answer": "a", "verdicts": {"response_claims": []}}'
    result = get_assert(output, {"vars": VARS})
    assert result["pass"] is False
    assert result["metadata"]["status"] == "error"  # nobody to ask
