"""The table of bad inputs through the adapter: one clear error that names the place."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase

from noisesense import InputError, NoiseSenseError
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, GOOD_VERDICTS, BadInput

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


# LLMTestCase drops fields it does not know, null metadata are none, a number is its text, and
# without contexts a sample is scored: nothing can come from a chunk.
_ELSEWHERE = {
    *("sample: an unknown field", "verdicts: null", "sample: no contexts"),
    "sample: response is a number",
}
_NULLS = ("verdicts: entailed_by is null", "verdicts: claims are null")
_CASES = [
    bad for bad in BAD_INPUTS if bad.kind in ("sample", "verdicts") and bad.name not in _ELSEWHERE
]


@pytest.mark.parametrize("bad", _CASES, ids=lambda bad: bad.name)
def test_one_error_names_the_place(bad: BadInput) -> None:
    sample = bad.data if bad.kind == "sample" else GOOD_SAMPLE
    verdicts = bad.data if bad.kind == "verdicts" else GOOD_VERDICTS
    with pytest.raises((NoiseSenseError, MissingTestCaseParamsError)) as caught:
        NoiseSensitivityMetric().measure(_case(sample, verdicts=verdicts))
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    if isinstance(caught.value, MissingTestCaseParamsError):
        assert any(f"'{name}'" in message for name in _FIELDS.values())
    else:
        assert type(caught.value) is bad.error
        assert _unnamed(bad, message) == []


def _unnamed(bad: BadInput, message: str) -> list[str]:
    names = ["test case "]
    if bad.kind == "verdicts":
        names.append("metadata.verdicts")
    if "context" not in bad.name and bad.name not in _NULLS:  # contexts are read as in every host
        names += bad.names
    return [name for name in names if name not in message]


def test_bad_labels() -> None:
    says = "chunk_labels: expected true, false or null for each of 2 chunks"
    with pytest.raises(InputError, match=says):
        NoiseSensitivityMetric().measure(_case(GOOD_SAMPLE, chunk_labels=[True]))


def test_a_test_case_with_images_is_refused() -> None:
    case = _case(GOOD_SAMPLE)
    case.multimodal = True
    with pytest.raises(InputError, match="expected a test case of texts, got one with images"):
        NoiseSensitivityMetric().measure(case)
