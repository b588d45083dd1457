"""What the hosts of experiments have in common: an application's outputs, and judging's cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from noisesense import Sample, Usage
from support.adapter_tests import AdapterTests

COSTS = ("calls", "cached_calls", "input_tokens", "output_tokens", "cost")


def contexts(sample: Sample) -> Any:
    """What a retriever returns: documents with their ids and labels."""
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
