"""A framework that is missing, or too old or too new: an error that says what to install."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from noisesense.errors import MissingExtraError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

PARSING = Lock()
"""Held while anything is parsed with `ast`: CPython 3.11 fails where two threads do."""


@contextmanager
def needs_extra(extra: str, *packages: str, where: str = "") -> Generator[None, None, None]:
    """Wrap the imports of optional ``packages`` (default: the one named like the extra).

    ``where`` is for an extra that cannot be installed beside every other: into what to install it.

    A module that a *present* framework fails to import is that framework's own trouble, and its
    error is left as it is.
    """
    _check_versions(extra, packages or (extra,))
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in (packages or (extra,)):
            raise
        problem = f"the package {missing!r} is not installed"
        if error.name != missing:
            problem = f"the installed {missing!r} has no {error.name!r}, which {extra} needs"
        hint = f"pip install 'noisesense[{extra}]'{where and f' {where}'}"
        raise MissingExtraError(f"{problem}. Hint: {hint}") from error


def _check_versions(extra: str, packages: Sequence[str]) -> None:
    """Raise `MissingExtraError` for an installed version outside the range of the extra."""
    from importlib.metadata import PackageNotFoundError, version

    with PARSING:  # as packaging does
        requirements = _requirements()
    wanted = {name.replace("_", "-") for name in packages}
    for each in requirements:
        if each.name not in wanted or not (each.marker and each.marker.evaluate({"extra": extra})):
            continue
        with suppress(PackageNotFoundError):
            installed = version(each.name)
            if not each.specifier.contains(installed, prereleases=True):
                raise MissingExtraError(
                    f"{each.name} {installed} is installed; NoiseSense supports {each.specifier}:"
                    f" pip install '{each.name}{each.specifier}'"
                )


@cache
def _requirements() -> Sequence[Requirement]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        from packaging.requirements import Requirement  # which nearly every framework brings

        return [Requirement(each) for each in requires("noisesense") or ()]
    except (ModuleNotFoundError, PackageNotFoundError):  # or a checkout that is not installed
        return []
