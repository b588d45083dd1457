"""Positions of chunks that nobody lists: far ones are an error, and take no room before it."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import InputError, Verdicts, score
from noisesense.errors import describe
from noisesense.verdicts.form import MOST_UNLISTED

# Above the limit by one, by more than any memory holds, and with more digits than Python prints.
FAR = [MOST_UNLISTED, 10**12, 10**5000]


def _naming(position: int, claims: str, field: str) -> dict[str, Any]:
    verdicts: dict[str, Any] = {
        "response_claims": [{"text": "a", "correct": False, "entailed_by": [0]}],
        "reference_claims": [{"text": "b", "entailed_by": [0]}],
    }
    verdicts[claims][0][field] = [position]
    if field == "undetermined":
        verdicts[claims][0]["entailed_by"] = []
    return verdicts


@pytest.mark.parametrize("field", ["entailed_by", "undetermined"])
@pytest.mark.parametrize("claims", ["response_claims", "reference_claims"])
@pytest.mark.parametrize("position", FAR, ids=["next", "huge", "endless"])
def test_a_far_position_is_an_error_that_names_its_place(
    position: int, claims: str, field: str
) -> None:
    place = claims.removesuffix("s").replace("_", " ")
    with pytest.raises(InputError) as caught:
        Verdicts.model_validate(_naming(position, claims, field))
    assert str(caught.value) == (
        f"{place} 0, {field}: expected chunk positions below 100000, "
        f"got chunk {describe(position)}. Hint: list the chunks if there are more; counted from 0"
    )


def test_the_last_position_below_the_limit_is_read() -> None:
    data = _naming(MOST_UNLISTED - 1, "response_claims", "entailed_by")
    # Chunk 0 is relevant, the last one is not: an incorrect claim from an irrelevant chunk.
    found = score(Verdicts.model_validate(data))
    assert (found.relevant, found.irrelevant) == (0.0, 1.0)
    assert len(found.chunk_relevance) == MOST_UNLISTED


def test_listed_chunks_have_no_such_limit() -> None:
    data = _naming(MOST_UNLISTED, "response_claims", "entailed_by")
    data["chunks"] = [""] * (MOST_UNLISTED + 1)
    assert score(Verdicts.model_validate(data)).irrelevant == 1.0


@pytest.mark.parametrize("position", [-(10**5000), 10**5000], ids=["below", "twice"])
def test_a_number_that_python_does_not_print_is_an_error_like_others(position: int) -> None:
    claim = {"text": "a", "correct": False, "entailed_by": [position, position]}
    with pytest.raises(InputError, match=r"got (chunk )?int too long to show"):
        Verdicts.model_validate({"response_claims": [claim], "chunks": ["c"]})
