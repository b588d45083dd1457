"""A missing framework: an error that names the extra, and only if it is the framework's own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from noisesense.errors import MissingExtraError


@contextmanager
def needs_extra(extra: str, *packages: str, where: str = "") -> Generator[None, None, None]:
    """Wrap the imports of optional ``packages`` (default: the one named like the extra).

    ``where`` is for an extra that cannot be installed beside every other: into what to install it.

    A module that a *present* framework fails to import is that framework's own trouble, and its
    error is left as it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in (packages or (extra,)):
            raise
        problem = (
            f"the package {missing!r} is not installed"
            if error.name == missing
            else f"the installed package {missing!r} has no {error.name!r}, which {extra} needs"
        )
        hint = f"pip install 'noisesense[{extra}]'{where and f' {where}'}"
        raise MissingExtraError(f"{problem}. Hint: {hint}") from error
