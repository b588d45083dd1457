"""The table of bad inputs through the adapter: one clear error that names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase

from noisesense import NoiseSenseError, RecordedJudge, Verdicts
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, GOOD_VERDICTS, BadInput, recording_of

_FIELDS = {
    "user_input": "input",
    "response": "actual_output",
    "reference": "expected_output",
    "retrieved_contexts": "retrieval_context",
}


def _case(sample: dict[str, Any], **metadata: Any) -> LLMTestCase:
    """A test case whose fields are what the table says, past DeepEval's own validation."""
    case = LLMTestCase(input="", metadata=metadata)
    for name, value in sample.items():
        if name in _FIELDS:
            setattr(case, _FIELDS[name], value)
    return case


def _drive(bad: BadInput, folder: Path) -> None:
    verdicts: Any = GOOD_VERDICTS
    case = _case(GOOD_SAMPLE)
    arguments: dict[str, Any] = {}
    if bad.kind == "sample":
        case = _case(bad.data)
    elif bad.kind == "verdicts":
        verdicts = bad.data
    elif bad.kind == "matrices":
        verdicts = Verdicts.from_matrices(**bad.data)
    elif bad.kind == "recording":
        arguments = {"judge": RecordedJudge(recording_of(bad, folder))}
    else:
        arguments = bad.data
    if bad.kind != "recording":
        case.metadata = {"verdicts": verdicts}
    NoiseSensitivityMetric(**arguments).measure(case)


# What has another name or another check here than in core.
_MISSING = {
    "sample: response is missing": "'actual_output'",
    "sample: response is empty": "'actual_output'",
    "sample: response is blank": "'actual_output'",
    "sample: response is null": "'actual_output'",
    "sample: reference is missing": "'expected_output'",
    "sample: reference is empty": "'expected_output'",
    "sample: contexts are missing": "'retrieval_context'",
    "sample: no contexts": "'retrieval_context'",
    "sample: contexts are null": "'retrieval_context'",
}
_ELSEWHERE = {
    # LLMTestCase drops fields it does not know, and null metadata are none.
    "sample: an unknown field",
    "verdicts: null",
    # Scored: nothing can come from a chunk.
    "sample: no contexts",
}
_READ_ALIKE = {"sample: contexts are one string", "sample: a context is a number"}
_CASES = [bad for bad in BAD_INPUTS if bad.name not in _ELSEWHERE]


@pytest.mark.parametrize("bad", _CASES, ids=lambda bad: bad.name)
def test_one_error_names_the_place(bad: BadInput, tmp_path: Path) -> None:
    with pytest.raises((NoiseSenseError, MissingTestCaseParamsError)) as caught:
        _drive(bad, tmp_path)

    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    if bad.name in _MISSING:
        assert type(caught.value) is MissingTestCaseParamsError
        assert _MISSING[bad.name] in message
        return
    assert type(caught.value) is bad.error
    # Contexts are read as in every host.
    names = () if bad.name in _READ_ALIKE else bad.names
    assert [name for name in names if name not in message] == []
    if bad.kind in ("sample", "verdicts"):
        assert message.startswith("test case ")
    if bad.kind == "verdicts":
        assert "metadata['verdicts']" in message


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ("yes", "retrieval_context: expected JSON, got 'yes'"),
        ({"a": True}, "chunk_labels: expected true, false or null for each of 2 chunks"),
        ([True], "chunk_labels: expected true, false or null for each of 2 chunks"),
        ([True, "no"], "chunk 1, relevant: expected true.* got 'no'"),
        ([1, None], "chunk 0, relevant: expected true.* got 1"),
    ],
)
def test_bad_labels(labels: Any, says: str) -> None:
    with pytest.raises(NoiseSenseError, match=says):
        NoiseSensitivityMetric().measure(_case(GOOD_SAMPLE, chunk_labels=labels))
