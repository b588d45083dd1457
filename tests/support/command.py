"""The command line in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import noisesense
import noisesense_adapters

_STARTUP = Path(__file__).parent / "startup"
ROOTS = tuple(Path(package.__path__[0]).parent for package in (noisesense, noisesense_adapters))
_KEYS = ("API_KEY", "TOKEN", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "PYTHONPATH")


def environment(roots: Iterable[Path] = ROOTS) -> dict[str, str]:
    """This process's environment without keys and terminal settings, to start Python in."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(_KEYS)}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, [_STARTUP, *roots]))}


def run(
    *arguments: str | Path,
    cwd: Path | None = None,
    hidden: Iterable[str] = (),
    network_log: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    roots: Iterable[Path] = ROOTS,
) -> subprocess.CompletedProcess[str]:
    """Run ``noisesense`` in a pipe, without any key in its environment.

    Args:
        hidden: packages that look as if they were not installed.
        network_log: forbids the network, also to Node.js; attempts are written here.
        env: more environment variables.
        roots: where the packages are imported from.
    """
    variables = environment(roots)
    variables["TEST_HIDDEN_PACKAGES"] = ",".join(hidden)
    if network_log:
        variables["TEST_NETWORK_LOG"] = str(network_log)
        variables["NODE_OPTIONS"] = f"--require {_STARTUP / 'no_network.cjs'}"
    return subprocess.run(
        [sys.executable, "-m", "noisesense", *map(str, arguments)],
        cwd=cwd,
        env={**variables, **(env or {})},
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
