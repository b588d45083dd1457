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
    """An index of packages with the wheel of this tree and nothing else."""
    ours = folder / "noisesense"
    ours.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", ours, ROOT]
    if uv := _uv():
        command = [uv, "build", "-q", "--wheel", "-o", ours, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = ours.glob("*.whl")
    (ours / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', "utf-8")
    return folder


def _uv() -> str | None:
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return shutil.which("uv", path=here)


def environment_with(wanted: Sequence[str], folder: Path, index: Path) -> Path:
    """A new environment with these packages, ours by its name from that index; its Python."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if uv := _uv():
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
        # Whatever another index has under our name is never looked at.
        command = [uv, "pip", "install", "-q", "--python", python, "--index", index.as_uri()]
        subprocess.run([*command, *wanted], check=True)
    else:
        (wheel,) = (index / "noisesense").glob("*.whl")
        files = [
            f"{name} @ {wheel.as_uri()}" if name.startswith("noisesense") else name
            for name in wanted
        ]
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *files], check=True)
    return python
