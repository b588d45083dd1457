"""Lists that say a text in other words are whole; lists that leave a sentence out are not.

`data/other_words.jsonl` has texts, and right lists of their claims in other words: numbers, dates,
units, synonyms, two facts in one claim, another order. Each sentence and claim stands with the
letters of the facts that it says. `data/left_out.jsonl` has texts of three sentences, of which the
judge lists two as they stand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import Judgement, score
from support.exact import ExactModel, judged_exactly

DATA = Path(__file__).parent / "data"
WITHOUT_SPACES = ("zh", "ja")


def rows(name: str) -> list[dict[str, Any]]:
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


OTHER_WORDS = rows("other_words.jsonl")
LEFT_OUT = rows("left_out.jsonl")


def text_of(row: Mapping[str, Any], sentences: Sequence[str]) -> str:
    gap = "\n" if row["language"] == "th" else " "
    return ("" if row["language"] in WITHOUT_SPACES else gap).join(sentences)


def judged(
    row: Mapping[str, Any], response: str, listed: Sequence[str], says: Mapping[str, str]
) -> Judgement:
    """The chunk says all, and the reference all but the fact "a"."""
    everything = set("".join(says.values()))
    texts = {**says, "chunk": everything, "reference": everything - {"a"}}
    model = ExactModel(texts, [row["question"]], {response: listed})
    return judged_exactly(model, row["question"], response)


def claims_of(judgement: Judgement) -> list[str | None]:
    return [claim.text for claim in judgement.verdicts.response_claims]


@pytest.mark.parametrize("row", OTHER_WORDS, ids=lambda row: f"{row['language']}-{row['kind']}")
def test_a_list_in_other_words_stays_as_it_is(row: dict[str, Any]) -> None:
    """Wrong are the claims of the fact "a", and the chunk says them."""
    response = text_of(row, [text for text, _ in row["sentences"]])
    listed = [claim for claim, _ in row["claims"]]
    found = judged(row, response, listed, dict([*row["sentences"], *row["claims"]]))
    assert claims_of(found) == listed
    assert found.changes == ()
    wrong = sum("a" in facts for _, facts in row["claims"])
    assert score(found.verdicts).relevant == pytest.approx(wrong / len(listed))


def notices(row: dict[str, Any]) -> bool:
    """Is the sentence that the list leaves out a claim in the end?"""
    sentences = [*row["listed"], row["left_out"]]
    response = text_of(row, sentences)
    found = judged(row, response, row["listed"], dict(zip(sentences, "bca", strict=True)))
    return claims_of(found) == sentences


def test_what_a_list_leaves_out_is_noticed() -> None:
    """In scripts with capital letters and in others: 55 of 60 together, and of each as much."""
    noticed = Counter[bool]()
    missed = Counter[bool]()
    for row in LEFT_OUT:
        has_cases = row["left_out"] != row["left_out"].upper()
        counts = noticed if notices(row) else missed
        counts[has_cases] += 1
    assert noticed.total() + missed.total() == 60
    assert missed.total() <= 5
    for has_cases in (True, False):
        rate = noticed[has_cases] / (noticed[has_cases] + missed[has_cases])
        assert rate >= 55 / 60
