"""A judge's model that draws its verdicts: its variance is seen only where it is asked again."""

from __future__ import annotations

import json
import random
from typing import Any

from noisesense import Sample
from support.mind import data_of, reply_of

CLAIMS = 12
CALLS = 3 + 2 + 1
"""Of one judging: two lists of claims, one check against the reference, one for each chunk, and
whether what nothing supports gives information on the question."""

_SAID = [f"Said {i}." for i in range(CLAIMS)]
_KNOWN = [f"Known {i}." for i in range(3)]

SAMPLE = Sample.model_validate(
    {
        "user_input": "What is known of it?",
        "response": " ".join(_SAID),
        "reference": " ".join(_KNOWN),
        "retrieved_contexts": ["A passage on it.", "Another passage on it."],
    }
)


class DrawingMind:
    """Always the same claims; the verdicts on them are drawn.

    But nothing supports the first claim of the response, so that each judging takes all calls.
    """

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            claims = _SAID if data["text"] == SAMPLE.response else _KNOWN
            return json.dumps({"claims": claims})
        return reply_of(self._items(data, data["claims"]))

    def _items(self, data: dict[str, Any], claims: dict[str, str]) -> list[dict[str, Any]]:
        on_question = "asked" in data
        return [
            {"id": int(i), "entailed": on_question or self._draw(text)}
            for i, text in claims.items()
        ]

    def _draw(self, claim: str) -> bool:
        return claim != _SAID[0] and self._random.random() < 0.5
