"""The built wheel by its name: an index that has nothing else, and new environments from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def local_index(folder: Path) -> Path:
    """Make an index of packages with the wheel of this tree and nothing else."""
    ours = folder / "noisesense"
    ours.mkdir(parents=True)
    subprocess.run([_uv(), "build", "-q", "--wheel", "-o", ours, ROOT], check=True)
    (wheel,) = ours.glob("*.whl")
    (ours / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', "utf-8")
    return folder


def _uv() -> str:
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    uv = shutil.which("uv", path=here)
    if uv is None:
        raise FileNotFoundError("uv is missing: pip install uv")
    return uv


def environment_with(wanted: Sequence[str], folder: Path, index: Path) -> Path:
    """Make an environment with these packages, ours by its name from that index; its Python."""
    subprocess.run([_uv(), "venv", "-q", "--python", sys.executable, folder], check=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    # Whatever another index has under our name is never looked at.
    command = [_uv(), "pip", "install", "-q", "--python", python, "--index", index.as_uri()]
    subprocess.run([*command, *wanted], check=True)
    return python
