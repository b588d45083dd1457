"""Errors: one template, and they survive where errors travel."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from noisesense import (
    Chunk,
    InputError,
    JudgeError,
    MissingExtraError,
    NoiseSenseError,
    RecordingError,
    ReplyError,
    ResponseClaim,
    Sample,
    SampleNotRecordedError,
    UndefinedScoreError,
    Usage,
    Verdicts,
)
from noisesense.errors import describe


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("a", "b"), "expected a, got b"),
        (InputError("a", "b", where="c"), "c: expected a, got b"),
        (InputError("a", "b", hint="d"), "expected a, got b. Hint: d"),
        (InputError("a", "b", where="c", hint="d"), "c: expected a, got b. Hint: d"),
        (InputError("a", "b", where="c").within("x"), "x, c: expected a, got b"),
        (RecordingError("a", "b").within("x"), "x: expected a, got b"),
    ],
)
def test_the_template(error: InputError, message: str) -> None:
    assert str(error) == message


@pytest.mark.parametrize(
    ("error", "also"),
    [
        (InputError("a", "b", where="c", hint="d"), ValueError),
        (RecordingError("a", "b", where="c", hint="d"), InputError),
        (SampleNotRecordedError("a", "b", where="c", hint="d"), LookupError),
        (UndefinedScoreError("a"), ValueError),
        (JudgeError("a"), RuntimeError),
        (ReplyError("a", usage=Usage(calls=1)), JudgeError),
        (MissingExtraError("a"), ImportError),
    ],
)
def test_errors_cross_processes(error: NoiseSenseError, also: type[Exception]) -> None:
    assert isinstance(error, NoiseSenseError)
    assert isinstance(error, also)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_value_is_shown_in_one_short_line() -> None:
    assert describe("a\nb") == "'a\\nb'"
    assert describe(["x" * 100]) == "['" + "x" * 77 + "…"
    assert len(describe("y" * 10_000)) == 80
    assert describe("z" * 78) == repr("z" * 78)


def test_several_problems_are_one_error_that_says_so() -> None:
    with pytest.raises(InputError) as caught:
        Verdicts.model_validate(
            {"response_claims": [{"text": 1, "entailed_by": [-1]}], "claims": []}
        )
    assert str(caught.value) == (
        "response claim 0, text: expected a string, got 1. "
        "Hint: 3 more problems in the same Verdicts"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"response_claims": [{"text": "a", "entailed_by": 0}]},
            "response claim 0: expected the field 'correct', got only 'text', 'entailed_by'. "
            "Hint: write null where it is undetermined; 1 more problem in the same Verdicts",
        ),
        ({}, "Verdicts: expected the field 'response_claims', got no fields"),
        (
            {"response_claims": [{"correct": True, "entailed_by": []}]},
            "response claim 0: expected the field 'text', got only 'correct', 'entailed_by'",
        ),
        (
            {"response_claims": [], "chunks": [["a"]]},
            "chunk 0: expected a text or an object, got ['a']",
        ),
    ],
)
def test_messages_word_for_word(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Verdicts.model_validate(data)
    assert str(caught.value) == message


def test_the_names_of_other_frameworks_are_recognized() -> None:
    with pytest.raises(InputError, match="rename 'contexts' to 'retrieved_contexts'"):
        Sample.model_validate({"response": "r", "reference": "g", "contexts": ["c"]})


@pytest.mark.parametrize("text", ["", "{", "[", '{"response_claims": [}', "nul"])
def test_broken_json_is_named_with_its_place(text: str) -> None:
    with pytest.raises(
        InputError, match=r"Verdicts: expected valid JSON, got .* at line 1 column"
    ):
        Verdicts.model_validate_json(text)


def test_data_is_frozen_and_hashable() -> None:
    claim = ResponseClaim(text="a", correct=None, entailed_by=(2, 0), undetermined=(1,))
    assert claim.entailed_by == (0, 2)
    verdicts = Verdicts(response_claims=(claim,), chunks=("a", "b", Chunk(text="c")))
    sample = Sample(response="r", reference="g", retrieved_contexts=("a", "b", "c"))
    for frozen in (claim, verdicts, sample):
        assert hash(frozen) == hash(type(frozen).model_validate(frozen.model_dump()))
        with pytest.raises(Exception, match="frozen"):
            frozen.text = "b"  # type: ignore[union-attr, misc]
