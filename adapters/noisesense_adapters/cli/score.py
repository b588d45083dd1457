"""``noisesense score``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from noisesense import LLMJudge, Summary, ragchecker_aggregates
from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import DefinitionName, Mode
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.cli.options import (
    SOME_FAILED,
    DefinitionOption,
    EmptyOption,
    FailAbove,
    JsonOption,
    MaxUnanswered,
    ModeOption,
    UndeterminedOption,
    as_definition,
    as_empty,
    as_mode,
    as_undetermined,
    check_answers,
    check_gate,
    check_limit,
    worst,
)
from noisesense_adapters.cli.output import console, show_lines
from noisesense_adapters.cli.progress import RunProgress
from noisesense_adapters.cli.summary import show_summary
from noisesense_adapters.datasets.model import model_judge
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.score import partial_of, score_dataset
from noisesense_adapters.datasets.write import check_folder

__all__ = ["JudgeOptions", "ScoreOptions", "check_pictures", "run_score", "score"]

_JUDGE = "Judge"
_OUTPUT = "Output"


def score(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="JSONL, CSV, Parquet, JSON (Promptfoo's, RAGChecker's) or a dataset's folder.",
        ),
    ],
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            help="Where a field stands: a column or a dotted path into one. Repeatable.",
            show_default=False,
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Names the samples.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What samples share (a document, a user): intervals are over these.",
            show_default=False,
        ),
    ] = None,
    definition: DefinitionOption = None,
    empty: EmptyOption = None,
    undetermined: UndeterminedOption = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            metavar="RECORDING", help="Take the verdicts from there.", show_default=False
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="Let a model judge, e.g. openai:gpt-4.1-mini.",
            show_default=False,
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The model's endpoint.", show_default=False, rich_help_panel=_JUDGE),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The environment variable that holds the key.",
            show_default=False,
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep every call there, and pay for none twice.",
            show_default=False,
            rich_help_panel=_JUDGE,
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Calls at once.", rich_help_panel=_JUDGE)
    ] = 16,
    plan: Annotated[
        str,
        typer.Option(
            metavar="lazy|full",
            help="Ask what the score needs, or every cell.",
            rich_help_panel=_JUDGE,
        ),
    ] = "lazy",
    votes: Annotated[
        int, typer.Option(min=1, help="Ask each verdict so often.", rich_help_panel=_JUDGE)
    ] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0, help="[default: the model's own]", show_default=False, rich_help_panel=_JUDGE
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the results: .jsonl or .parquet.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a report: one .html file.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the plots: one .png file.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    ragchecker: Annotated[
        bool,
        typer.Option(
            "--ragchecker-aggregates",
            help="As RAGChecker prints them, too: percent, undefined as 0.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    as_json: JsonOption = False,
    fail_above: FailAbove = None,
    mode: ModeOption = None,
    max_unanswered: MaxUnanswered = 0.05,
) -> None:
    """Score a dataset.

    Verdicts are those in the file, those of a recording, or a model's. With --judge and --out
    an interrupted run goes on where it was when the same command is given again, and a finished
    one tries again what failed.

    Where verdicts are missing, the figures are ranges: what every way to fill them in lies in.

    Exit status: 0 done; 1 a mean is above --fail-above; 2 an error; 3 done, but some samples
    failed (they are named on stderr and in the results); 4 whether a mean is above --fail-above
    cannot be decided; 5 more than --max-unanswered of the verdicts have no answer, or a model
    found no claim in any response; 130 interrupted. Of several, the first of 1, 4, 5, 3 counts.
    """
    from noisesense_adapters.cli.score import JudgeOptions, ScoreOptions, run_score

    model = JudgeOptions(
        judge, base_url, api_key_env, temperature, plan, votes, concurrency, store
    )
    options = ScoreOptions(
        dataset=dataset,
        mapping=mapping or [],
        names={"id": id_column, "cluster": cluster},
        definition=as_definition(definition),
        empty=as_empty(empty),
        undetermined=as_undetermined(undetermined),
        verdicts=verdicts,
        judge=model,
        out=out,
        report=report,
        png=png,
        ragchecker=ragchecker,
        as_json=as_json,
        fail_above=fail_above,
        mode=as_mode(mode),
        max_unanswered=max_unanswered,
    )
    raise typer.Exit(run_score(options))


@dataclass(frozen=True)
class JudgeOptions:
    """Who judges, and how."""

    model: str | None
    base_url: str | None
    api_key_env: str | None
    temperature: float | None
    plan: str
    votes: int
    concurrency: int
    store: Path | None

    def judge(self) -> LLMJudge | None:
        """The judge; None if none is asked for. Raises `InputError`, `JudgeError`."""
        if self.model is None:
            for name in ("base_url", "api_key_env", "temperature", "store"):
                if getattr(self, name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise InputError("--judge as well", f"only {option}", where="score")
            return None
        return model_judge(
            self.model,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            temperature=self.temperature,
            plan=self.plan,
            votes=self.votes,
            concurrency=self.concurrency,
            store=self.store,
        )


@dataclass(frozen=True)
class ScoreOptions:
    """What the command was given."""

    dataset: Path
    mapping: list[str]
    names: dict[str, str | None]
    definition: DefinitionName | None
    empty: Empty | None
    undetermined: Undetermined | None
    verdicts: Path | None
    judge: JudgeOptions
    out: Path | None
    report: Path | None
    png: Path | None
    ragchecker: bool
    as_json: bool
    fail_above: float | None
    mode: Mode | None
    max_unanswered: float

    def columns(self) -> dict[str, str]:
        """Fields and their columns. Raises `InputError`."""
        found = {name: column for name, column in self.names.items() if column is not None}
        for each in self.mapping:
            field, equals, column = each.partition("=")
            if not (field and equals and column):
                raise InputError("FIELD=COLUMN", describe(each), where="--map")
            if field in found:
                raise InputError("each field once", describe(field), where="--map")
            found[field] = column
        return found


def run_score(options: ScoreOptions) -> int:
    """Score, write, show. Returns the exit status."""
    check_limit(options.fail_above)
    check_pictures(options.report, options.png, options.dataset)
    if options.ragchecker and options.definition not in (None, "ragas"):
        got = repr(options.definition)
        raise InputError("definition 'ragas'", got, where="--ragchecker-aggregates")
    with TemporaryDirectory(prefix="noisesense-") as scratch:
        again = options.report or options.png or options.ragchecker
        # Whatever reads the results once more reads them from a file.
        results = options.out or (Path(scratch, "results.jsonl") if again else None)
        progress = RunProgress(options.dataset)
        try:
            with progress:
                summary = score_dataset(
                    options.dataset,
                    columns=options.columns(),
                    verdicts=options.verdicts,
                    judge=options.judge.judge(),
                    definition=options.definition,
                    empty=options.empty,
                    undetermined=options.undetermined,
                    out=results,
                    concurrency=options.judge.concurrency,
                    on_done=progress.add,
                )
        except KeyboardInterrupt:
            _tell_interrupted(options, progress)
            raise
        without_claims = summary.failed - progress.failed
        if without_claims > 0:
            progress.say(f"failed: {without_claims:,} responses without claims (--empty error)")
        aggregates = None
        if results is not None:
            _write_pictures(options, results)
            if options.ragchecker:
                aggregates = ragchecker_aggregates(results_of(results))
    _show(options, summary, aggregates)
    return worst(
        check_gate(summary, options.fail_above, options.mode),
        check_answers(summary, options.max_unanswered, judged=options.judge.model is not None),
        SOME_FAILED if summary.failed else 0,
    )


def _tell_interrupted(options: ScoreOptions, progress: RunProgress) -> None:
    done = progress.done - progress.failed
    kept = options.out and options.judge.model and partial_of(options.out)
    if kept and kept.exists():
        progress.say(f"interrupted: {done:,} samples are done and kept in {kept};")
        progress.say("the same command goes on from there")
    elif options.judge.model:
        progress.say("interrupted: nothing is kept without --out (but in the --store, if given)")


def _write_pictures(options: ScoreOptions, results: Path) -> None:
    if options.report is None and options.png is None:
        return
    from noisesense_adapters.report import write_png, write_report

    title = f"Noise sensitivity: {options.dataset.name}"
    if options.report is not None:
        write_report(results_of(results), options.report, title=title)
    if options.png is not None:
        write_png(results_of(results), options.png)


def _show(
    options: ScoreOptions, summary: Summary, aggregates: dict[str, float | None] | None
) -> None:
    written = [path for path in (options.out, options.report, options.png) if path]
    if options.as_json:
        data: dict[str, Any] = {"input": str(options.dataset), **summary.to_dict()}
        if aggregates is not None:
            data["ragchecker_aggregates"] = aggregates
        print(json.dumps(data, indent=2))
        return
    out = console()
    show_summary(out, options.dataset.name, summary, aggregates)
    if written:
        out.print()
        show_lines(out, [f"wrote {path}" for path in written])


def check_pictures(report: Path | None, png: Path | None, dataset: Path) -> None:
    """Raise if one that is asked for cannot be made.

    Raises:
        InputError: another ending, no folder, or a file that must not be overwritten.
        MissingExtraError: what draws is not installed.
    """
    wanted = [(report, ".html", "--report"), (png, ".png", "--png")]
    for path, ending, option in wanted:
        if path is not None:
            _check(path, ending, option, dataset)
    if report is not None or png is not None:
        import_module("noisesense_adapters.report")


def _check(path: Path, ending: str, where: str, dataset: Path) -> None:
    if path.suffix.lower() != ending:
        raise InputError(f"a name ending in {ending}", repr(path.name), where=where)
    check_folder(path.parent, where)
    if path.is_dir() or (path.exists() and dataset.exists() and path.samefile(dataset)):
        raise InputError("a file of its own", repr(str(path)), where=where)
