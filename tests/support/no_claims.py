"""Lists of claims that are none, as judges were seen to give them, and short references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from noisesense import Sample
from noisesense.judging.prompts import DEFAULT_PROMPTS
from support.mind import data_of

ASKED = "When does the Rosk ferry sail, and what does it carry?"
RESPONSE = "The Rosk ferry sails at noon. It carries bicycles, and it is painted red."
CHUNK = "The Rosk ferry sails at noon, is painted red and carries bicycles."

TEXTS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "no_claims.json").read_text("utf-8")
)


BY_FORM: list[list[str]] = [
    *TEXTS["lists"]["refused by their form"],
    [f"The Rosk ferry carries {n} bicycles." for n in range(60)],
]
"""Refused as they are."""

LISTS: list[list[str]] = [*BY_FORM, *TEXTS["lists"]["dropped when asked about"]]
"""None of them has a claim of the response."""

REFUSALS: list[str] = TEXTS["refusals"]
"""Answers that claim nothing."""


def sample_of(number: int, response: str = RESPONSE) -> Sample:
    """One of many samples with the same texts but for a number."""
    return Sample(
        user_input=f"{ASKED} ({number})",
        response=response,
        reference="The Rosk ferry sails at nine.",
        retrieved_contexts=[CHUNK],
    )


class ListMind:
    """Gives each response the list of its number.

    The chunk says what the ferry does, and nothing that is listed says it or is on the question.
    """

    def __init__(self, lists: list[list[str]]) -> None:
        self.lists = lists

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" not in data:
            return json.dumps(dict.fromkeys(data["claims"], "no"))
        if data["text"].startswith("The Rosk ferry sails at nine."):
            return json.dumps({"claims": ["The Rosk ferry sails at nine."]})
        number = int(data["question"].rpartition("(")[2].rstrip(")"))
        return json.dumps({"claims": self.lists[number]}, ensure_ascii=False)


class Terse(NamedTuple):
    """A short right answer beside a short reference, and what both say with their question."""

    question: str
    answer: str
    reference: str
    claim: str


TERSE = tuple(Terse(**row) for row in TEXTS["terse"])


class LiteralReader:
    """Reads what a prompt says and no more: a short answer says nothing without its question."""

    def __init__(self, terse: Terse, chunk: str) -> None:
        self.terse = terse
        self.chunk = chunk

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        asked = f"Question: {json.dumps(self.terse.question, ensure_ascii=False)}" in prompt
        if "text" in data:
            claim = self.terse.claim if asked else data["text"]
            return json.dumps({"claims": [claim]}, ensure_ascii=False)
        if "premise" not in data:  # the claims say all, and it is on the question
            says = list(data["claims"].values())
        elif data["premise"] == self.chunk:
            says = [self.terse.claim]
        elif DEFAULT_PROMPTS.as_answer in prompt and asked:
            says = [self.terse.claim, data["premise"]]
        else:
            says = [data["premise"]]
        answers = {n: "yes" if c in says else "no" for n, c in data["claims"].items()}
        return json.dumps({"answer": answers["1"]} if "one" in data else answers)
