"""An adapter's error where its framework is not installed."""

from __future__ import annotations

import subprocess
import sys

from support.command import environment

_PROGRAM = """
import sys
from noisesense import MissingExtraError, Verdicts, score
assert score(Verdicts.from_matrices([False], [[True]], [[True]])).relevant == 1
try:
    __import__(f"noisesense_adapters.{sys.argv[1]}")
except MissingExtraError as error:
    print(error)
"""


def error_without(framework: str) -> str:
    """What importing the adapter says without its framework; the core works all the same."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, framework],
        env={**environment(), "TEST_HIDDEN_PACKAGES": framework},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stderr == ""
    return done.stdout.strip()
