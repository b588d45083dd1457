"""What ``noisesense promptfoo-init`` writes: an example that runs as it is."""

from __future__ import annotations

import os
from pathlib import Path

from noisesense.errors import InputError

_SHIM = "from noisesense_adapters.promptfoo import get_assert  # noqa: F401\n"
_TEMPLATES = Path(__file__).parent / "example"


def write_example(folder: str | os.PathLike[str], force: bool = False) -> list[Path]:
    """Write ``promptfooconfig.yaml``, its recorded verdicts and the one-line assertion file.

    ``promptfoo eval`` then runs there without a key and without the network.

    The folder is made if it is not there; ``force`` overwrites files of the same names. Returns
    the files written. Raises `InputError` and writes none if one is there without ``force``.
    """
    folder = Path(folder)
    files = {folder / path.name: path.read_bytes() for path in sorted(_TEMPLATES.iterdir())}
    files[folder / "noise_sensitivity.py"] = _SHIM.encode()
    existing = [path.name for path in files if path.exists()]
    if existing and not force:
        raise InputError(
            f"a folder without {existing[0]}",
            f"{', '.join(existing)} in it",
            where=str(folder),
            hint="--force (force=True) overwrites; or choose another folder",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        path.write_bytes(content)
    return list(files)
