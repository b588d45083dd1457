"""numpy, and SciPy's distributions: loaded when an interval is asked for, as they take a while."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noisesense.errors import MissingExtraError


def numpy() -> Any:
    """Load numpy. Raises `MissingExtraError`."""
    return _load("numpy")


def special() -> Any:
    """Load SciPy's distribution functions. Raises `MissingExtraError`."""
    return _load("scipy.special")


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"an interval needs the package {error.name!r}, which is not installed. "
            "Hint: pip install 'noisesense[stats]'"
        ) from error
