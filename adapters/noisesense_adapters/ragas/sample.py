"""A row of a ragas dataset as a sample, with the labels or verdicts it may carry.

ragas' contexts are plain strings and its rows have no free columns. Only ``rubrics``, a dictionary
of texts, has room for more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from noisesense.errors import InputError, describe
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts
from noisesense_adapters.reading.chunks import IDS
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.row import Reader, Reading
from noisesense_adapters.reading.values import is_empty

FIELDS = ("user_input", "response", "reference", "retrieved_contexts")
OPTIONAL = ("rubrics", IDS)
_LABELS = "noisesense_labels"
_VERDICTS = "noisesense_verdicts"


def rubrics(
    *, labels: Sequence[bool | None] | None = None, verdicts: Verdicts | None = None
) -> dict[str, str]:
    """Entries for a row's ``rubrics``, beside others, that our metric reads: JSON texts.

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


_HINT = "ragas' evaluate() takes columns of other names by its column_map="
_READER = Reader({**HOSTS["ragas"], IDS: IDS}, hint=_HINT)


def read_row(row: Mapping[str, Any]) -> Reading:
    """Read a dataset's row: its sample, and its verdicts if it carries any.

    What is missing or wrong is raised when the sample or the verdicts are asked for.
    """
    return _READER.read(row)


def row_trace(group: Any) -> Any:
    """Return what ragas has traced of the row of its row group; None outside ``evaluate()``."""
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
