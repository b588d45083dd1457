"""Options and arguments that several commands share, and what they are made into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisesense import InputError, Result, Tally
from noisesense.scoring.definitions import DEFINITIONS
from noisesense_adapters.cli.output import Failures, Heads, tell
from noisesense_adapters.datasets.files import check_folder
from noisesense_adapters.datasets.read import results_of

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge

Command = Callable[..., int]
Decorator = Callable[[Command], Command]

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=0)
SHARE = click.FloatRange(0, 1)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
report = click.option("--report", type=FILE, help="Write a report: one .html file.")
results = click.argument("results", type=FILE)
definition = click.option(
    "--definition",
    type=click.Choice(list(DEFINITIONS)),
    help="Which claims count as noise; by default as in the file, else ragas.",
)


def taken_as(name: str, kind: type[Any], *options: Callable[[Command], Command]) -> Decorator:
    """Declare options whose values the command takes as one object.

    Args:
        name: of the command's argument.
        kind: a dataclass with a field for each option.
        options: click's decorators.
    """
    names = [field.name for field in fields(kind)]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**values: Any) -> int:
            given = {each: values.pop(each) for each in names if each in values}
            values[name] = kind(**given)
            return command(**values)

        declared: Command = run
        for option in reversed(options):
            declared = option(declared)
        return declared

    return decorate


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    base_url: str | None
    store: Path | None
    concurrency: int
    check: str | None
    temperature: float | None

    def store_beside(self, out: Path | None) -> Path | None:
        """Return the file for the replies: the user's, else beside the results; None without."""
        if self.store is None and out is not None:
            return Path(f"{out}.db")
        return self.store

    def make_judge(self, model: str, **more: Any) -> PlannedJudge:
        """Return the judge over the model ``provider:model``; ``more`` overrides the settings."""
        from noisesense_adapters.factory import model_judge  # it loads SQLite

        return model_judge(model, **{**vars(self), **more})


asking = taken_as(
    "asking",
    Asking,
    click.option("--base-url", help="The endpoint, if not the provider's own."),
    click.option(
        "--store", type=FILE, help="Keep every reply in this file, to pay for none twice."
    ),
    click.option("--concurrency", type=int, default=16, help="How many calls to make at once."),
    click.option(
        "--check",
        type=click.Choice(["list", "each"]),
        help="All claims in one call, by default, or each in its own, for small models.",
    ),
    click.option("--temperature", type=float, help="The model's temperature; by default its own."),
)


def check_report(path: Path | None, where: str = "--report") -> None:
    """Raise before anything is judged if the report could not be written; never without a path.

    Raises:
        InputError: another ending, no folder to write to, or something that is neither an empty
            file nor a report of ours.
        MissingExtraError: the packages that draw are not installed.
    """
    if path is None:
        return
    if path.suffix.lower() != ".html":
        raise InputError("a name ending in .html", repr(path.name), where=where)
    check_folder(path.parent, where)
    if path.exists() and not (path.is_file() and _is_ours(path)):
        hint = "nothing was overwritten; choose another name"
        expected = f"an earlier one of ours, or a new file, as {path}"
        raise InputError(expected, "another file", where=where, hint=hint)
    import_module("noisesense_adapters.report")


def _is_ours(path: Path) -> bool:
    """Tell whether the file is empty, or begins as our reports do."""
    with path.open("rb") as file:
        start = file.read(4096)
    return not start or b'content="NoiseSense ' in start


def write_report(path: Path | None, results: Iterable[Result], name: str, **more: Any) -> None:
    """Write the report if a path is given, and say so.

    Args:
        path: where to write; None for nowhere, and the results are not read.
        results: what the report shows.
        name: ends the title.
        more: further arguments of `noisesense_adapters.report.write_report`.
    """
    if path is not None:
        from noisesense_adapters.report import write_report  # it loads jinja2

        write_report(results, path, title=f"Noise sensitivity: {name}", **more)
        tell(f"wrote {path}")


SOME_FAILED = 3
"""The exit status where some samples failed, or some lines could not be read."""


class Reading:
    """Reads results files, names on stderr what cannot be read, and keeps the exit status.

    Args:
        chosen: the settings of the score, as `results_of` takes them; None is left to the file.
    """

    def __init__(self, **chosen: Any) -> None:
        self.chosen = {name: value for name, value in chosen.items() if value is not None}
        self._failures = Failures()
        self.tell = self._failures.add
        self.tally = Tally()
        self.heads = Heads()

    @property
    def status(self) -> int:
        """The exit status: 3 if some rows read so far could not be read, else 0."""
        return SOME_FAILED if self._failures.count else 0

    def results(self, path: Path) -> Iterator[Result]:
        """Return the results in a file, of broken rows too. ``heads`` keeps their names."""
        return map(self.heads.note, results_of(path, **self.chosen, on_error=self.tell))

    def tallied(self, path: Path) -> Iterator[Result]:
        """Yield the same as `results`; each is counted in ``tally``."""
        for result in self.results(path):
            self.tally.add(result)
            yield result
