"""Datasets of many kinds, read as samples, scored, and written as results."""

from importlib import import_module
from typing import Any

# By name its module, as in ``__init__.pyi``. It is loaded when the name is first used: one reader
# needs none of the others.
_HOMES = {
    "BadRow": "rows",
    "Row": "rows",
    "ablate": "answering",
    "read_labels": "sheets",
    "read_rows": "read",
    "results_of": "read",
    "score_dataset": "score",
    "write_labels": "sheets",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
