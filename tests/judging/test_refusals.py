"""An answer that only declines claims nothing; one that denies something claims that.

`data/refusals.jsonl` has a question in each of 19 languages, answers that decline, and negative
answers, which often begin in the same words. The judge lists them all as claims.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import LLMJudge, Sample, Score, score
from support.exact import ExactModel
from support.scripted_llm import ScriptedLLM

DATA = Path(__file__).parent / "data" / "refusals.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
REFUSALS = [(row, text) for row in ROWS for text in row["refusals"]]
DENIALS = [(row, number) for row in ROWS for number in range(len(row["denials"]))]


def judged(row: dict[str, Any], listed: Sequence[str], reference: str, chunk: str) -> Score:
    """The score of an answer of these sentences, all of which the judge lists as claims."""
    response = " ".join(listed)
    says = {text: {text} for text in row["denials"]}
    lists = {response: listed, reference: [reference]}
    model = ExactModel(says, [row["question"], *row["refusals"]], lists)
    sample = Sample(
        user_input=row["question"],
        response=response,
        reference=reference,
        retrieved_contexts=[chunk],
    )
    return score(asyncio.run(LLMJudge(ScriptedLLM(model.answer)).judge(sample)))


@pytest.mark.parametrize(("row", "refusal"), REFUSALS, ids=[text for _, text in REFUSALS])
def test_an_answer_that_declines_claims_nothing(row: dict[str, Any], refusal: str) -> None:
    reference, chunk, *_ = row["denials"]
    found = judged(row, [refusal], reference, chunk)
    assert found.status("relevant") == "undefined"
    assert found.status("irrelevant") == "undefined"


@pytest.mark.parametrize(("row", "number"), DENIALS)
def test_a_negative_answer_that_a_chunk_says_is_noise(row: dict[str, Any], number: int) -> None:
    """All of one claim, half of two; and a refusal before it changes nothing."""
    denial = row["denials"][number]
    reference = row["denials"][number - 1]
    chunk = f"{reference} {denial}"
    assert judged(row, [denial], reference, chunk).relevant == 1.0
    assert judged(row, [denial, reference], reference, chunk).relevant == 0.5
    assert judged(row, [row["refusals"][1], denial], reference, chunk).relevant == 1.0
