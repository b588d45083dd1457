"""An adapter's error where its framework is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["error_without"]

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
import sys
sys.modules[sys.argv[1]] = None  # as if it were not installed

import noisesense_adapters
from noisesense import MissingExtraError, Verdicts, score
assert score(Verdicts.from_matrices([False], [[True]], [[True]])).relevant == 1
try:
    __import__(f"noisesense_adapters.{sys.argv[1]}")
except MissingExtraError as error:
    print(error)
"""


def error_without(framework: str) -> str:
    """What importing the adapter says without its framework; the core works all the same."""
    paths = [str(_ROOT / "core"), str(_ROOT / "adapters")]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, framework],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()
