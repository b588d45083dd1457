"""Fuzz everything that reads from outside: ``python tests/fuzz/run.py --minutes 10 [target …]``.

Each target runs in a process of its own, with inputs from hypothesis. An input may take 10 seconds
of the processor, so that a busy machine is no finding, and 2 GB. The minutes are for each target.
What is found is written to ``findings/`` beside this file; give such a file as ``--input`` to see
its traceback. Exit status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hypothesis

HERE = Path(__file__).resolve().parent
FINDINGS = HERE / "findings"
SECONDS, MEGABYTES = 10, 2048


def fuzz(name: str, seconds: float) -> None:
    """Rounds of 100 inputs, until the time is over. What the last one was is left behind."""
    from fuzz.inputs import inputs_of
    from fuzz.targets import run

    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES * 2**20, -1))
    signal.signal(signal.SIGPROF, _too_slow)
    runs, end = 0, time.monotonic() + seconds
    last = FINDINGS / name
    while time.monotonic() < end:

        @hypothesis.seed(time.time_ns())
        @hypothesis.settings(
            max_examples=100,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(inputs_of(name))
        def check(data: bytes) -> None:
            nonlocal runs
            runs += 1
            last.write_bytes(data)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            run(name, data)
            signal.setitimer(signal.ITIMER_PROF, 0)

        check()
    last.unlink(missing_ok=True)
    print(f"runs: {runs}")


class _TooSlowError(BaseException):
    """No reader may catch it as an error of the file."""


def _too_slow(*_: object) -> None:
    raise _TooSlowError(f"more than {SECONDS} seconds for one input")


def _child(name: str, seconds: float) -> str:
    """What is said of a target: how many inputs, and what was found."""
    memory = Path("/dev/shm")  # else the disk would be what is measured
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        done = subprocess.run(
            [sys.executable, __file__, "--seconds", str(seconds), name],
            env={**os.environ, "TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 0:
        return done.stdout.strip()
    errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*$", done.stderr, re.MULTILINE)
    return "FOUND: " + (" | ".join(dict.fromkeys(errors))[:300] or f"status {done.returncode}")


def main() -> int:
    for folder in (HERE.parent, HERE.parents[1] / "core", HERE.parents[1] / "adapters"):
        sys.path.insert(0, str(folder))
    from fuzz.targets import TARGETS, run

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="target")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--input", type=Path, help="run one input and show what happens")
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    FINDINGS.mkdir(exist_ok=True)
    names = arguments.targets or list(TARGETS)
    if arguments.seconds:
        fuzz(names[0], arguments.seconds)
        return 0
    if arguments.input:
        run(names[0], arguments.input.read_bytes())
        return 0
    found = 0
    for name in names:
        said = _child(name, 60 * arguments.minutes)
        found += said.startswith("FOUND")
        print(f"{name:<14}{said}", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
