"""Datasets of many kinds, read as samples, scored, and written as results."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisesense_adapters.datasets.model import model_judge
    from noisesense_adapters.datasets.read import read_rows
    from noisesense_adapters.datasets.results import results_of
    from noisesense_adapters.datasets.rows import BadRow, Row
    from noisesense_adapters.datasets.score import score_dataset
    from noisesense_adapters.datasets.sheets import read_labels, write_labels

__all__ = [
    "BadRow",
    "Row",
    "model_judge",
    "read_labels",
    "read_rows",
    "results_of",
    "score_dataset",
    "write_labels",
]

_MODULES = {
    "BadRow": "rows",
    "Row": "rows",
    "model_judge": "model",
    "read_labels": "sheets",
    "read_rows": "read",
    "results_of": "results",
    "score_dataset": "score",
    "write_labels": "sheets",
}


def __getattr__(name: str) -> Any:
    """Load a public name's module when it is first used: one reader needs none of the others."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
