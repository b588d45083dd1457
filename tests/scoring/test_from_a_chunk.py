"""Does a wrong claim come from a chunk? By hand, for what is known and what is open."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import Verdicts, score

CASES: dict[str, tuple[dict[str, Any], bool | None]] = {
    "correct": ({"correct": True, "entailed_by": [0, 1, 2]}, False),
    "correct, and a chunk is open": ({"correct": True, "undetermined": [0]}, False),
    "from a relevant chunk": ({"correct": False, "entailed_by": [0]}, True),
    "from an irrelevant chunk": ({"correct": False, "entailed_by": [1]}, True),
    "from a chunk of open relevance": ({"correct": False, "entailed_by": [2]}, True),
    "from a chunk, and another is open": (
        {"correct": False, "entailed_by": [1], "undetermined": [0]},
        True,
    ),
    "from no chunk": ({"correct": False}, False),
    "from a chunk or from none": ({"correct": False, "undetermined": [1]}, None),
    "from a chunk, correct or not": ({"correct": None, "entailed_by": [0]}, None),
    "correct or not, from a chunk or not": ({"correct": None, "undetermined": [0]}, None),
    "correct or not, from no chunk": ({"correct": None}, False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_claim_of_each_kind(name: str) -> None:
    fields, expected = CASES[name]
    # Without claims of the reference, the relevance of an unlabelled chunk is open.
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": "It is so.", "entailed_by": [], **fields}],
            "chunks": [
                {"text": "a", "relevant": True},
                {"text": "b", "relevant": False},
                {"text": "c"},
            ],
        }
    )
    (claim,) = score(verdicts).claims
    assert claim.from_a_chunk is expected
