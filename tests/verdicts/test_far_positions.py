"""Positions of chunks that nobody lists: far ones are an error, and take no room before it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from noisesense import InputError, Verdicts, score
from noisesense.errors import describe
from noisesense.verdicts.form import MOST_UNLISTED

# Above the limit by one, by more than any memory holds, and with more digits than Python prints.
FAR = [MOST_UNLISTED, 10**12, 10**5000]


def _naming(position: int, claims: str = "response_claims", field: str = "entailed_by") -> Any:
    claim: dict[str, Any] = {"text": "a", "correct": False, "entailed_by": []}
    verdicts: dict[str, Any] = {
        "response_claims": [{**claim, "entailed_by": [0]}],
        "reference_claims": [{"text": "b", "entailed_by": [0]}],
    }
    verdicts[claims][0] |= {"entailed_by": [], field: [position]}
    return verdicts


@pytest.mark.parametrize("position", FAR, ids=["next", "huge", "endless"])
def test_a_far_position_is_an_error_that_names_its_place(position: int) -> None:
    for claims, field in product(
        ("response_claims", "reference_claims"), ("entailed_by", "undetermined")
    ):
        place = claims.removesuffix("s").replace("_", " ")
        with pytest.raises(InputError) as caught:
            Verdicts.model_validate(_naming(position, claims, field))
        expected = f"{place} 0: expected chunk positions below 100000, got chunk "
        assert str(caught.value).startswith(expected + describe(position))


def test_the_last_position_below_the_limit_is_read_and_listed_chunks_have_none() -> None:
    # Chunk 0 is relevant, the last one is not: an incorrect claim from an irrelevant chunk.
    found = score(Verdicts.model_validate(_naming(MOST_UNLISTED - 1)))
    assert found.relevant == 0.0
    assert found.irrelevant == 1.0
    assert len(found.chunk_relevance) == MOST_UNLISTED
    data = {**_naming(MOST_UNLISTED), "chunks": [""] * (MOST_UNLISTED + 1)}
    assert score(Verdicts.model_validate(data)).irrelevant == 1.0
