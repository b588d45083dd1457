"""What several of a run's processes need and one of them makes."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def made_once(name: str, factory: pytest.TempPathFactory, make: Callable[[], T]) -> T:
    """What ``make`` gives; in pytest-xdist's processes all but the first read it from a file."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept = folder / f"{name}.pickle"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
        made: T = pickle.loads(kept.read_bytes())
    return made
