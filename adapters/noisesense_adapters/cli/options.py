"""Options by group, and reading results for commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noisesense import InputError, Result
from noisesense.errors import describe
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Choices
from noisesense_adapters.cli.commands import Options, argument, option
from noisesense_adapters.cli.output import one_line, tell
from noisesense_adapters.datasets.results import choices, results_of
from noisesense_adapters.datasets.rows import FIELDS
from noisesense_adapters.datasets.write import check_folder

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge

BASE_URL = option("The endpoint, if not the provider's own.")
FORCE = option("Overwrite existing files.")
JSON = option("Print JSON.", None, "--json")
PAIR_BY = option("What identifies a sample; by default its id if it was given one.", "id|question")
PLAN = option(
    "Ask for the verdicts that the score needs, or for every one.", "lazy|full", default="lazy"
)
PNG = option("Write the plots: one .png file.", "FILE")
REPORT = option("Write a report: one .html file.", "FILE")
RESULTS = argument("Results, a recording, or any file with verdicts.")
TEMPERATURE = option("The model's temperature; by default its own.")
TOP = option("How many changed samples to show.", type=click.IntRange(min=0), default=10)
VOTES = option("Ask for each verdict this many times.", default=1)


class Input(Options):
    """Which columns hold what."""

    heading = "Input"

    map: tuple[str, ...] = option(
        "The column that holds FIELD, or a dotted path into one. Repeatable. Fields: "
        f"{', '.join(FIELDS)}.",
        "FIELD=COLUMN",
    )
    split_contexts: str | None = option(
        r"What stands between contexts in a cell that holds no list, such as '|' or '\n'.", "SEP"
    )
    id: str | None = option("The column with the samples' ids.", "COLUMN")
    cluster: str | None = option(
        "The column with what samples share, such as a document. Intervals resample these groups.",
        "COLUMN",
    )

    def reading(self) -> dict[str, Any]:
        """The arguments of `noisesense_adapters.datasets.read_rows`. Raises `InputError`."""
        own = {"id": self.id, "cluster": self.cluster}
        columns = {name: column for name, column in own.items() if column is not None}
        for pair in self.map:
            field, equals, column = pair.partition("=")
            if not (field and equals and column):
                raise InputError("FIELD=COLUMN", describe(pair), where="--map")
            if field in columns:
                raise InputError("each field once", describe(field), where="--map")
            columns[field] = column
        return {"columns": columns, "split_contexts": _unescaped(self.split_contexts)}


def _unescaped(separator: str | None) -> str | None:
    r"""The separator as typed, with ``\n``, ``\r``, ``\t`` and ``\\`` for what they mean."""
    marks = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return separator and re.sub(r"\\([nrt\\])", lambda match: marks[match[1]], separator)


class Definition(Options):
    """Which definition counts."""

    heading = "Scoring"

    definition: str | None = option(
        "Which claims count as noise; by default as in the file, else ragas.",
        "ragas|paper|promptfoo|validmind",
    )

    def name_in(self, path: Path | None) -> DefinitionName:
        """The one given, else that of the first scored result in the file, else ``"ragas"``."""
        given = choices(self.definition).get("definition")
        if given is not None:
            return given
        for each in () if path is None else results_of(path):
            if each.score is not None:
                return each.score.definition
        return "ragas"


class Scoring(Definition):
    """How verdicts are scored."""

    empty: str | None = option(
        "The score of a response without claims; by default as in the file, else undefined.",
        "undefined|zero|error",
    )
    undetermined: str | None = option(
        "The score of a sample with open verdicts: none, or the lowest or highest possible; by "
        "default as in the file, else none. Checks use the range.",
        "none|low|high",
    )

    @property
    def choices(self) -> Choices:
        """Raises `InputError`."""
        return choices(self.definition, self.empty, self.undetermined)


class Asking(Options):
    """How a model is asked."""

    heading = "Judge"

    base_url: str | None = BASE_URL
    api_key_env: str | None = option("The environment variable that holds the key.", "NAME")
    store: Path | None = option("Keep every reply in this file, to pay for none twice.", "FILE")
    concurrency: int = option("How many calls to make at once.", default=16)
    check: str | None = option(
        "Check a chunk's claims in one call (list), or each in a call of its own, for small "
        "models (each); auto finds out which the model can do.  [default: list]",
        "list|each|auto",
    )
    votes: int = VOTES
    temperature: float | None = TEMPERATURE
    max_tokens: int | None = option("Of a reply, at most; by default the model's own.")
    timeout: float | None = option(
        "Without a byte after which a request is given up; 600 for a local server.", "SECONDS"
    )

    def make_judge(self, model: str, **more: Any) -> PlannedJudge:
        """The judge that is asked, by its name ``provider:model``."""
        from noisesense_adapters.datasets.model import model_judge  # it loads SQLite

        more = {"store": self.store, **self.of_model, **more}
        return model_judge(model, concurrency=self.concurrency, votes=self.votes, **more)

    @property
    def of_model(self) -> dict[str, Any]:
        """What has sense only where a model is asked, as it was given."""
        names = ("base_url", "api_key_env", "temperature", "max_tokens", "timeout", "check")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class Classifier(Options):
    """How a classifier on this machine judges."""

    heading = "Local judge (--judge local:MODEL)"

    threshold: float | None = option(
        "A probability of at least this is a yes; of a model with --check each, too."
        "  [default: 0.5]"
    )
    device: str | None = option("E.g. cpu or cuda:1; by default a GPU if there is one.")
    batch_size: int | None = option("Inputs at once.  [default: 16]")

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


class Local(Classifier):
    """And what finds its claims."""

    claims: str | None = option(
        "The model that finds the claims; by default each sentence is one.", "PROVIDER:MODEL"
    )


def check_new(path: Path, *, force: bool) -> None:
    """Raise `InputError` if a file would be overwritten without ``--force``."""
    if path.exists() and not force:
        hint = "--force overwrites it"
        raise InputError("a new file", "one that exists", where=str(path), hint=hint)


def check_pictures(report: Path | None, png: Path | None, dataset: Path) -> None:
    """Raise before anything is judged if a report or a picture could not be written.

    Raises:
        InputError: another ending, no folder, or a file that must not be overwritten.
        MissingExtraError: the packages that draw are not installed.
    """
    for path, ending, where in ((report, ".html", "--report"), (png, ".png", "--png")):
        if path is None:
            continue
        if path.suffix.lower() != ending:
            raise InputError(f"a name ending in {ending}", repr(path.name), where=where)
        check_folder(path.parent, where)
        if path.is_dir() or (path.exists() and dataset.exists() and path.samefile(dataset)):
            raise InputError("a file of its own", repr(str(path)), where=where)
        if path.exists() and not _is_ours(path):
            hint = "nothing was overwritten; choose another name"
            expected = f"an earlier picture of ours, or a new file, as {path}"
            raise InputError(expected, "another file", where=where, hint=hint)
        import_module("noisesense_adapters.report")


def _is_ours(path: Path) -> bool:
    """Is it empty, or does it begin as our reports and pictures do?"""
    with path.open("rb") as file:
        start = file.read(4096)
    return not start or b'content="NoiseSense ' in start or b"Software\0NoiseSense" in start


def write_page(page: Path | None, results: Iterable[Result], name: str, **more: Any) -> None:
    """Write the report, if one is asked for, and say so."""
    if page is not None:
        write_report = import_module("noisesense_adapters.report").write_report
        write_report(results, page, title=f"Noise sensitivity: {name}", **more)
        tell(f"wrote {page}")


_MOST_ERRORS = 20

SOME_FAILED = 3
"""The exit status where some samples failed, or some lines could not be read."""


class Reading:
    """Reads results files, names on stderr what cannot be read, and keeps the exit status."""

    def __init__(self, chosen: Choices | str | None = None) -> None:
        self._choices: Choices = chosen if isinstance(chosen, dict) else choices(chosen)
        self._errors = 0

    def results(self, path: Path) -> Iterator[Result]:
        return results_of(path, **self._choices, on_error=self.tell)

    @property
    def status(self) -> int:
        return SOME_FAILED if self._errors else 0

    def tell(self, error: InputError) -> None:
        """Name a row that cannot be read; the first 20 are shown."""
        self._errors += 1
        if self._errors <= _MOST_ERRORS:
            tell(one_line(f"cannot be read: {error}"))
