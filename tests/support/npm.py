"""npm packages that tests run: installed once by their lock files.

    PYTHONPATH=tests python -m support.npm CACHE LOCK_FOLDER …

installs them before any test needs them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def installed(lock: Path, cache: Path) -> Path:
    """The ``node_modules`` of a folder with a lock file, installed below ``cache`` if missing.

    Of several processes one installs and the others wait. Without npm there is nothing to run: a
    failure in CI, a skip with this reason elsewhere.
    """
    files = [lock / "package.json", lock / "package-lock.json"]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    name = f"{lock.name}-{platform.system()}-{platform.machine()}-{digest}".lower()
    folder = cache / name
    if not folder.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            reason = f"npm is not installed, so {lock.name} cannot be run"
            if os.environ.get("CI"):
                raise FileNotFoundError(reason)
            import pytest

            pytest.skip(reason)
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not folder.is_dir():
                _install(npm, files, folder)
    return folder / "node_modules"


def _install(npm: str, files: list[Path], folder: Path) -> None:
    """Install what is locked, without optional packages: clients of services, and other programs.

    Only the native half of ``libsql`` is needed, which npm finds for this machine.
    """
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix="installing-"))
    try:
        for file in files:
            shutil.copy(file, made)
        _run(made, npm, "ci", "--omit=optional")
        locked = json.loads((made / "package-lock.json").read_text("utf-8"))["packages"]
        libsql = locked.get("node_modules/libsql")
        if libsql is not None:
            apart = made / "libsql"
            _run(made, npm, "install", "--prefix", str(apart), f"libsql@{libsql['version']}")
            for native in (apart / "node_modules" / "@libsql").iterdir():
                native.rename(made / "node_modules" / "@libsql" / native.name)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _run(folder: Path, npm: str, *arguments: str) -> None:
    done = subprocess.run(
        [npm, *arguments, "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        env={**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"npm {arguments[0]} failed:\n{done.stderr}"


if __name__ == "__main__":
    for each in sys.argv[2:]:
        installed(Path(each), Path(sys.argv[1]).absolute())
