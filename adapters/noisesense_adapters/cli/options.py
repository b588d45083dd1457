"""Groups of options, and reading results for commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from noisesense import InputError, Result, Tally
from noisesense.errors import describe
from noisesense.scoring.definitions import DEFINITIONS, DefinitionName
from noisesense.scoring.results import check_scored_alike
from noisesense.scoring.scoring import Empty
from noisesense_adapters.cli.commands import COUNT, Options, argument, option
from noisesense_adapters.cli.output import Heads, one_line, tell
from noisesense_adapters.datasets.files import check_folder
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.tables import MAPPED as FIELDS
from noisesense_adapters.evaluate.evaluator import choices

if TYPE_CHECKING:
    from noisesense import StructuredLLM
    from noisesense.ablation import Ablation
    from noisesense.judging.plan import PlannedJudge

BASE_URL = option("The endpoint, if not the provider's own.")
FORCE = option("Overwrite existing files.")
JSON = option("Print JSON.", None, "--json")
PAIR_BY = option(
    "What identifies a sample: its id, if it was given one, else the question and the reference.",
    "id|question",
)
PLAN = option("Ask for the verdicts that a score needs, or all.", "lazy|full", default="lazy")
PNG = option("Write the plots: one .png file.", "FILE")
REPORT = option("Write a report: one .html file.", "FILE")
RESULTS = argument("Results, a recording, or any file with verdicts.")
TEMPERATURE = option("The model's temperature; by default its own.")
TEXT_CHARS = option("Characters of a text in one call, at most; by default 16000, or what fits.")
VOTES = option("Ask for each verdict this many times; by default once.")
TOP = option("How many changed samples to show.", type=COUNT, default=10)


class Input(Options):
    """The columns of the dataset."""

    heading = "Input"

    map: tuple[str, ...] = option(
        f"The column, or dotted path, of a field: {', '.join(FIELDS)}. Repeatable.", "FIELD=COLUMN"
    )
    split_contexts: str | None = option(
        r"What stands between contexts in a cell that holds no list, such as '|' or '\n'.", "SEP"
    )
    guess: bool = option("Take the columns that are proposed where names do not settle them.")
    provider: str | None = option("Of Promptfoo's results: whose, if several answered.", "NAME")
    id: str | None = option("The column with the samples' ids.", "COLUMN")
    cluster: str | None = option("The column with what samples share, for intervals.", "COLUMN")

    def reading(self) -> dict[str, Any]:
        """The arguments of `noisesense_adapters.datasets.read_rows`. Raises `InputError`."""
        columns = self.values("map", "split_contexts", "provider", "guess")
        for pair in self.map:
            field, equals, column = pair.partition("=")
            if not (field and equals and column):
                raise InputError("FIELD=COLUMN", describe(pair), where="--map")
            if field in columns:
                raise InputError("each field once", describe(field), where="--map")
            columns[field] = column
        separator = self.split_contexts
        if separator is not None:
            separator = _unescaped(separator)
        return {
            "columns": columns,
            "split_contexts": separator,
            "provider": self.provider,
            "guess": self.guess,
        }


_ESCAPES = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\\": "\\"}


def _unescaped(separator: str) -> str:
    r"""The separator with ``\n``, ``\r``, ``\t`` and ``\\`` as the characters that they mean."""
    return re.sub(r"\\[nrt\\]", lambda match: _ESCAPES[match[0]], separator)


class ScoredAs(NamedTuple):
    """How verdicts are scored; see `noisesense.score`."""

    definition: DefinitionName
    empty: Empty


class Definition(Options):
    """The definition of the score."""

    heading = "Scoring"

    definition: str | None = option(
        "Which claims count as noise; by default as in the file, else ragas.",
        "|".join(DEFINITIONS),
    )

    def of_file(self, path: Path | None) -> ScoredAs:
        """How all results of the file are scored: by the option, else as its lines say.

        Raises:
            InputError: its lines differ.
        """
        chosen = choices(definition=self.definition)
        first: Result | None = None
        results = () if path is None else results_of(path, **chosen)
        for result in results:
            if result.score is None:
                continue
            if first is None:
                first = result
            check_scored_alike((first, result), str(path))
        if first is None or first.score is None:
            return ScoredAs(chosen.get("definition") or "ragas", "undefined")
        return ScoredAs(first.score.definition, first.score.empty)


class Scoring(Definition):
    """How verdicts are scored."""

    empty: str | None = option(
        "The score where there is nothing to measure; by default as in the file, else undefined.",
        "undefined|zero|error",
    )
    undetermined: str | None = option(
        "The score of a sample with open verdicts; by default as in the file, else none.",
        "none|low|high",
    )


class Asking(Options):
    """How a model is asked."""

    heading = "Judge"

    base_url: str | None = BASE_URL
    api_key_env: str | None = option("The environment variable that holds the key.", "NAME")
    store: Path | None = option("Keep every reply in this file, to pay for none twice.", "FILE")
    concurrency: int = option("How many calls to make at once.", default=16)
    check: str | None = option(
        "All claims in one call, by default, or each in its own, for small models; auto: test it.",
        "list|each|auto",
    )
    text_chars: int | None = TEXT_CHARS
    votes: int | None = VOTES
    temperature: float | None = TEMPERATURE
    max_tokens: int | None = option("Of a reply, at most; by default what each call needs.")
    timeout: float | None = option("A call may take; by default 600, silent 60.", "SECONDS")
    max_wait: float | None = option("To wait for a busy provider; by default 600.", "SECONDS")

    def make_judge(self, model: str, **settings: Any) -> PlannedJudge:
        """The judge over the model ``provider:model``, with further settings."""
        from noisesense_adapters.factory import model_judge  # it loads SQLite

        return model_judge(model, **self.values(), **settings)

    def model(self, name: str) -> StructuredLLM:
        """The model ``provider:model``, as the judge would ask it."""
        from noisesense_adapters.factory import api_key_in, structured_llm

        return structured_llm(
            name,
            api_key=api_key_in(self.api_key_env),
            base_url=self.base_url,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )


class Local(Options):
    """The settings of a classifier on this machine."""

    heading = "Local judge (--judge local:MODEL)"

    threshold: float | None = option("A yes is as likely as this; of --check each, too.", "SHARE")
    device: str | None = option("E.g. cpu or cuda:1; by default a GPU if there is one.")
    batch_size: int | None = option("Inputs at once; by default 16.")


def check_pictures(report: Path | None, png: Path | None = None) -> None:
    """Raise before anything is judged if a report or a picture could not be written.

    Raises:
        InputError: another ending, no folder, or a file that must not be overwritten.
        MissingExtraError: the packages that draw are not installed.
    """
    if report is not None:
        _check_picture(report, ".html", "--report")
    if png is not None:
        _check_picture(png, ".png", "--png")


def _check_picture(path: Path, ending: str, where: str) -> None:
    if path.suffix.lower() != ending:
        raise InputError(f"a name ending in {ending}", repr(path.name), where=where)
    check_folder(path.parent, where)
    if path.exists() and not (path.is_file() and _is_ours(path)):
        hint = "nothing was overwritten; choose another name"
        expected = f"an earlier one of ours, or a new file, as {path}"
        raise InputError(expected, "another file", where=where, hint=hint)
    import_module("noisesense_adapters.report")


def _is_ours(path: Path) -> bool:
    """Is the file empty, or does it begin as our reports and pictures do?"""
    with path.open("rb") as file:
        start = file.read(4096)
    return not start or b'content="NoiseSense ' in start or b"Software\0NoiseSense" in start


def write_report(path: Path | None, results: Iterable[Result], name: str, **more: Any) -> None:
    """Write the report if a path is given, and say so.

    Args:
        path: where to write.
        results: what the report shows.
        name: ends the title.
        more: further arguments of `noisesense_adapters.report.write_report`.
    """
    if path is not None:
        from noisesense_adapters.report import write_report  # it loads matplotlib

        write_report(results, path, title=f"Noise sensitivity: {name}", **more)
        tell(f"wrote {path}")


def write_plots(path: Path | None, data: Iterable[Result] | Ablation, name: str) -> None:
    """Write the plots of results or of an ablation if a path is given, and say so."""
    if path is not None:
        from noisesense_adapters.report import write_png  # it loads matplotlib

        write_png(data, path, title=f"Noise sensitivity: {name}")
        tell(f"wrote {path}")


_SHOWN_ERRORS = 20

SOME_FAILED = 3
"""The exit status where some samples failed, or some lines could not be read."""


class Reading:
    """Reads results files, names on stderr what cannot be read, and keeps the exit status.

    Args:
        chosen: the settings of the score, as `results_of` takes them.
    """

    def __init__(self, **chosen: Any) -> None:
        self._chosen = chosen
        self._errors = 0
        self.tally = Tally()
        self.heads = Heads()
        self.has_texts = False

    @property
    def status(self) -> int:
        """The exit status: were there rows that cannot be read?"""
        return SOME_FAILED if self._errors else 0

    def results(self, path: Path) -> Iterator[Result]:
        """The results in a file. ``heads`` keeps their names."""
        return map(self.heads.note, results_of(path, **self._chosen, on_error=self.tell))

    def tallied(self, path: Path) -> Iterator[Result]:
        """The results in a file, counted in ``tally``. ``has_texts``: does one have its texts?"""
        for result in self.results(path):
            self.tally.add(result)
            if result.sample is not None:
                self.has_texts = True
            yield result

    def tell(self, error: InputError) -> None:
        """Name a row that cannot be read. Only the first 20 are shown."""
        self._errors += 1
        if self._errors <= _SHOWN_ERRORS:
            tell(one_line(f"cannot be read: {error}"))
