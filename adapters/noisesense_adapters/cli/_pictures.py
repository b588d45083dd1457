"""Where a report and a picture go: checked before a run that may cost hours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from noisesense.errors import InputError
from noisesense_adapters.scoring._files import check_folder

__all__ = ["check_pictures"]


def check_pictures(report: Path | None, png: Path | None, dataset: Path) -> None:
    """Raise if one that is asked for cannot be made.

    Raises:
        InputError: another ending, no folder, or a file that must not be overwritten.
        MissingExtraError: what draws is not installed.
    """
    wanted = [(report, ".html", "--report"), (png, ".png", "--png")]
    for path, ending, option in wanted:
        if path is not None:
            _check(path, ending, option, dataset)
    if report is not None or png is not None:
        import_module("noisesense_adapters.report")


def _check(path: Path, ending: str, where: str, dataset: Path) -> None:
    if path.suffix.lower() != ending:
        raise InputError(f"a name ending in {ending}", repr(path.name), where=where)
    check_folder(path.parent, where)
    if path.is_dir() or (path.exists() and dataset.exists() and path.samefile(dataset)):
        raise InputError("a file of its own", repr(str(path)), where=where)
