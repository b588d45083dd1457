"""The same retrieved thing is the same chunks in every host, or an error in every host."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.retrieved_shapes import HOSTS, SHAPES, expected, outcome
from noisesense_adapters.reading.chunks import chunks_of


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_reads_each_shape_as_the_others_do(host: str) -> None:
    found = {shape: outcome(host, shape) for shape in SHAPES}
    assert found == {shape: expected(host, shape) for shape in SHAPES}


@pytest.mark.parametrize("score", [0.8, np.float32(0.8), np.float64(0.8), np.int64(1)])
def test_a_pair_of_a_chunk_and_any_kind_of_score(score: object) -> None:
    """LangChain's FAISS gives numpy's float32, which is no float."""
    assert chunks_of([("a", score)]) == ["a"]
