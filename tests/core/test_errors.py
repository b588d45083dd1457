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


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"response_claims": [{"text": "a", "entailed_by": 0}]},
            "response claim 0: expected the field 'correct', got only 'text', 'entailed_by'. "
            "Hint: write null where it is undetermined",
        ),
        ({}, "Verdicts: expected the field 'response_claims', got no fields"),
        (
            {"response_claims": [{"text": "a", "correct": True, "entailed_by": [0, "1"]}]},
            "response claim 0, entailed_by[1]: expected a whole number, got '1'",
        ),
    ],
)
def test_messages_word_for_word(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Verdicts.model_validate(data)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", "{", '{"response_claims": [}', "nul"])
def test_broken_json_is_named_with_its_place(text: str) -> None:
    with pytest.raises(InputError, match=r"^Verdicts: expected valid JSON, got .* at line 1 col"):
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
