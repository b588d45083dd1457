"""A DeepEval test case as a sample, with the labels and verdicts it may carry."""

from __future__ import annotations

from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase

from noisesense import InputError
from noisesense.errors import describe
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.row import Reader, Reading

_NEEDED = ("actual_output", "expected_output", "retrieval_context")
_READER = Reader(HOSTS["deepeval"])


def place_of(test_case: LLMTestCase) -> str:
    """Return what errors call the test case: its name, or its input."""
    return f"test case {describe(test_case.name or test_case.input)}"


def read_case(test_case: LLMTestCase, metric: str) -> Reading:
    """Read the test case's texts, and where its verdicts stand.

    Raises `MissingTestCaseParamsError`, which names the metric, and `InputError`. What does not
    make a `Sample` or `Verdicts` raises where it is asked for: ``.sample``, ``.verdicts``.
    """
    absent: list[str] = []
    for name in _NEEDED:
        value = getattr(test_case, name)
        # An empty list is not absent: nothing was retrieved.
        if value is None or not str(value).strip():
            absent.append(name)
    if absent:
        names = " and ".join(map(repr, absent))
        where = f"for the '{metric}' metric in {place_of(test_case)}"
        raise MissingTestCaseParamsError(f"{names} cannot be None or empty {where}")
    if test_case.multimodal:
        raise InputError("a test case of texts", "one with images")
    row = {name: getattr(test_case, name) for name in ("input", *_NEEDED)}
    reading = _READER.read({**row, "metadata": getattr(test_case, "metadata", None)})
    reading.check(*reading.errors)
    return reading
