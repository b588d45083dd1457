"""Errors that say what to install if a framework is missing, too old or too new."""

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
"""Held while parsing with `ast`, which fails in CPython 3.11 if two threads do so at once."""


@contextmanager
def needs_extra(extra: str, *packages: str, where: str = "") -> Generator[None, None, None]:
    """Wrap the import of optional packages.

    An error of an installed framework, such as a missing module of another package, is passed on.
    Versions are checked of a framework, that is, where the extra has the name of a package. A
    library's are left to pip: reading them would take a tenth of a command's time.

    Args:
        extra: the name of an extra of noisesense.
        packages: the extra's packages, as they are imported; by default the one with its name.
        where: where to install an extra that conflicts with others.

    Raises:
        MissingExtraError: a package or a module of it is missing, or its version is not
            supported.
    """
    packages = packages or (extra,)
    if extra.replace("-", "_") in packages:
        _check_versions(extra, packages)
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in packages:
            raise
        problem = f"the package {missing!r} is not installed"
        if error.name != missing:
            problem = f"the installed {missing!r} has no {error.name!r}, which {extra} needs"
        hint = f"pip install 'noisesense[{extra}]' {where}".rstrip()
        raise MissingExtraError(f"{problem}. Hint: {hint}") from error


def _check_versions(extra: str, packages: Sequence[str]) -> None:
    """Raise `MissingExtraError` for an installed version outside the range of the extra."""
    from importlib.metadata import PackageNotFoundError, version

    with PARSING:  # packaging parses
        requirements = _requirements()
    names = {name.replace("_", "-") for name in packages}
    for requirement in requirements:
        name = requirement.name
        supported = requirement.specifier
        marker = requirement.marker
        if name not in names or marker is None or not marker.evaluate({"extra": extra}):
            continue
        with suppress(PackageNotFoundError):
            installed = version(name)
            if not supported.contains(installed, prereleases=True):
                raise MissingExtraError(
                    f"{name} {installed} is installed; NoiseSense supports {supported}:"
                    f" pip install '{name}{supported}'"
                )


@cache
def _requirements() -> Sequence[Requirement]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        from packaging.requirements import Requirement  # installed with nearly every framework

        return [Requirement(text) for text in requires("noisesense") or ()]
    except (ModuleNotFoundError, PackageNotFoundError):  # or a checkout that is not installed
        return []
