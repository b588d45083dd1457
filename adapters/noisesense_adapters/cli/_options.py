"""Options that several commands share, and what the words given for them mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from noisesense.definitions import DefinitionName, Mode
    from noisesense.scoring import Empty, Undetermined

__all__ = [
    "DefinitionOption",
    "EmptyOption",
    "FailAbove",
    "JsonOption",
    "MaxUnanswered",
    "ModeOption",
    "ResultsPath",
    "UndeterminedOption",
    "as_definition",
    "as_empty",
    "as_mode",
    "as_undetermined",
]

DefinitionOption = Annotated[
    str | None,
    typer.Option(
        metavar="ragas|paper|promptfoo|validmind",
        help="Which claims count.  [default: as in the file, else ragas]",
        show_default=False,
    ),
]
EmptyOption = Annotated[
    str | None,
    typer.Option(
        metavar="undefined|zero|error",
        help="What a response without claims gives.  [default: as in the file, else undefined]",
        show_default=False,
    ),
]
UndeterminedOption = Annotated[
    str | None,
    typer.Option(
        metavar="none|low|high",
        help="What verdicts the judge left open give: no value, or the sample's lowest or "
        "highest. Checks look at the range either way.  [default: as in the file, else none]",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FailAbove = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Exit with status 1 if a mean is above X, and with 4 if that cannot be decided: "
        "its range has X inside, or there is no mean.",
        show_default=False,
    ),
]
MaxUnanswered = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="SHARE",
        help="Exit with status 5 if more than this share of the verdicts that the score needs "
        "have no answer.",
    ),
]
ModeOption = Annotated[
    str | None,
    typer.Option(
        metavar="relevant|irrelevant",
        help="Check only this mode.  [default: both]",
        show_default=False,
    ),
]
ResultsPath = Annotated[
    Path,
    typer.Argument(metavar="RESULTS", help="Results, a recording, or any file with verdicts."),
]


def as_definition(name: str | None) -> DefinitionName | None:
    """The definition of that name, if one is given. Raises `InputError`."""
    from noisesense.definitions import check_definition

    return None if name is None else check_definition(name).name


def as_empty(name: str | None) -> Empty | None:
    """That choice for responses without claims, if one is given. Raises `InputError`."""
    from noisesense.scoring import check_empty

    return None if name is None else check_empty(name)


def as_undetermined(name: str | None) -> Undetermined | None:
    """That choice for open verdicts, if one is given. Raises `InputError`."""
    from noisesense.scoring import check_undetermined

    return None if name is None else check_undetermined(name)


def as_mode(name: str | None) -> Mode | None:
    """The mode of that name, if one is given. Raises `InputError`."""
    from noisesense.definitions import check_mode

    return None if name is None else check_mode(name)
