"""A row of a ragas dataset as a sample, with the labels or verdicts it may carry.

ragas' contexts are plain strings and its rows have no free columns. Only ``rubrics``, a dictionary
of texts, has room for more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.verdicts.sample import Chunk, Sample
from noisesense.verdicts.verdicts import Verdicts
from noisesense_adapters.toolbox.judges import read_verdicts

FIELDS = ("user_input", "response", "reference", "retrieved_contexts")
_LABELS, _VERDICTS = "noisesense_labels", "noisesense_verdicts"


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
        raise InputError(
            f"verdicts in {_place(_VERDICTS)}",
            "none",
            hint="put them there with rubrics(verdicts=…), or give the metric a judge or llm",
        )


def read_row(row: Mapping[str, Any]) -> tuple[Sample, Verdicts | None]:
    """The row's sample, and its verdicts if it carries any. Raises `InputError`."""
    entries = cast("Mapping[str, str]", row.get("rubrics") or {})
    sample = Sample.model_validate({name: row.get(name) for name in FIELDS})
    if _LABELS in entries:
        sample = _labeled(sample, entries[_LABELS])
    if _VERDICTS not in entries:
        return sample, None
    return sample, read_verdicts(entries[_VERDICTS], sample, _place(_VERDICTS))


def _labeled(sample: Sample, text: str) -> Sample:
    contexts = sample.retrieved_contexts
    wanted = f"a JSON list of true, false or null, one for each of {len(contexts)} contexts"
    try:
        read: object = json.loads(text)
    except ValueError:
        read = None
    labels = cast("list[object]", read) if isinstance(read, list) else []
    if len(labels) != len(contexts):
        raise InputError(wanted, describe(text), where=_place(_LABELS))
    chunks: list[Chunk] = []
    for j, (chunk, label) in enumerate(zip(contexts, labels, strict=True)):
        if label is not None and not isinstance(label, bool):
            raise InputError(wanted, describe(label), where=f"{_place(_LABELS)}, chunk {j}")
        known = chunk.relevant if label is None else label
        chunks.append(Chunk(text=chunk.text, relevant=known, id=chunk.id))
    return sample.model_copy(update={"retrieved_contexts": tuple(chunks)})


def _place(name: str) -> str:
    return f"rubrics[{name!r}]"


def row_place(row: Mapping[str, Any], number: int | None = None) -> str:
    """The row as errors name it: by its number, if known, and its question or its response."""
    words = describe(row.get("user_input") or row.get("response"))
    return f"row {words}" if number is None else f"row {number} ({words})"
