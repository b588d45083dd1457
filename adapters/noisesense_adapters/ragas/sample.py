"""A row of a ragas dataset as a sample, with the labels or verdicts it may carry.

ragas' contexts are plain strings and its rows have no free columns. Only ``rubrics``, a dictionary
of texts, has room for more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from noisesense.errors import InputError, describe, error_context
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts
from noisesense_adapters.reading.chunks import chunks_of
from noisesense_adapters.evaluate.evaluator import Given
from noisesense_adapters.reading.values import is_empty
from noisesense_adapters.reading.row import read_verdicts
from noisesense_adapters.reading.chunks import named_by
from noisesense_adapters.reading.UNKNOWN_texts import texts_of_sample

_TEXTS = ("user_input", "response", "reference")
FIELDS = (*_TEXTS, "retrieved_contexts")
_LABELS = "noisesense_labels"
_VERDICTS = "noisesense_verdicts"


def rubrics(
    *, labels: Sequence[bool | None] | None = None, verdicts: Verdicts | None = None
) -> dict[str, str]:
    """Entries for a row's ``rubrics``, beside others, that our metric reads.

    Args:
        labels: whether each context is relevant; ``None`` leaves it to the verdicts.
        verdicts: used instead of a judge.
    """
    entries: dict[str, str] = {}
    if labels is not None:
        entries[_LABELS] = json.dumps(list(labels))
    if verdicts is not None:
        entries[_VERDICTS] = verdicts.model_dump_json(exclude_defaults=True)
    return entries


class VerdictsInRows:
    """The judge for a dataset in which every row carries its verdicts (see `rubrics`)."""

    async def judge(self, sample: Sample) -> Verdicts:
        """Called only for a row that carries none. Raises `InputError`."""
        raise InputError("verdicts in the row's rubrics", "none", hint="rubrics(verdicts=…)")


def read_row(row: Mapping[str, Any], ids: Any = None) -> Given:
    """The row's sample, and its verdicts if it carries any. Raises `InputError`.

    Args:
        row: of the dataset.
        ids: names of the contexts' documents; see `named_by`.
    """
    entries = cast("Mapping[str, str]", row.get("rubrics") or {})
    with error_context("retrieved_contexts"):
        chunks = chunks_of(row.get("retrieved_contexts"), labels=entries.get(_LABELS))
    chunks = named_by(ids, chunks)
    with error_context("response"):
        texts = texts_of_sample(**{name: row.get(name) for name in _TEXTS})
    sample = Sample.model_validate({**texts, "retrieved_contexts": chunks})
    if _VERDICTS not in entries:
        return Given(sample)
    return Given(sample, read_verdicts(entries[_VERDICTS], sample, f"rubrics[{_VERDICTS!r}]"))


def row_trace(group: Any) -> Any:
    """What ragas has traced of the row of its row group; None outside ``evaluate()``."""
    run_id = str(getattr(group, "parent_run_id", None))
    # The last tracer: a list of callbacks that is handed to several runs keeps all of them.
    for handler in reversed(getattr(group, "handlers", ())):
        trace = getattr(handler, "traces", {}).get(run_id)
        if trace is not None and "row_index" in trace.metadata:
            return trace
    return None


def row_place(row: Mapping[str, Any], group: Any = None) -> str:
    """The row as errors name it: by its number, if known, and its question or its response."""
    question = row.get("user_input")
    words = describe(row.get("response") if is_empty(question) else question)
    trace = row_trace(group)
    return f"row {trace.metadata['row_index']} ({words})" if trace else f"row {words}"
