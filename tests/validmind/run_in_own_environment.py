"""The ValidMind test in ValidMind: makes an environment with it and runs its tests there.

    python tests/validmind/run_in_own_environment.py [pytest's arguments]

Installing needs a package index; what runs afterwards has no network, no account and no key.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
TESTS = Path(__file__).parent / "own_environment"
# LangChain for the tests of `judge_llm`, hypothesis for the random tables.
NEEDED = [f"{ROOT}[validmind,langchain]", "pytest>=8.4"]
NEEDED += ["pytest-timeout>=2.3", "hypothesis>=6.100"]


def main() -> int:
    with TemporaryDirectory(prefix="validmind-") as scratch:
        folder = Path(scratch).resolve()
        venv.create(folder / "env", with_pip=True)
        python = _python(folder / "env")
        subprocess.run([python, "-m", "pip", "install", "-q", *NEEDED], check=True)
        # From elsewhere and with the tests alone on the path: what is tested is the installed one.
        command = [python, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
        command += ["-o", f"pythonpath={ROOT / 'tests'}", "-o", "norecursedirs="]
        command += ["-p", "no:cacheprovider", TESTS, *sys.argv[1:]]
        return subprocess.run(command, cwd=folder, check=False).returncode


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


if __name__ == "__main__":
    sys.exit(main())
