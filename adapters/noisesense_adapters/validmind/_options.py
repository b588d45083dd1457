"""Which modes a test shows."""

from __future__ import annotations

import warnings
from typing import Literal, get_args

from noisesense.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.errors import InputError, describe

__all__ = ["Shown", "shown_modes"]

Shown = Literal["relevant", "irrelevant", "both"]


def shown_modes(
    mode: Shown | None, focus: Shown | None, definition: DefinitionName
) -> tuple[Mode, ...]:
    """The modes of the tables and figures; without any word of it the relevant one, as ValidMind.

    Raises:
        InputError: an unknown mode or definition, a mode and another focus, or a mode that the
            definition does not have.
    """
    has_irrelevant = check_definition(definition).irrelevant is not None
    if focus is not None:
        warnings.warn("focus= is deprecated, as in ragas: use mode=", DeprecationWarning, 3)
        if mode not in (None, focus):
            raise InputError("mode alone", f"mode={mode!r} and focus={focus!r}", where="focus")
    asked = mode or focus or "relevant"
    if asked not in get_args(Shown):
        options = ", ".join(map(repr, get_args(Shown)))
        raise InputError(f"one of {options}", describe(asked), where="mode")
    if asked == "both":
        return MODES if has_irrelevant else ("relevant",)
    if asked == "irrelevant" and not has_irrelevant:
        raise InputError(
            "a definition with an irrelevant mode", repr(definition), where="definition"
        )
    return (asked,)
