"""``noisesense score``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisesense_adapters.cli._options import (
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
)

__all__ = ["score"]

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
    from noisesense_adapters.cli._score_run import JudgeOptions, ScoreOptions, run_score

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
