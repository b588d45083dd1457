"""A judge's model that draws its verdicts: its variance is seen only where it is asked again."""

from __future__ import annotations

import json
import random
from typing import Any

from noisesense import Sample
from support.mind import data_of, reply_of

CLAIMS = 12
CALLS = 3 + 2
"""Of one judging: two lists of claims, one check against the reference, one for each chunk."""

SAMPLE = Sample.model_validate(
    {
        "user_input": "What is known of it?",
        "response": "All that is said of it.",
        "reference": "All that is known of it.",
        "retrieved_contexts": ["A passage on it.", "Another passage on it."],
    }
)


class DrawingMind:
    """Always the same claims, of which the first is incorrect; every other verdict is drawn."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            response = data["text"] == SAMPLE.response
            name, count = ("Said", CLAIMS) if response else ("Known", 3)
            return json.dumps({"claims": [f"{name} {i}." for i in range(count)]})
        return reply_of(self._items(data["premise"], data["claims"]))

    def _items(self, premise: str, claims: dict[str, str]) -> list[dict[str, Any]]:
        return [
            {"id": int(i), "entailed": self._draw(premise, text)} for i, text in claims.items()
        ]

    def _draw(self, premise: str, claim: str) -> bool:
        known = premise == SAMPLE.reference and claim == "Said 0."
        return not known and self._random.random() < 0.5
