"""A framework that is missing, or too old or too new: an error that says what to install."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from noisesense.errors import MissingExtraError

_REQUIREMENT = re.compile(r"([\w.-]+)\s*\(?([^;)]*)\)?\s*;.*extra == ['\"]([\w-]+)['\"]")
_BOUND = re.compile(r"(>=|<=|==|!=|<|>)\s*([^\s,]+)")


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
        problem = (
            f"the package {missing!r} is not installed"
            if error.name == missing
            else f"the installed package {missing!r} has no {error.name!r}, which {extra} needs"
        )
        hint = f"pip install 'noisesense[{extra}]'{where and f' {where}'}"
        raise MissingExtraError(f"{problem}. Hint: {hint}") from error


def _check_versions(extra: str, packages: Sequence[str]) -> None:
    """Raise `MissingExtraError` for an installed version outside the range of the extra."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        requirements = requires("noisesense") or []
    except PackageNotFoundError:  # run from a checkout that is not installed
        return
    wanted = {name.replace("_", "-") for name in packages}
    for match in filter(None, map(_REQUIREMENT.match, requirements)):
        name, bounds = match[1], _BOUND.findall(match[2])
        if match[3] != extra or name not in wanted:
            continue
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if not all(_holds(installed, *bound) for bound in bounds):
            bounds.sort(key=lambda bound: _numbers(bound[1]))
            supported = ",".join(map("".join, bounds))
            raise MissingExtraError(
                f"{name} {installed} is installed; NoiseSense supports {supported}:"
                f" pip install '{name}{supported}'"
            )


def _holds(installed: str, operator: str, bound: str) -> bool:
    have, limit = _numbers(installed), _numbers(bound)
    return {
        ">=": have >= limit,
        "<=": have <= limit,
        "==": have == limit,
        "!=": have != limit,
        "<": have < limit,
        ">": have > limit,
    }[operator]


def _numbers(version: str) -> tuple[int, ...]:
    """The release as numbers; 1.0 is 1.0.0, and a pre-release counts as its release."""
    release = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
