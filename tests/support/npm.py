"""npm packages that tests run: installed once by their lock files."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest


def npm_cache(config: pytest.Config) -> Path:
    """Where Promptfoo is kept between runs: NOISESENSE_NPM_DIR, or pytest's cache."""
    given = os.environ.get("NOISESENSE_NPM_DIR")
    if given:
        return Path(given).absolute()
    kept = getattr(config, "cache", None)
    if kept is not None:
        return Path(kept.mkdir("promptfoo")).absolute()
    return Path(tempfile.gettempdir(), f"noisesense-npm-{os.getuid()}")


def installed(lock: Path, cache: Path, *, unused: Sequence[str] = ()) -> Path:
    """The ``node_modules`` of a folder with a lock file, installed below ``cache`` if missing.

    Folders that match one of ``unused`` are removed after the installation. Without npm there is
    nothing to run: a failure in CI, a skip with this reason elsewhere.
    """
    files = [lock / "package.json", lock / "package-lock.json"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    name = f"{lock.name}-{platform.system()}-{platform.machine()}-{digest}".lower()
    folder = cache / name
    if not folder.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            stop = pytest.fail if os.environ.get("CI") else pytest.skip
            stop(f"npm is not installed, so {lock.name} cannot be run")
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=cache, prefix="installing-"))
        for file in files:
            shutil.copy(file, made)
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=made,
            env={**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"npm ci of {lock.name} failed:\n{done.stderr}"
        for pattern in unused:
            for path in (made / "node_modules").glob(pattern):
                shutil.rmtree(path)
        _publish(made, folder)
    return folder / "node_modules"


def _publish(made: Path, folder: Path) -> None:
    """Rename into place; if another run was faster, its folder is as good."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(made, ignore_errors=True)
