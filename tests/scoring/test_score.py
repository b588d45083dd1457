"""What `score` gives and refuses, beside the figures themselves."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from noisesense import Chunk, InputError, Sample, UndefinedScoreError, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS, MODES, modes_of

NONE = Verdicts(response_claims=())
# Claim 0 is correct, claim 1 comes from relevant chunk 0, claim 2 from irrelevant chunk 1, claim
# 3 from neither, claim 4 is open.
MIXED = Verdicts.from_matrices(
    [True, False, False, False, None],
    [[True, False], [True, True], [False, True], [False, False], [True, False]],
    [[True, False]],
    response_claims=["zero", "one", "two", "three", "four"],
)


def test_an_open_claim_leaves_only_the_mode_open_that_it_may_count_in() -> None:
    result = score(MIXED)
    # Relevant: one claim counts and the open one may.
    assert result.relevant is result.value("relevant") is None
    assert result.status("relevant") == "undetermined"
    assert result.counts("relevant") == (1, 4, 5)
    # Irrelevant: the open claim is entailed by the relevant chunk, if it is wrong at all.
    assert result.irrelevant == 1 / 5
    assert result.counts("irrelevant") == (1, 5, 5)


def test_the_partition_counts_each_claim_by_its_kind() -> None:
    result = score(MIXED)
    # Claims 1 and 2 come from a chunk whatever its relevance; the open one may.
    assert result.from_chunks == (2, 4, 5)
    assert result.partition == (1, 1, 1, 1, 1)
    assert result.partition.share("hallucination") == 1 / 5


def test_claims_carry_the_chunks_that_explain_them() -> None:
    outcomes = score(MIXED).claims
    assert [claim.index for claim in outcomes] == [0, 1, 2, 3, 4]
    assert [claim.text for claim in outcomes] == ["zero", "one", "two", "three", "four"]
    assert [claim.relevant_chunks for claim in outcomes] == [(0,), (0,), (), (), (0,)]
    assert [claim.irrelevant_chunks for claim in outcomes] == [(), (1,), (1,), (), ()]
    kinds = ["correct", "relevant", "irrelevant", "hallucination", "undetermined"]
    assert [claim.category for claim in outcomes] == kinds


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_without_response_claims_a_score_is_undefined_or_zero_or_an_error(definition: Any) -> None:
    undefined = score(NONE, definition=definition)
    zero = score(NONE, definition=definition, empty="zero")
    for mode in modes_of(definition):
        assert undefined.value(mode) is undefined.bounds(mode) is None
        assert undefined.counts(mode) == (0, 0, 0)
        assert zero.value(mode) == 0.0
        assert zero.bounds(mode) == (0.0, 0.0)
    assert undefined.partition.share("correct") is None
    with pytest.raises(UndefinedScoreError, match="no claims"):
        score(NONE, definition=definition, empty="error")
    assert score(NONE, definition="validmind", empty="zero").bounds("irrelevant") is None


def test_what_is_left_open_never_passes_whatever_is_chosen_for_it() -> None:
    for choice in ("none", "low", "high"):
        assert score(MIXED, undetermined=choice).gate("relevant", 0.2) == "undecided"
    assert score(MIXED).gate("relevant", 0.4) == score(MIXED).gate("irrelevant", 0.2) == "pass"
    assert score(MIXED, undetermined="low").gate("relevant", 0.1) == "fail"
    assert score(NONE).gate("relevant", 0.2) == "undefined"
    assert score(NONE, empty="zero").gate("relevant", 0.2) == "pass"
    assert score(NONE, empty="zero").robustness("relevant") == 1.0
    # `empty` says nothing about what is open.
    assert score(MIXED, empty="zero").relevant is score(MIXED, empty="error").relevant is None


_WRONG = {"text": "a", "correct": False, "entailed_by": ()}


@pytest.mark.parametrize("chunks", [(), ("",), (" \n", "")])
@pytest.mark.parametrize("definition", ["ragas", "paper"])
def test_nothing_retrieved_is_undefined(chunks: tuple[str, ...], definition: Any) -> None:
    """A retriever that is down is no generator without faults."""
    verdicts = Verdicts(response_claims=(_WRONG,), chunks=chunks)
    result = score(verdicts, definition=definition)
    for mode in MODES:
        assert result.value(mode) is result.bounds(mode) is result.robustness(mode) is None
        assert result.status(mode) == result.gate(mode, 1) == "undefined"
        assert "undefined: nothing was retrieved" in result.reason(mode)
    assert result.partition.hallucination == 1
    zero = score(verdicts, definition=definition, empty="zero")
    assert zero.relevant == 0.0
    assert zero.irrelevant == 0.0
    with pytest.raises(UndefinedScoreError, match="nothing was retrieved"):
        score(verdicts, definition=definition, empty="error")


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_response_whose_claims_nobody_asked_for_is_not_said_to_have_none(
    definition: Any,
) -> None:
    """As of a sample without chunks that was judged for another definition."""
    unasked = score(Verdicts(response_claims=(), chunks=()), definition=definition)
    assert unasked.lack == "nothing_retrieved"
    reference = {"text": "a", "entailed_by": ()}
    blank = Verdicts(response_claims=(), reference_claims=(reference,), chunks=(" ",))
    assert score(blank, definition=definition).lack == "nothing_retrieved"


def test_nothing_retrieved_is_measured_where_no_chunk_is_needed() -> None:
    verdicts = Verdicts(response_claims=(_WRONG,), chunks=())
    assert score(verdicts, definition="validmind", empty="error").relevant == 1.0
    result = score(verdicts, definition="promptfoo", empty="error")
    assert result.relevant == 1.0
    assert result.irrelevant is None
    assert result.gate("irrelevant", 1) == "undefined"


def test_no_chunks_that_anybody_names_are_none() -> None:
    verdicts = Verdicts(response_claims=(_WRONG,))
    assert score(verdicts).status("relevant") == "undefined"
    assert score(verdicts, undetermined="low").relevant is None


def test_a_sample_with_blank_chunks_only_has_none() -> None:
    sample = Sample(response="a", reference="b", retrieved_contexts=["", Chunk(text=" ")])
    assert sample.retrieved_contexts == ()
    for chunks in (None, ("", " ")):
        verdicts = Verdicts(response_claims=(_WRONG,), chunks=chunks)
        assert score(verdicts.with_sample(sample)).status("relevant") == "undefined"
    said = Verdicts(response_claims=({**_WRONG, "entailed_by": (0,)},), chunks=("", " "))
    with pytest.raises(InputError, match="expected chunk positions below 0, got chunk 0"):
        said.with_sample(sample)


def test_equal_scores_are_equal_and_survive_pickling() -> None:
    first = score(MIXED)
    second = score(MIXED)
    assert first == second
    assert first != score(MIXED, definition="paper")
    assert pickle.loads(pickle.dumps(first)) == first


def test_a_samples_key_is_its_texts() -> None:
    def key(response: str = "r", contexts: Any = ("a", "b"), **texts: str) -> str:
        texts = {"reference": "g", **texts}
        return Sample(response=response, retrieved_contexts=contexts, **texts).key

    assert key(contexts=({"text": "a", "relevant": True}, "b")) == key()
    others = {key("r "), key(reference="h"), key(user_input="u")}
    others |= {key(contexts=contexts) for contexts in (("b", "a"), ("ab",), ("a", "b", ""))}
    assert len(others | {key()}) == 7
    # Fixed for good, so that stores of earlier versions stay readable: printf '["","r","g",["a",
    # "b"]]' | sha256sum, without the line break.
    assert key() == "49a3600b3408d28026f0036a1288885a4a740c33f5163a7463fb7e005fe49bbd"


@pytest.mark.parametrize("name", ["definition", "empty", "undetermined"])
def test_an_unknown_choice_or_mode_is_an_error_and_a_score_is_immutable(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: expected .*, got 'other'"):
        score(MIXED, **{name: "other"})  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="immutable"):
        score(MIXED).definition = "paper"  # type: ignore[misc]
    for ask in (score(MIXED).counts, score(MIXED).bounds):
        with pytest.raises(InputError, match="mode: expected 'relevant' or"):
            ask("other")  # type: ignore[arg-type]
