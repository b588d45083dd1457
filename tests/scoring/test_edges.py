"""Single cases that a small fault in the scoring would change: found by mutation testing."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import InputError, Verdicts, score
from noisesense.scoring.outcomes import check_limit
from noisesense.scoring.scoring import check_empty
from noisesense.verdicts.form import light_verdicts
from noisesense.verdicts.verdicts import as_model


def test_a_relevant_chunk_decides_whatever_is_open_beside_it() -> None:
    # Chunk 0 is relevant and entails the wrong claim; of irrelevant chunk 1 it is not known.
    verdicts = Verdicts.from_matrices([False], [[True, None]], [[True, False]])
    (claim,) = score(verdicts).claims
    assert claim.category == "relevant"
    assert score(verdicts).partition == (0, 1, 0, 0, 0)


def test_the_chunks_of_a_claim_by_what_they_are() -> None:
    # Labels: relevant, irrelevant, none; without reference claims the third stays open.
    verdicts = Verdicts.from_matrices([False], [[True] * 3], None, [True, False, None])
    (claim,) = score(verdicts).claims
    assert claim.relevant_chunks == (0,)
    assert claim.irrelevant_chunks == (1,)
    assert claim.unlabelled_chunks == (2,)


def test_a_score_as_data() -> None:
    verdicts = Verdicts.from_matrices([True, False], [[False], [True]], None, [False])
    found = score(verdicts).to_dict()
    assert found["relevant"] == 0.0
    assert found["irrelevant"] == 0.5
    assert found["bounds"] == {"relevant": (0.0, 0.0), "irrelevant": (0.5, 0.5)}
    assert found["partition"]["irrelevant"] == 1
    assert [claim["sentence"] for claim in found["claims"]] == [
        "Claim 0 is supported by the reference.",
        "Claim 1 is not supported by the reference and comes from irrelevant chunk 0.",
    ]
    assert found["chunk_relevance"] == (False,)


@pytest.mark.parametrize(
    ("definition", "mode", "counted"),
    [
        ("validmind", "relevant", "not supported by the reference."),
        ("promptfoo", "relevant", "not supported by the reference."),
        (
            "promptfoo",
            "irrelevant",
            "not supported by the reference, with an irrelevant chunk as its source.",
        ),
        ("paper", "relevant", "not supported by the reference but entailed by a relevant chunk."),
    ],
)
def test_what_a_definition_counts_in_words(definition: str, mode: str, counted: str) -> None:
    verdicts = Verdicts.from_matrices([True, True], [[True], [True]], None, [True])
    reason = score(verdicts, definition=definition).reason(mode)  # type: ignore[arg-type]
    assert reason.endswith(f"0 of 2 response claims are {counted}")


@pytest.mark.parametrize(("claims", "more"), [(5, ""), (6, " And 1 more.")])
def test_five_claims_are_listed(claims: int, more: str) -> None:
    verdicts = Verdicts.from_matrices([False] * claims, [[True]] * claims, [[True]])
    reason = score(verdicts).reason("relevant")
    assert reason.endswith(
        f"Claim 4 is not supported by the reference and comes from relevant chunk 0.{more}"
    )


@pytest.mark.parametrize(
    ("length", "shown"), [(120, "x" * 120), (121, "x" * 119 + "…"), (500, "x" * 119 + "…")]
)
def test_a_claim_is_shown_in_120_characters(length: int, shown: str) -> None:
    verdicts = Verdicts.from_matrices([True], [[True]], [[True]], response_claims=["x" * length])
    (claim,) = score(verdicts).claims
    assert claim.sentence == f'Claim 0 "{shown}" is supported by the reference.'


def test_choices_are_checked_and_given_back() -> None:
    assert check_limit(0.25) == 0.25
    assert check_empty("zero") == "zero"
    verdicts = Verdicts.from_matrices([True], [[True]], [[True]])
    with pytest.raises(InputError, match="empty: expected"):
        score(verdicts, empty="nothing")  # type: ignore[arg-type]


def test_the_light_form_becomes_the_model() -> None:
    table: Any = {
        "reference_to_response": [False],
        "chunks_to_response": [[True]],
        "chunks_to_reference": [[None]],
        "relevant": [None],
    }
    model = Verdicts.from_matrices(**table)
    light = light_verdicts(model.model_dump())
    assert light is not None
    assert as_model(light).to_matrices() == table
    assert as_model(model) is model
