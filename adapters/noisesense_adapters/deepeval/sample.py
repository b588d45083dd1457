"""A DeepEval test case as a sample, with the labels and verdicts it may carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase

from noisesense import InputError, Sample
from noisesense.errors import describe, error_context
from noisesense_adapters.reading.chunks import chunks_of
from noisesense_adapters.evaluate.evaluator import Given
from noisesense_adapters.reading.row import read_verdicts
from noisesense_adapters.reading.UNKNOWN_texts import texts_of_sample

_NEEDED = ("actual_output", "expected_output", "retrieval_context")


def place_of(test_case: LLMTestCase) -> str:
    """What errors call the test case: its name, or its input."""
    return f"test case {describe(test_case.name or test_case.input)}"


def read_case(test_case: LLMTestCase, metric: str) -> Given:
    """The test case as a `Sample`, and the verdicts that it brings.

    Raises `MissingTestCaseParamsError`, `InputError`.
    """
    absent: list[str] = []
    for name in _NEEDED:
        value = getattr(test_case, name)
        # An empty list is not absent: nothing was retrieved.
        if value is None or not str(value).strip():
            absent.append(name)
    if absent:
        names = f"{' and '.join(map(repr, absent))} cannot be None or empty"
        where = f"for the '{metric}' metric in {place_of(test_case)}"
        raise MissingTestCaseParamsError(f"{names} {where}")
    if test_case.multimodal:
        raise InputError("a test case of texts", "one with images")
    metadata = cast("Mapping[str, Any]", getattr(test_case, "metadata", None) or {})
    with error_context("retrieval_context"):
        chunks = chunks_of(test_case.retrieval_context, labels=metadata.get("chunk_labels"))
    with error_context("actual_output"):
        texts = texts_of_sample(
            user_input=test_case.input,
            response=test_case.actual_output,
            reference=test_case.expected_output,
        )
    sample = Sample.model_validate({**texts, "retrieved_contexts": chunks})
    verdicts = metadata.get("verdicts")
    if verdicts is None:
        return Given(sample)
    return Given(sample, read_verdicts(verdicts, sample, "metadata['verdicts']"))
