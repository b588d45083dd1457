"""What the hosts of experiments have in common: an application's outputs, and judging's cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from noisesense import Judge, Sample, Usage
from support.adapter_tests import AdapterTests, HostRun
from support.table_judge import TEXTS

COSTS = ("calls", "cached_calls", "input_tokens", "output_tokens", "cost")


class GivenRow(NamedTuple):
    """In a sample's place: what a retriever returned, whatever it is."""

    user_input: str
    response: str
    reference: str
    retrieved: object


def given_rows(things: Iterable[object]) -> list[Any]:
    """A row for each of the things, with the texts of `AdapterTests`."""
    return [
        GivenRow(*(TEXTS[name].format(number) for name in GivenRow._fields[:3]), thing)
        for number, thing in enumerate(things)
    ]


def contexts(sample: Sample | GivenRow) -> Any:
    """What a retriever returns: documents with their ids and labels."""
    if isinstance(sample, GivenRow):
        return sample.retrieved
    return [chunk.model_dump(exclude_none=True) for chunk in sample.retrieved_contexts]


def outputs(sample: Sample) -> dict[str, Any]:
    """What an application returns."""
    return {"answer": sample.response, "contexts": contexts(sample)}


def usage_in(metadata: Iterable[Mapping[str, Any] | None]) -> Usage:
    """The cost in all the results' metadata."""
    total = Usage()
    for each in metadata:
        total += Usage(**{name: each[name] for name in COSTS if each and name in each})
    return total


def score_name(mode: str, definition: str) -> str:
    """What hosts call a score: any definition but the default is part of the name."""
    return f"noise_sensitivity_{mode}" + ("" if definition == "ragas" else f"_{definition}")


class ExperimentTests(AdapterTests):
    """The tests for a host whose rows are whatever an application returns."""

    tables = 50

    def retrieved(self, things: Sequence[object], judge: Judge) -> HostRun:
        return self.run(given_rows(things), judge)

    def document(self, text: str, metadata: Mapping[str, Any]) -> object:
        from langchain_core.documents import Document

        return Document(page_content=text, metadata=dict(metadata))
