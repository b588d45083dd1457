"""A DeepEval test case as a sample, with the labels and verdicts it may carry."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from deepeval.errors import MissingTestCaseParamsError
from deepeval.test_case import LLMTestCase

from noisesense import InputError, Sample, Verdicts
from noisesense.errors import describe, located
from noisesense_adapters.toolbox.judges import STAND_IN, nothing_retrieved, verdicts_given

VERDICTS = "verdicts"
LABELS = "chunk_labels"
_NEEDED = ("actual_output", "expected_output", "retrieval_context")

Labels = Mapping[str, bool | None]


def place_of(test_case: LLMTestCase) -> str:
    """What errors call the test case: its name, or its input."""
    return f"test case {describe(test_case.name or test_case.input)}"


def sample_of(test_case: Any, metric_name: str, labels: Labels | None) -> Sample:
    """The test case in the core's words. Raises `MissingTestCaseParamsError`, `InputError`.

    A chunk's label is taken from ``metadata["chunk_labels"]`` (one of true, false, null for each
    item of ``retrieval_context``), else from ``labels`` by the chunk's source or text.
    """
    if not isinstance(test_case, LLMTestCase):
        raise InputError("an LLMTestCase", type(test_case).__name__, where="test case")
    missing = [name for name in _NEEDED if _is_empty(getattr(test_case, name))]
    if missing:
        raise MissingTestCaseParamsError(
            f"{' and '.join(map(repr, missing))} cannot be None or empty "
            f"for the '{metric_name}' metric in {place_of(test_case)}"
        )
    if test_case.multimodal:
        raise InputError("a test case of texts", "one with images", where=place_of(test_case))
    with located(place_of(test_case)):
        return Sample.model_validate(
            {
                "user_input": test_case.input,
                "response": test_case.actual_output,
                "reference": test_case.expected_output,
                "retrieved_contexts": _chunks(test_case, labels),
            }
        )


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _chunks(test_case: LLMTestCase, labels: Labels | None) -> Any:
    """The contexts as core reads them; core refuses what they should not be."""
    items = _listed(test_case.retrieval_context)
    if items is None:
        return test_case.retrieval_context
    own = _own_labels(test_case, len(items))
    chunks = [_chunk(item, own[j] if own else None, labels) for j, item in enumerate(items)]
    return chunks or STAND_IN


def _chunk(item: Any, label: Any, labels: Labels | None) -> Any:
    """DeepEval has `RetrievedContextData(context, source)` beside plain strings."""
    text, source = getattr(item, "context", item), getattr(item, "source", None)
    if not isinstance(text, str):
        return text
    if label is None and labels:
        label = labels.get(source or text, labels.get(text))
    return {"text": text, "id": source, "relevant": label}


def _own_labels(test_case: LLMTestCase, count: int) -> list[Any] | None:
    labels = _metadata(test_case).get(LABELS)
    if labels is None:
        return None
    where, items = f"metadata[{LABELS!r}]", _listed(labels)
    if items is None:
        raise InputError("a list of true, false or null", describe(labels), where=where)
    if len(items) != count:
        raise InputError(
            f"{count} labels, one for each item of retrieval_context", str(len(items)), where=where
        )
    return items


def _listed(value: object) -> list[Any] | None:
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else None


def _metadata(test_case: LLMTestCase) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", getattr(test_case, "metadata", None) or {})


_REMEMBERED = 1_000

_lock = threading.Lock()
# The runner measures with copies of the metric, so this is not an attribute. The entry holds the
# object, too, so that no other object can have its id.
_used_for: OrderedDict[int, tuple[object, str]] = OrderedDict()


def given_verdicts(
    test_case: LLMTestCase, of_metric: Verdicts | Mapping[str, Any] | None, sample: Sample
) -> Verdicts | None:
    """The verdicts in ``metadata["verdicts"]``, else those of the metric; None if there are none.

    Raises `InputError` if they do not fit the test case, or are the metric's and already used for
    another sample: scoring that one with them would be meaningless.
    """
    own = _metadata(test_case).get(VERDICTS)
    retrieved = bool(test_case.retrieval_context)
    if own is not None:
        where = f"{place_of(test_case)}, metadata[{VERDICTS!r}]"
        return verdicts_given(own, sample, where, retrieved=retrieved)
    if of_metric is None:
        return None if retrieved else nothing_retrieved(sample.response)
    with _lock:
        _, key = _used_for.setdefault(id(of_metric), (of_metric, sample.key))
        if len(_used_for) > _REMEMBERED:
            _used_for.popitem(last=False)
    if key != sample.key:
        raise InputError(
            "one test case, the one they were given for",
            "a second test case",
            where="verdicts",
            hint='put each test case\'s own into its metadata["verdicts"], '
            "or give a recording of all: judge=RecordedJudge(…)",
        )
    return verdicts_given(of_metric, sample, "verdicts", retrieved=retrieved)
