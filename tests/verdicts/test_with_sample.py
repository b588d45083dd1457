"""Verdicts beside the sample they belong to."""

from __future__ import annotations

import pytest

from noisesense import Chunk, InputError, Sample, Verdicts

SAMPLE = Sample.model_validate(
    {
        "response": "r",
        "reference": "g",
        "retrieved_contexts": [{"text": "a", "id": "theirs"}, {"text": "b"}],
    }
)


def verdicts(*chunks: Chunk) -> Verdicts:
    return Verdicts(response_claims=(), chunks=chunks)


def test_the_samples_own_ids_win_and_the_others_stay() -> None:
    found = (
        verdicts(Chunk(text="a", id="ours"), Chunk(text="", id="ours")).with_sample(SAMPLE).chunks
    )
    assert found == (Chunk(text="a", id="theirs"), Chunk(text="b", id="ours"))


def test_a_sample_without_contexts_has_no_chunks_with_a_text() -> None:
    bare = SAMPLE.model_copy(update={"retrieved_contexts": ()})
    assert verdicts(Chunk(text=" "), Chunk(text="")).with_sample(bare).chunks == ()
    with pytest.raises(InputError, match="expected 0 chunks, as in the sample's"):
        verdicts(Chunk(text=""), Chunk(text="b")).with_sample(bare)
    with pytest.raises(InputError, match="expected 2 chunks, as in the sample's"):
        verdicts(Chunk(text="")).with_sample(SAMPLE)


def test_of_chunks_named_twice_the_first_is_told() -> None:
    claim = {"text": "c", "correct": None, "entailed_by": [1, 3], "undetermined": [1, 3]}
    with pytest.raises(InputError, match="chunk 1 twice"):
        Verdicts.model_validate({"response_claims": [claim]})
