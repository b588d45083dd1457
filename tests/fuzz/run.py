"""Fuzz everything that reads from outside: ``python tests/fuzz/run.py --minutes 10 [target …]``.

Inputs are hypothesis's. An input may take 10 seconds of the processor, so that a busy machine is
no finding, and all together 2 GB. The minutes are for each target. What is found is written to
``findings/`` beside this file, also if it ends the process; give such a file as ``--input`` to see
its traceback. Exit status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import hypothesis

HERE = Path(__file__).resolve().parent
FINDINGS = HERE / "findings"
SECONDS = 10
MEGABYTES = 2048
for _folder in (HERE.parent, HERE.parents[1] / "core", HERE.parents[1] / "adapters"):
    sys.path.insert(0, str(_folder))


class _TooSlowError(BaseException):
    """No reader may catch it as an error of the file."""


def _too_slow(*_: object) -> None:
    raise _TooSlowError(f"more than {SECONDS} seconds for one input")


def fuzz(name: str, seconds: float) -> int:
    """Rounds of 100 inputs, until the time is over: how many. The last one is left behind."""
    from fuzz.inputs import inputs_of
    from fuzz.targets import run

    runs = 0
    end = time.monotonic() + seconds
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
            try:
                run(name, data)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)

        check()
    last.unlink(missing_ok=True)
    return runs


def main(folder: str) -> int:
    tempfile.tempdir = folder
    from fuzz.targets import TARGETS, run

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], metavar="target")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--input", type=Path, help="run one input and show what happens")
    arguments = parser.parse_args()
    names = arguments.targets or list(TARGETS)
    if arguments.input:
        run(names[0], arguments.input.read_bytes())
        return 0
    FINDINGS.mkdir(exist_ok=True)
    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES * 2**20, -1))
    signal.signal(signal.SIGPROF, _too_slow)
    found = 0
    for name in names:
        try:
            said = f"runs: {fuzz(name, 60 * arguments.minutes)}"
        except (Exception, _TooSlowError) as error:  # noqa: BLE001 - whatever comes out is a finding
            found += 1
            said = f"FOUND: {type(error).__name__}: {error}"[:300]
        print(f"{name:<14}{said}", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    memory = Path("/dev/shm")  # else the disk would be what is measured
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        sys.exit(main(scratch))
