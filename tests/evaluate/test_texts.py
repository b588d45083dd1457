"""The answer out of what holds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisesense_adapters.reading.texts import text_of

PARTS = [{"type": "text", "text": "A is 1. "}, {"type": "text", "text": "B is 2."}]
CALL = {"type": "tool_use", "id": "t", "name": "search", "input": {}}
ANSWERS: dict[str, tuple[Any, str]] = {
    "Anthropic's content": ({"role": "assistant", "content": PARTS}, "A is 1. B is 2."),
    "a text and a call": ({"content": [PARTS[0], CALL]}, "A is 1. "),
    "the last of the messages": (
        {"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": PARTS}]},
        "A is 1. B is 2.",
    ),
    "OpenAI's responses": (
        {"output": [{"type": "message", "role": "assistant", "content": PARTS}]},
        "A is 1. B is 2.",
    ),
    "Haystack's reply": ({"replies": ["the only"]}, "the only"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_all_parts_of_a_message_are_the_answer(name: str) -> None:
    """Of two parts the first was lost, and with it its claims."""
    value, text = ANSWERS[name]
    assert text_of(value, "response") == text


def test_arrays_and_numbers_of_numpy_are_references() -> None:
    assert text_of(np.array(["A.", "B."]), "reference") == "A.\nor: B."
    assert text_of(np.array([4, 5]), "reference") == "4\nor: 5"
    assert [text_of(np.int64(5), "reference"), text_of(np.float32(2.5), "reference")] == [
        "5",
        "2.5",
    ]
