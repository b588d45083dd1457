"""Does a wrong claim come from a chunk? By hand, for what is known and what is open."""

from __future__ import annotations

import pytest

from noisesense import Verdicts, score

# Chunk 0 is relevant, 1 is not; of 2 it is open, as there are no claims of the reference.
LABELS = [True, False, None]
T, F, U = True, False, None


@pytest.mark.parametrize(
    ("correct", "entails", "expected"),
    [
        (T, [T, T, T], False),
        (T, [U, F, F], False),
        (F, [T, F, F], True),
        (F, [F, T, F], True),
        (F, [F, F, T], True),
        (F, [U, T, F], True),
        (F, [F, F, F], False),
        (F, [F, U, F], None),  # from a chunk or from none
        (U, [T, F, F], None),  # from a chunk, correct or not
        (U, [U, F, F], None),
        (U, [F, F, F], False),  # correct or not, from no chunk
    ],
)
def test_a_claim_of_each_kind(
    correct: bool | None, entails: list[bool | None], expected: bool | None
) -> None:
    found = score(Verdicts.from_matrices([correct], [entails], None, LABELS))
    assert found.claims[0].from_a_chunk is expected
    assert found.from_chunks == (expected is True, 1 - (expected is None), 1)
