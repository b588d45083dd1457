"""What is read of a reply: item by item, and nothing guessed."""

from __future__ import annotations

import asyncio

import pytest

from noisesense import LLMJudge
from support.scripted_llm import ScriptedLLM

T = True
F = False
N = None
CASES: dict[str, tuple[str, list[bool | None]]] = {
    # a reply on three statements, and what is read of it
    "as asked": ('{"1": "yes", "2": "no", "3": "yes"}', [T, F, T]),
    "in another order": ('{"3": "yes", "2": "no", "1": "no"}', [F, F, T]),
    "in other words": ('{"1": "Yes.", "2": false, "3": "TRUE"}', [T, F, T]),
    "one left out": ('{"1": "yes", "3": "no"}', [T, N, F]),
    "one open": ('{"1": "yes", "2": null, "3": "perhaps"}', [T, N, N]),
    "no word": ('{"1": "yes", "2": {"a": 1}, "3": [true]}', [T, N, N]),
    "another number": ('{"1": 2, "2": 0.5, "3": "no"}', [N, N, F]),
    "twice the same": ('{"1": "yes", "1": "yes", "2": "no"}', [T, F, N]),
    "contradiction": ('{"1": "yes", "2": "no", "1": "no"}', [N, F, N]),
    "unknown besides": ('{"1": "yes", "2": "no", "3": "no", "7": "yes"}', [T, F, F]),
    "unknown instead": ('{"1": "yes", "2": "no", "7": "yes"}', [N, N, N]),
    "from 0": ('{"0": "yes", "1": "no", "2": "yes"}', [N, N, N]),
    "one too many": ('{"1": "yes", "2": "no", "3": "yes", "4": "no"}', [N, N, N]),
}


@pytest.mark.parametrize(("reply", "expected"), CASES.values(), ids=CASES.keys())
def test_only_what_a_reply_plainly_says_of_a_statement_is_read(
    reply: str, expected: list[bool | None]
) -> None:
    """Of three statements on one text; what is not read stays open."""
    judge = LLMJudge(ScriptedLLM(lambda _: reply), max_reasks=0)
    found = asyncio.run(judge.entailment(["premise"], ["one", "two", "three"]))
    assert [cell for (cell,) in found.cells] == expected
