"""What lists of claims in other words cost, beside lists that copy their texts.

    python tests/benchmarks/reworded_lists.py

`data/ordinary.jsonl` holds questions with a response, a reference and five chunks, in English and
other languages, and of both texts a list of claims by hand, in the words that people reword them
with. The judge's model makes no mistake: it lists either the sentences or those claims, and knows
which facts each of them, and each chunk, says. "Beside copies" leaves the question about what is
beside the question out, which depends on how many facts a claim says.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ground import show

from noisesense import LLMJudge, Sample
from support.exact import ExactModel
from support.mind import data_of
from support.scripted_llm import ScriptedLLM

DATA = Path(__file__).parent / "data"
WITHOUT_SPACES = ("zh", "ja")
LISTS = {
    "copies": {"response": "response", "reference": "reference"},
    "in other words": {"response": "claims", "reference": "reference_claims"},
}
"""Where the list of each text stands in a row."""
HEAD = ("lists", "samples", "calls", "strays", "left out", "beside the question", "beside copies")

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def text_of(row: Row, name: str) -> str:
    gap = "" if row["language"] in WITHOUT_SPACES else " "
    return gap.join(sentence for sentence, _ in row[name])


def prompts_of(row: Row, lists: dict[str, str]) -> list[str]:
    """What the judge asks a model that lists the claims so."""
    chunks = [f"chunk {number}" for number in range(len(row["chunks"]))]
    says = dict(zip(chunks, row["chunks"], strict=True))
    for name in ("response", "claims", "reference", "reference_claims"):
        says |= dict(row[name])
    listed: dict[str, list[str]] = {}
    for name, place in lists.items():
        listed[text_of(row, name)] = [claim for claim, _ in row[place]]
    llm = ScriptedLLM(ExactModel(says, chunks, listed).answer)
    sample = Sample(
        user_input=row["question"],
        response=text_of(row, "response"),
        reference=text_of(row, "reference"),
        retrieved_contexts=chunks,
    )
    asyncio.run(LLMJudge(llm).judge(sample))
    return llm.prompts


def kinds(row: Row, prompts: Sequence[str]) -> Counter[str]:
    """How many calls the row takes, and of each kind that the judge adds where it asks again."""
    texts = (text_of(row, "response"), text_of(row, "reference"))
    found = Counter({"calls": len(prompts), "strays": -1})  # one check is of what is correct
    for data in map(data_of, prompts):
        if "listed" in data:
            found["left out"] += 1
        elif "asked" in data:
            found["beside the question"] += 1
        elif data.get("premise") in texts:
            found["strays"] += 1
    return found


def counts(given: Sequence[Row], lists: dict[str, str]) -> Counter[str]:
    total = Counter[str]()
    for row in given:
        total.update(kinds(row, prompts_of(row, lists)))
    return total


def main() -> None:
    given = rows("ordinary.jsonl")
    english = [row for row in given if row["language"] == "en"]
    others = [row for row in given if row["language"] != "en"]
    table: list[list[str]] = []
    for language, group in (("English", english), ("others", others), ("all", given)):
        copied = counts(group, LISTS["copies"])
        for name, lists in LISTS.items():
            found = counts(group, lists)
            figures = [str(found[kind]) for kind in HEAD[2:-1]]
            beside = "beside the question"
            share = (found["calls"] - found[beside]) / (copied["calls"] - copied[beside])
            table.append([f"{language}, {name}", str(len(group)), *figures, f"{share:.2f}"])
    show(HEAD, table, right=range(1, len(HEAD)))


if __name__ == "__main__":
    main()
