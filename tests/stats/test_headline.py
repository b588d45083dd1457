"""The sentence above a run's figures, by hand."""

from __future__ import annotations

import pytest

from noisesense import Result, Verdicts, score, summarize
from noisesense.stats.summary import headline

KINDS = {
    "c": {"correct": True, "entailed_by": []},
    "r": {"correct": False, "entailed_by": [0]},
    "i": {"correct": False, "entailed_by": [1]},
    "h": {"correct": False, "entailed_by": []},
    "u": {"correct": None, "entailed_by": [0]},
}
NOT_SUPPORTED = "not supported by the reference and"


@pytest.mark.parametrize(
    ("claims", "message", "rest"),
    [
        ("", "No response claims were judged", "There is nothing to count."),
        (
            "c",
            f"0 of 1 claim is {NOT_SUPPORTED} comes from a retrieved chunk",
            "0 from relevant chunks, 0 from irrelevant ones.",
        ),
        (
            "crh",
            f"1 of 3 claims is {NOT_SUPPORTED} comes from a retrieved chunk",
            "1 from relevant chunks, 0 from irrelevant ones; 1 more is supported neither by "
            "the reference nor by a chunk.",
        ),
        (
            "rriihh",
            f"4 of 6 claims are {NOT_SUPPORTED} come from a retrieved chunk",
            "2 from relevant chunks, 2 from irrelevant ones; 2 more are supported neither by "
            "the reference nor by a chunk.",
        ),
        (
            "cru",
            f"1 to 2 of 3 claims are {NOT_SUPPORTED} come from a retrieved chunk",
            "1 from relevant chunks, 0 from irrelevant ones; the judge left 1 open.",
        ),
    ],
)
def test_the_headline(claims: str, message: str, rest: str) -> None:
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": kind, **KINDS[kind]} for kind in claims],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )
    assert headline(summarize([Result("q", score(verdicts))])) == (message, rest)
