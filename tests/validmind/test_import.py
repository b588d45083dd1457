"""Without ValidMind. With it, see `run_in_own_environment.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
sys.modules["validmind"] = None  # as if it were not installed

from noisesense import MissingExtraError
try:
    import noisesense_adapters.validmind
except MissingExtraError as error:
    print(error)
"""


def test_the_error_names_the_extra_and_where_to_install_it() -> None:
    paths = [str(ROOT / "core"), str(ROOT / "adapters")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    problem, _, hint = done.stdout.strip().partition(". Hint: ")
    assert done.stderr == ""
    assert problem == "the package 'validmind' is not installed"
    assert hint.startswith("pip install 'noisesense[validmind]' in an environment of its own")


def test_no_other_module_imports_the_test() -> None:
    folder = ROOT / "adapters" / "noisesense_adapters"
    others = [path for path in folder.rglob("*.py") if path.parent.name != "validmind"]
    others += (ROOT / "core").rglob("*.py")
    assert len(others) > 100
    assert [p for p in others if "noisesense_adapters.validmind" in p.read_text("utf-8")] == []
