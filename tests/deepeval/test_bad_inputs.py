"""The table of bad inputs through the adapter: one clear error that names the place."""

from __future__ import annotations

from typing import Any

import pytest
from deepeval.test_case import LLMTestCase

from noisesense import InputError
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.bad_inputs import GOOD_SAMPLE

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


def test_a_test_case_with_images_is_refused() -> None:
    case = _case(GOOD_SAMPLE)
    case.multimodal = True
    with pytest.raises(InputError, match="expected a test case of texts, got one with images"):
        NoiseSensitivityMetric().measure(case)
