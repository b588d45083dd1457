"""What openevals gives an evaluator."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noisesense import Sample, Verdicts


def test_one_text_as_openevals_gives_it_is_one_chunk() -> None:
    """Its ``context`` may be one text: one chunk. Under any other name that is an error."""
    from noisesense_adapters.langsmith import noise_sensitivity

    class One:
        async def judge(self, sample: Sample) -> Verdicts:
            assert [chunk.text for chunk in sample.retrieved_contexts] == ["one text"]
            return Verdicts.from_matrices([False], [[True]], [[True]]).with_sample(sample)

    evaluator: Any = noise_sensitivity(judge=One())
    row = evaluator(inputs="q", outputs="x", reference_outputs="r", context="one text")
    assert asyncio.run(row)[0]["score"] == 1.0
    wrong = evaluator(inputs="q", outputs={"answer": "x", "contexts": "a"}, reference_outputs="r")
    with pytest.raises(ValueError, match="expected a list of chunks, got one text"):
        asyncio.run(wrong)
