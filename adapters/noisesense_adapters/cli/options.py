"""Options that several commands share, and reading results for them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from noisesense import InputError, Result
from noisesense.errors import describe
from noisesense.scoring.definitions import DefinitionName
from noisesense_adapters.cli.output import one_line, tell
from noisesense_adapters.datasets.results import Choices, choices, results_of
from noisesense_adapters.datasets.rows import FIELDS
from noisesense_adapters.datasets.write import check_folder

if TYPE_CHECKING:
    from noisesense.judging.plan import PlannedJudge

judge_panel = partial(typer.Option, rich_help_panel="Judge")
input_panel = partial(typer.Option, rich_help_panel="Input")
_output = partial(typer.Option, rich_help_panel="Output")

DefinitionOption = Annotated[
    str | None,
    input_panel(
        metavar="ragas|paper|promptfoo|validmind",
        help="Which claims count as noise.  [default: as in the file, else ragas]",
    ),
]
EmptyOption = Annotated[
    str | None,
    input_panel(
        metavar="undefined|zero|error",
        help="The score of a response without claims.  [default: as in the file, else undefined]",
    ),
]
UndeterminedOption = Annotated[
    str | None,
    input_panel(
        metavar="none|low|high",
        help="The score of a sample with open verdicts: no value, or the lowest or highest that "
        "is possible. Checks use the range in any case.  [default: as in the file, else none]",
    ),
]
MapOption = Annotated[
    list[str] | None,
    input_panel(
        "--map",
        metavar="FIELD=COLUMN",
        help="The column that holds FIELD, or a dotted path into one. Repeatable. Fields: "
        f"{', '.join(FIELDS)}.",
    ),
]
SplitOption = Annotated[
    str | None,
    input_panel(
        metavar="SEP",
        help="What stands between the contexts in a cell that holds no list, such as '|' or '\\n' "
        "for a new line.",
    ),
]
BaseUrlOption = Annotated[str | None, judge_panel(help="The endpoint, if not the provider's own.")]
KeyNameOption = Annotated[
    str | None,
    judge_panel(
        "--api-key-env", metavar="NAME", help="The environment variable that holds the key."
    ),
]
ConcurrencyOption = Annotated[int, judge_panel(min=1, help="How many calls to make at once.")]
VotesOption = Annotated[int, judge_panel(min=1, help="Ask for each verdict this many times.")]
TemperatureOption = Annotated[
    float | None, judge_panel(min=0, help="The model's temperature.  [default: the model's own]")
]
PairByOption = Annotated[
    str | None,
    typer.Option(
        metavar="id|question",
        help="What identifies a sample.  [default: its id if it was given one, else question and "
        "reference]",
    ),
]
JsonOption = Annotated[bool, _output("--json", help="Print JSON.")]
ReportOption = Annotated[
    Path | None, _output("--report", metavar="FILE", help="Write a report: one .html file.")
]
PngOption = Annotated[
    Path | None, _output("--png", metavar="FILE", help="Write the plots: one .png file.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
CheckOption = Annotated[
    str | None,
    judge_panel(
        metavar="list|each|auto",
        help="Check a chunk's claims in one call (list), or each claim in a call of its own, "
        "for small models (each); auto finds out which the model can do.  [default: list]",
    ),
]
_local = partial(typer.Option, rich_help_panel="Local judge (--judge local:MODEL)")
ThresholdOption = Annotated[
    float | None,
    _local(
        min=0,
        max=1,
        help="A probability of at least this is a yes; of a model with --check each, too."
        "  [default: 0.5]",
    ),
]
DeviceOption = Annotated[
    str | None, _local(help="E.g. cpu or cuda:1.  [default: a GPU if there is one]")
]
BatchSizeOption = Annotated[int | None, _local(min=1, help="Inputs at once.  [default: 16]")]
ClaimsOption = Annotated[
    str | None,
    _local(
        metavar="PROVIDER:MODEL",
        help="The model that finds the claims.  [default: each sentence is one]",
    ),
]
ResultsPath = Annotated[
    Path,
    typer.Argument(metavar="RESULTS", help="Results, a recording, or any file with verdicts."),
]


@dataclass(frozen=True)
class Input:
    """Which columns hold what."""

    mapping: MapOption = None
    split_contexts: SplitOption = None
    id_column: Annotated[
        str | None, input_panel("--id", metavar="COLUMN", help="The column with the samples' ids.")
    ] = None
    cluster: Annotated[
        str | None,
        input_panel(
            metavar="COLUMN",
            help="The column with what samples share (a document, a user). Intervals resample "
            "these groups.",
        ),
    ] = None

    def reading(self) -> dict[str, Any]:
        """The arguments of `noisesense_adapters.datasets.read_rows`. Raises `InputError`."""
        columns = {name: column for name, column in self._named() if column is not None}
        for pair in self.mapping or ():
            field, equals, column = pair.partition("=")
            if not (field and equals and column):
                raise InputError("FIELD=COLUMN", describe(pair), where="--map")
            if field in columns:
                raise InputError("each field once", describe(field), where="--map")
            columns[field] = column
        return {"columns": columns, "split_contexts": _unescaped(self.split_contexts)}

    def _named(self) -> tuple[tuple[str, str | None], ...]:
        return ("id", self.id_column), ("cluster", self.cluster)


@dataclass(frozen=True)
class Scoring:
    """How verdicts are scored."""

    definition: DefinitionOption = None
    empty: EmptyOption = None
    undetermined: UndeterminedOption = None

    @property
    def choices(self) -> Choices:
        """Raises `InputError`."""
        return choices(self.definition, self.empty, self.undetermined)


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    base_url: BaseUrlOption = None
    api_key_env: KeyNameOption = None
    store: Annotated[
        Path | None,
        judge_panel(
            metavar="FILE",
            help="Keep every reply in this file, so that none is paid for twice.",
        ),
    ] = None
    concurrency: ConcurrencyOption = 16
    check: CheckOption = None
    votes: VotesOption = 1
    temperature: TemperatureOption = None
    max_tokens: Annotated[
        int | None,
        judge_panel(min=1, help="Of a reply, at most.  [default: the model's own]"),
    ] = None
    timeout: Annotated[
        float | None,
        judge_panel(
            min=0.001,
            metavar="SECONDS",
            help="Without a byte after which a request is given up.  "
            "[default: the client's own; 600 for a local server]",
        ),
    ] = None

    def judge(self, model: str, **more: Any) -> PlannedJudge:
        """The judge that is asked, by its name ``provider:model``."""
        from noisesense_adapters.datasets.model import model_judge  # it loads SQLite

        more = {"store": self.store, **self.of_model, **more}
        return model_judge(model, concurrency=self.concurrency, votes=self.votes, **more)

    @property
    def of_model(self) -> dict[str, Any]:
        """What has sense only where a model is asked, as it was given."""
        names = ("base_url", "api_key_env", "temperature", "max_tokens", "timeout", "check")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Local:
    """How a classifier on this machine judges."""

    threshold: ThresholdOption = None
    claims: ClaimsOption = None
    device: DeviceOption = None
    batch_size: BatchSizeOption = None

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer takes it: each parameter that is a group stands for its options."""
    signature = inspect.signature(command, eval_str=True)
    kinds: dict[str, Any] = {name: each.annotation for name, each in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, each in signature.parameters.items():
        if name not in groups:
            parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, each.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
            for field in fields(groups[name])
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    vars(run).pop("__wrapped__")
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _unescaped(separator: str | None) -> str | None:
    r"""The separator as typed, with ``\n``, ``\r``, ``\t`` and ``\\`` for what they mean."""
    marks = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
    return separator and re.sub(r"\\([nrt\\])", lambda match: marks[match[1]], separator)


def check_new(path: Path, *, force: bool) -> None:
    """Raise `InputError` if a file would be overwritten without ``--force``."""
    if path.exists() and not force:
        raise InputError(
            "a new file", "one that exists", where=str(path), hint="--force overwrites it"
        )


def check_pictures(report: Path | None, png: Path | None, dataset: Path) -> None:
    """Raise before anything is judged if a report or a picture could not be written.

    Raises:
        InputError: another ending, no folder, or a file that must not be overwritten.
        MissingExtraError: the packages that draw are not installed.
    """
    for path, ending, option in ((report, ".html", "--report"), (png, ".png", "--png")):
        if path is None:
            continue
        if path.suffix.lower() != ending:
            raise InputError(f"a name ending in {ending}", repr(path.name), where=option)
        check_folder(path.parent, option)
        if path.is_dir() or (path.exists() and dataset.exists() and path.samefile(dataset)):
            raise InputError("a file of its own", repr(str(path)), where=option)
        if path.exists() and not _is_ours(path):
            hint = "nothing was overwritten; choose another name"
            expected, got = f"an earlier picture of ours, or a new file, as {path}", "another file"
            raise InputError(expected, got, where=option, hint=hint)
        import_module("noisesense_adapters.report")


def write_page(page: Path | None, results: Iterable[Result], name: str, **more: Any) -> None:
    """Write the report, if one is asked for, and say so."""
    if page is not None:
        write_report = import_module("noisesense_adapters.report").write_report
        write_report(results, page, title=f"Noise sensitivity: {name}", **more)
        tell(f"wrote {page}")


def _is_ours(path: Path) -> bool:
    """Is it empty, or does it begin as our reports and pictures do?"""
    with path.open("rb") as file:
        start = file.read(4096)
    return not start or b'content="NoiseSense ' in start or b"Software\0NoiseSense" in start


def definition_in(path: Path) -> DefinitionName:
    """The definition of the first scored result in the file; ``"ragas"`` if there is none."""
    for result in results_of(path):
        if result.score is not None:
            return result.score.definition
    return "ragas"


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
