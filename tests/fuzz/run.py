"""Fuzz everything that reads from outside: ``python tests/fuzz/run.py --minutes 10 [target …]``.

Each target runs in a process of its own, first under a coverage-guided fuzzer (atheris, if it is
installed: ``pip install atheris``), then with structured inputs from hypothesis. An input may take
10 seconds and 2 GB. The minutes are for each target. What is found is written to ``findings/``
beside this file; give such a file as ``--input`` to see its traceback. Exit status 1 if anything
was found. The seconds of an input are the processor's: a busy machine is no finding.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
FINDINGS = HERE / "findings"
SECONDS, MEGABYTES, LENGTH = 10, 2048, 4096
_HANGS = 600
"""Seconds after which an input that does nothing is given up."""
_SHARE_OF_HYPOTHESIS = 0.2


def _paths() -> None:
    for folder in (HERE.parent, HERE.parents[1] / "core", HERE.parents[1] / "adapters"):
        sys.path.insert(0, str(folder))


def coverage_guided(name: str, seconds: int) -> None:
    """Runs in a process of its own; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["noisesense", "noisesense_adapters", "json"]):
        from fuzz.targets import CORPUS, run

    found = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    seeds = CORPUS / name
    atheris.Setup(
        [
            *(sys.argv[0], str(found), *([str(seeds)] if seeds.is_dir() else [])),
            *(f"-max_total_time={seconds}", f"-timeout={_HANGS}", f"-rss_limit_mb={MEGABYTES}"),
            *(f"-artifact_prefix={FINDINGS}/{name}-", "-print_final_stats=1", "-verbosity=0"),
            f"-max_len={max([LENGTH, *(2 * each.stat().st_size for each in _files(seeds))])}",
        ],
        lambda data: _in_time(run, name, data),
    )
    atheris.Fuzz()


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def structured(name: str, seconds: int) -> None:
    """Hypothesis, in rounds of 100 inputs, until the time is over."""
    import resource

    import hypothesis

    from fuzz.inputs import inputs_of
    from fuzz.targets import run

    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES * 2**20, -1))
    runs, end = 0, time.monotonic() + seconds
    last = FINDINGS / f"{name}-hypothesis"
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
            _in_time(run, name, data)

        check()
    last.unlink(missing_ok=True)
    print(f"stat::number_of_executed_units: {runs}")


class _TooSlowError(BaseException):
    """No reader may catch it as an error of the file."""


def _in_time(run: Callable[[str, bytes], None], name: str, data: bytes) -> None:
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        run(name, data)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(*_: object) -> None:
    raise _TooSlowError(f"more than {SECONDS} seconds for one input")


def _child(engine: str, name: str, seconds: int) -> tuple[int, float, str]:
    """How many inputs, in how many seconds, and what was found."""
    start = time.monotonic()
    memory = Path("/dev/shm")  # else the disk would be what is measured
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        tempfile.TemporaryFile("w+") as log,
    ):
        process = subprocess.Popen(
            [sys.executable, __file__, "--engine", engine, "--seconds", str(seconds), name],
            env={**os.environ, "TMPDIR": folder},
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        status = process.wait()
        log.seek(0)
        said = log.read()
    runs = re.findall(r"number_of_executed_units: (\d+)", said)
    count = int(runs[-1]) if runs else 0
    found = ""
    if status:
        (FINDINGS / f"{name}-{engine}.log").write_text(said[-20_000:])
        errors = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|ERROR)\b.*$", said, re.MULTILINE)
        found = " | ".join(dict.fromkeys(errors))[:300] or f"exit status {status}"
    return count, time.monotonic() - start, found


def main() -> int:
    _paths()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each target")
    parser.add_argument("--input", type=Path, help="run one input and show what happens")
    parser.add_argument("--engine", choices=["atheris", "hypothesis"], help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    FINDINGS.mkdir(exist_ok=True)
    if arguments.engine:
        engine = {"atheris": coverage_guided, "hypothesis": structured}[arguments.engine]
        engine(arguments.targets[0], arguments.seconds)
        return 0

    from fuzz.targets import TARGETS, run

    if unknown := set(arguments.targets) - TARGETS.keys():
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    names = arguments.targets or list(TARGETS)
    if arguments.input:
        run(names[0], arguments.input.read_bytes())
        return 0
    guided = find_spec("atheris") is not None
    if not guided:
        print("atheris is not installed: hypothesis alone runs (pip install atheris)")
    print(f"{'target':<14}{'engine':<12}{'runs':>10}{'seconds':>9}  findings")
    findings = 0
    for name in names:
        of_hypothesis = _SHARE_OF_HYPOTHESIS if guided else 1.0
        for engine, share in {"atheris": 1 - of_hypothesis, "hypothesis": of_hypothesis}.items():
            if share:
                seconds = max(1, round(60 * arguments.minutes * share))
                runs, took, found = _child(engine, name, seconds)
                findings += bool(found)
                print(f"{name:<14}{engine:<12}{runs:>10,}{took:>9.0f}  {found or 0}", flush=True)
    print(f"{findings} findings" + (f": see {FINDINGS}" if findings else ""))
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
