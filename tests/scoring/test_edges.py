"""Single cases that a small fault in the scoring would change: found by mutation testing."""

from __future__ import annotations

import pytest

from noisesense import InputError, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS
from noisesense.scoring.outcomes import check_limit
from noisesense.scoring.scoring import check_empty


def test_a_relevant_chunk_decides_whatever_is_open_beside_it() -> None:
    # Chunk 0 is relevant and entails the wrong claim; of irrelevant chunk 1 it is not known.
    verdicts = Verdicts.from_matrices([False], [[True, None]], [[True, False]])
    assert score(verdicts).claims[0].category == "relevant"
    assert score(verdicts).partition == (0, 1, 0, 0, 0)


def test_a_score_as_data() -> None:
    verdicts = Verdicts.from_matrices([True, False], [[False], [True]], None, [False])
    found = score(verdicts).to_dict()
    assert (found["relevant"], found["irrelevant"]) == (0.0, 0.5)
    assert found["bounds"] == {"relevant": (0.0, 0.0), "irrelevant": (0.5, 0.5)}
    assert found["partition"]["irrelevant"] == 1
    assert [claim["sentence"] for claim in found["claims"]] == [
        "Claim 0 is supported by the reference.",
        "Claim 1 is not supported by the reference and comes from irrelevant chunk 0.",
    ]
    assert found["chunk_relevance"] == (False,)


def test_a_definition_in_words() -> None:
    assert DEFINITIONS["promptfoo"].formula == (
        "relevant: incorrect; irrelevant: incorrect, with an irrelevant chunk as its source"
    )
    assert DEFINITIONS["validmind"].formula == "relevant: incorrect"


def test_choices_are_checked_and_given_back() -> None:
    assert check_limit(0.25) == 0.25
    assert check_empty("zero") == "zero"
    verdicts = Verdicts.from_matrices([True], [[True]], [[True]])
    for choice in ("empty", "undetermined"):
        with pytest.raises(InputError, match=f"{choice}: expected"):
            score(verdicts, **{choice: "nothing"})  # type: ignore[arg-type]
