"""Spark and Ray Data: makes an environment with both and runs the tests of the page's examples.

    python tests/engines/run_in_own_environment.py [--python PYTHON] [pytest's arguments]

Spark needs a Java runtime (Debian's openjdk-17-jre-headless). Installing needs a package index,
and takes minutes; ``--python`` names an environment in which it was done before. What runs
afterwards has no network but this machine's.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
TESTS = Path(__file__).parent / "own_environment"
NEEDED = [f"{ROOT}[table]", "pyspark>=4,<5", "ray[data]>=2.40", "pandas>=2"]
# What tests/ needs.
NEEDED += ["pytest>=8.4", "pytest-timeout>=2.3", "hypothesis>=6.100", "httpx>=0.27"]


def main() -> int:
    arguments = sys.argv[1:]
    with TemporaryDirectory(prefix="engines-") as scratch:
        folder = Path(scratch).resolve()
        if arguments[:1] == ["--python"]:
            python = Path(arguments[1])
            arguments = arguments[2:]
        else:
            venv.create(folder / "env", with_pip=True)
            python = folder / "env" / "bin" / "python"
            subprocess.run([python, "-m", "pip", "install", "-q", *NEEDED], check=True)
        command = [python, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
        command += ["-o", f"pythonpath={ROOT / 'tests'}", "-o", "norecursedirs=", "-o", "addopts="]
        command += ["-o", "filterwarnings=default", "-p", "no:cacheprovider", TESTS, *arguments]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
