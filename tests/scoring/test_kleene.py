"""Three-valued logic, against Kleene's tables written out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import Verdicts, score

T = True
F = False
U = None


# One claim and one chunk. Is the chunk relevant, does it entail the claim, is the claim correct?
# What each mode says of the claim then: ragas' rule, by hand.
ONE_CHUNK = [
    # relevant, entails, correct → relevant mode, irrelevant mode, category
    (T, T, F, T, F, "relevant"),
    (F, T, F, F, T, "irrelevant"),
    (U, T, F, U, U, "undetermined"),  # counts in one mode, but which?
    (T, F, F, F, F, "hallucination"),
    (F, F, F, F, F, "hallucination"),
    (U, F, F, F, F, "hallucination"),  # whatever the chunk is, it does not entail the claim
    (T, U, F, U, F, "undetermined"),  # relevant noise or hallucination, never irrelevant noise
    (F, U, F, F, U, "undetermined"),
    (U, U, F, U, U, "undetermined"),
    (T, T, U, U, F, "undetermined"),  # correct or relevant noise
    (F, T, U, F, U, "undetermined"),
    (U, T, U, U, U, "undetermined"),
    (T, F, U, F, F, "undetermined"),  # correct or hallucination: no noise either way
    (U, U, U, U, U, "undetermined"),
    (T, T, T, F, F, "correct"),
    (U, U, T, F, F, "correct"),  # a correct claim cannot count
]


@pytest.mark.parametrize("case", ONE_CHUNK)
def test_what_each_mode_says_of_one_claim_and_one_chunk(case: tuple[Any, ...]) -> None:
    chunk_relevant, entails, correct, *expected = case
    # Without reference claims the label alone says whether the chunk is relevant.
    labeled = Verdicts.from_matrices([correct], [[entails]], None, [chunk_relevant])
    # With one reference claim the chunk is relevant iff it entails that claim.
    derived = Verdicts.from_matrices([correct], [[entails]], [[chunk_relevant]])
    for verdicts in (labeled, derived):
        (claim,) = score(verdicts).claims
        assert [claim.relevant, claim.irrelevant, claim.category] == expected


# One wrong claim and two chunks: first relevant or not, second relevant or not; who entails it.
# The irrelevant modes of ragas (by irrelevant chunks only), paper (by an irrelevant chunk) and
# promptfoo (its first source is irrelevant).
TWO_CHUNKS = [
    # relevance, entails → ragas, paper, promptfoo
    ((T, F), (T, T), F, T, F),
    ((F, T), (T, T), F, T, T),
    ((F, T), (F, T), F, F, F),
    ((F, T), (T, F), T, T, T),
    ((F, F), (T, T), T, T, T),
    ((F, T), (T, U), U, T, T),
    ((F, T), (U, T), F, U, U),  # its source is the irrelevant chunk or the relevant one
    ((T, F), (U, T), U, T, U),
    ((F, F), (U, T), T, T, T),  # both possible sources are irrelevant
    ((F, F), (U, U), U, U, U),  # and there may be none
    ((T, T), (U, U), F, F, F),
    ((U, F), (F, T), T, T, T),
    ((U, F), (T, T), U, T, U),
]


@pytest.mark.parametrize("case", TWO_CHUNKS)
def test_irrelevant_modes_with_two_chunks(case: tuple[Any, ...]) -> None:
    relevance, entails, *expected = case
    verdicts = Verdicts.from_matrices([False], [entails], None, relevance)
    for name, counted in zip(("ragas", "paper", "promptfoo"), expected, strict=True):
        assert score(verdicts, definition=name).claims[0].irrelevant is counted  # type: ignore[arg-type]


def test_a_chunk_is_relevant_as_soon_as_one_reference_claim_says_so() -> None:
    # Chunk 0: yes and undetermined → relevant. Chunk 1: no and undetermined → undetermined.
    # Chunk 2: no and no → irrelevant. Chunk 3: undetermined, but labeled irrelevant.
    verdicts = Verdicts.from_matrices(
        [], [], [[T, F, F, U], [U, U, F, U]], [None, None, None, False]
    )
    assert score(verdicts).chunk_relevance == (True, None, False, False)


def test_a_label_wins_over_the_reference_claims() -> None:
    verdicts = Verdicts.from_matrices([False], [[T, F]], [[T, F]], [False, True])
    assert score(verdicts).chunk_relevance == (False, True)
    assert score(verdicts).relevant == 0.0
    assert score(verdicts).irrelevant == 1.0
