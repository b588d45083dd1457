"""Errors: one template, and they survive where errors travel."""

from __future__ import annotations

import pickle

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


def test_the_template() -> None:
    assert str(InputError("a", "b")) == "expected a, got b"
    assert str(InputError("a", "b", where="c", hint="d")) == "c: expected a, got b. Hint: d"
    assert str(InputError("a", "b", where="c").within("x")) == "x, c: expected a, got b"
    assert str(RecordingError("a", "b").within("x")) == "x: expected a, got b"
    assert str(JudgeError("a").within("x")) == "x: a"


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
    assert describe("z" * 78) == repr("z" * 78)


def test_messages_word_for_word() -> None:
    claim = {"text": "a", "entailed_by": [0, "1"]}
    for data, message in (
        (
            {"response_claims": [claim]},
            "response claim 0: expected the field 'correct', got only 'text', 'entailed_by'. "
            "Hint: write null where it is undetermined",
        ),
        ({}, "Verdicts: expected the field 'response_claims', got no fields"),
        (
            {"response_claims": [{**claim, "correct": True}]},
            "response claim 0, entailed_by[1]: expected a whole number, got '1'",
        ),
    ):
        with pytest.raises(InputError) as caught:
            Verdicts.model_validate(data)
        assert str(caught.value) == message
    with pytest.raises(InputError, match=r"^Verdicts: expected valid JSON, got .* at line 1 col"):
        Verdicts.model_validate_json('{"response_claims": [}')


def test_data_is_frozen_and_hashable() -> None:
    claim = ResponseClaim(text="a", correct=None, entailed_by=(2, 0), undetermined=(1,))
    assert claim.entailed_by == (0, 2)
    verdicts = Verdicts(response_claims=(claim,), chunks=("a", "b", Chunk(text="c")))
    sample = Sample(response="r", reference="g", retrieved_contexts=("a", "b", "c"))
    for frozen in (claim, verdicts, sample):
        assert hash(frozen) == hash(type(frozen).model_validate(frozen.model_dump()))
        with pytest.raises(Exception, match="frozen"):
            frozen.text = "b"  # type: ignore[union-attr, misc]
