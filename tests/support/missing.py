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

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

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
        timeout=300,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()
