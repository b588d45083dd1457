"""Options and checks that several commands share, and reading results for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from noisesense import InputError, Result, Summary, gate
from noisesense.scoring import gate as gating
from noisesense.scoring.definitions import MODES, DefinitionName, Mode
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.cli.output import console, show_lines
from noisesense_adapters.cli.summary import extent
from noisesense_adapters.datasets.results import results_of

if TYPE_CHECKING:
    from noisesense.scoring.definitions import DefinitionName, Mode
    from noisesense.scoring.scoring import Empty, Undetermined

__all__ = [
    "ABOVE",
    "SOME_FAILED",
    "UNANSWERED",
    "UNDECIDED",
    "DefinitionOption",
    "EmptyOption",
    "FailAbove",
    "JsonOption",
    "MaxUnanswered",
    "ModeOption",
    "Reading",
    "ResultsPath",
    "UndeterminedOption",
    "as_definition",
    "as_empty",
    "as_mode",
    "as_undetermined",
    "check_answers",
    "check_gate",
    "check_limit",
    "definition_in",
    "tell",
    "worst",
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
    from noisesense.scoring.definitions import check_definition

    return None if name is None else check_definition(name).name


def as_empty(name: str | None) -> Empty | None:
    """That choice for responses without claims, if one is given. Raises `InputError`."""
    from noisesense.scoring.scoring import check_empty

    return None if name is None else check_empty(name)


def as_undetermined(name: str | None) -> Undetermined | None:
    """That choice for open verdicts, if one is given. Raises `InputError`."""
    from noisesense.scoring.scoring import check_undetermined

    return None if name is None else check_undetermined(name)


def as_mode(name: str | None) -> Mode | None:
    """The mode of that name, if one is given. Raises `InputError`."""
    from noisesense.scoring.definitions import check_mode

    return None if name is None else check_mode(name)


# 2 is an error, 6 runs that cannot be paired, 130 an interrupt: see `main`.
ABOVE = 1
"""A mean is above the limit, or B is worse."""
SOME_FAILED = 3
"""Some samples failed, or some lines could not be read."""
UNDECIDED = 4
"""The data do not decide a check."""
UNANSWERED = 5
"""Too many verdicts have no answer."""

_GRAVEST_FIRST = (ABOVE, UNDECIDED, UNANSWERED, SOME_FAILED)


def worst(*statuses: int) -> int:
    """The gravest of the statuses; 0 if all are."""
    return min((each for each in statuses if each), key=_GRAVEST_FIRST.index, default=0)


def check_limit(limit: float | None) -> None:
    """Raise `InputError` if no score could be above or below it."""
    if limit is not None:
        gating.check_limit(limit, "--fail-above")


def check_gate(summary: Summary, limit: float | None, mode: Mode | None, name: str = "") -> int:
    """``--fail-above``: the exit status, and on stderr why it is not 0.

    By `noisesense.gate` on the range of each mean. A mean that is undefined is no pass.
    """
    if limit is None:
        return 0
    statuses: list[int] = []
    for each in MODES if mode is None else (mode,):
        figures = summary.mode(each)
        if figures is None and mode is None and summary.scored:
            continue  # the definition has no such mode
        bounds = None if figures is None else figures.bounds
        outcome, what = gate(bounds, limit), f"the {each} mean{name}"
        if outcome == "pass":
            continue
        statuses.append(ABOVE if outcome == "fail" else UNDECIDED)
        if bounds is None:
            tell(f"cannot be decided: {what} is undefined")
        elif outcome == "fail":
            tell(f"check failed: {what}, {extent(bounds)}, is above {limit:g}")
        else:
            tell(
                f"cannot be decided: {what} lies between {bounds[0]:.4f} and {bounds[1]:.4f}; "
                f"what the judge left open decides whether it is above {limit:g}"
            )
    return worst(*statuses)


def check_answers(summary: Summary, most: float, *, judged: bool, name: str = "") -> int:
    """``--max-unanswered``: the exit status, and on stderr why it is not 0.

    A model that found no claim in any response answered nothing, too.
    """
    share = summary.unanswered_share
    if share is not None and share > most:
        tell(
            f"too many verdicts have no answer{name}: {summary.open_cells:,} of "
            f"{summary.needed_cells:,} that the score needs ({share:.1%}); "
            f"--max-unanswered allows {most:.1%}"
        )
        return UNANSWERED
    if judged and summary.scored and summary.empty == summary.scored:
        tell("the model found no claim in any response: nothing was measured")
        return UNANSWERED
    return 0


def tell(line: str) -> None:
    """A line on stderr."""
    show_lines(console(stderr=True), [line])


_SHOWN = 20
_SOME_UNREADABLE = 3


def definition_in(path: Path) -> DefinitionName:
    """Under which the first result of the file was scored; ``"ragas"`` if none was."""
    for result in results_of(path):
        if result.score is not None:
            return result.score.definition
    return "ragas"


class Reading:
    """Reads results files, and knows afterwards what went wrong."""

    def __init__(
        self,
        definition: DefinitionName | None = None,
        empty: Empty | None = None,
        undetermined: Undetermined | None = None,
    ) -> None:
        self._definition: DefinitionName | None = definition
        self._empty: Empty | None = empty
        self._undetermined: Undetermined | None = undetermined
        self._broken = 0

    def results(self, path: Path) -> Iterator[Result]:
        """The results in the file, one by one."""
        return results_of(
            path,
            definition=self._definition,
            empty=self._empty,
            undetermined=self._undetermined,
            on_error=self._tell,
        )

    @property
    def status(self) -> int:
        """The exit status, if nothing else decides it."""
        return _SOME_UNREADABLE if self._broken else 0

    def _tell(self, error: InputError) -> None:
        self._broken += 1
        if self._broken <= _SHOWN:
            line = Text(" ".join(f"cannot be read: {error}".split()))
            console(stderr=True).print(line, soft_wrap=True)
