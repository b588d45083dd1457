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


def test_data_is_frozen_and_hashable() -> None:
    claim = ResponseClaim(text="a", correct=None, entailed_by=(2, 0), undetermined=(1,))
    assert claim.entailed_by == (0, 2)
    verdicts = Verdicts(response_claims=(claim,), chunks=("a", "b", Chunk(text="c")))
    sample = Sample(response="r", reference="g", retrieved_contexts=("a", "b", "c"))
    for frozen in (claim, verdicts, sample):
        assert hash(frozen) == hash(type(frozen).model_validate(frozen.model_dump()))
        with pytest.raises(Exception, match="frozen"):
            frozen.text = "b"  # type: ignore[union-attr, misc]
