"""Scores of whole tables, each as exact as one by one.

Needs the extra ``table``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisesense_adapters.table.arrow import score_schema, score_table, tally_table

__all__ = ["score_schema", "score_table", "tally_table"]


def __getattr__(name: str) -> Any:
    # Lazily: who reads lines alone (`noisesense score`) loads no Arrow.
    if name in __all__:
        return getattr(import_module("noisesense_adapters.table.arrow"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
