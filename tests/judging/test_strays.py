"""What is listed beside the claims of a text and is not the text's does not count as its claim.

`data/strays.jsonl` has a text of two sentences in each of 16 languages, and for each five claims
that it does not make: with another number, with another name, of another passage, of the chunk,
and of the example in the judge's prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import Judgement, score
from noisesense.judging.protocol import ClaimChange
from support.exact import ExactModel, judged_exactly

DATA = Path(__file__).parent / "data" / "strays.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
STRAYS = [(row, kind) for row in ROWS for kind in row["strays"]]


def judged(row: dict[str, Any], listed: Sequence[str]) -> Judgement:
    """The reference says the second sentence; the chunk says all but that."""
    response = " ".join(row["sentences"])
    texts = [*row["sentences"], *row["strays"].values()]
    second = row["sentences"][1]
    says: dict[str, Sequence[str]] = {text: [text] for text in texts}
    says |= {"reference": [second], "chunk": [text for text in texts if text != second]}
    model = ExactModel(says, [row["question"]], {response: listed})
    return judged_exactly(model, row["question"], response)


@pytest.mark.parametrize(
    ("row", "kind"), STRAYS, ids=[f"{row['language']}-{kind}" for row, kind in STRAYS]
)
def test_a_stray_is_not_the_texts_claim(row: dict[str, Any], kind: str) -> None:
    """The first of two claims is wrong and the chunk's: 1/2. With the stray it would be 2/3."""
    stray = row["strays"][kind]
    found = judged(row, [*row["sentences"], stray])
    assert score(found.verdicts).relevant == 0.5
    assert found.changes == (ClaimChange(stray, "response", "stray"),)
