"""``noisesense compare``, ``offenders``, ``agreement``, ``sensitivity``: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisesense_adapters.cli.options import (
    DefinitionOption,
    EmptyOption,
    FailAbove,
    JsonOption,
    MaxUnanswered,
    ModeOption,
    ResultsPath,
    UndeterminedOption,
    as_definition,
    as_empty,
    as_mode,
    as_undetermined,
)

__all__ = ["agreement", "compare", "offenders", "sensitivity"]


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Results of the version before.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Results of the version after.")],
    definition: DefinitionOption = None,
    empty: EmptyOption = None,
    undetermined: UndeterminedOption = None,
    pair_by: Annotated[
        str | None,
        typer.Option(
            metavar="id|question",
            help="What names a sample.  [default: the id it was given, else its question and "
            "reference]",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="How many changed samples to show.")] = 10,
    as_json: JsonOption = False,
    fail_above: FailAbove = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option(
            "--fail-if-worse",
            help="Exit with status 1 if B is worse than A, and with 4 if it may be and what the "
            "judge left open decides.",
        ),
    ] = False,
    mode: ModeOption = None,
    min_paired: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Exit with status 6 if less than this share of the smaller run's samples is in "
            "the other run, too.",
        ),
    ] = 0.9,
    max_unanswered: MaxUnanswered = 0.05,
) -> None:
    """Compare two versions over the same samples.

    The paired difference of each mode with its interval, the samples that changed most and the
    claims that are of another kind now. B is worse if the interval, which covers every way to
    fill in what the judge left open, lies above zero. --fail-above and --max-unanswered look at
    all of B.

    Exit status: 0 done; 1 B is worse, or a mean is above --fail-above; 2 an error; 3 done, but
    some samples failed or some lines could not be read; 4 a check cannot be decided; 5 more than
    --max-unanswered of B's verdicts have no answer; 6 fewer than --min-paired of the samples are
    in both runs. Of several, the first of 1, 4, 5, 3 counts.
    """
    from noisesense_adapters.cli.compare import CompareOptions, run_compare

    options = CompareOptions(
        as_definition(definition),
        as_empty(empty),
        as_undetermined(undetermined),
        pair_by,
        top,
        as_json,
        fail_above,
        fail_if_worse,
        as_mode(mode),
        min_paired,
        max_unanswered,
    )
    raise typer.Exit(run_compare(a, b, options))


def offenders(
    results: ResultsPath,
    by: Annotated[
        str, typer.Option(metavar="id|text", help="What makes two chunks one document.")
    ] = "id",
    top: Annotated[int, typer.Option(min=1, help="How many documents to show.")] = 10,
    examples: Annotated[int, typer.Option(min=0, help="How many claims of each.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Rank the documents that mislead.

    By the incorrect claims they entail; "alone" are those that no other retrieved chunk entails.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    from noisesense_adapters.cli.offenders import run_offenders

    raise typer.Exit(run_offenders(results, by, top, examples, as_json=as_json))


def agreement(
    judge: Annotated[Path, typer.Argument(metavar="JUDGE", help="Results of the judge.")],
    human: Annotated[
        Path, typer.Argument(metavar="HUMAN", help="The same samples, labelled by people.")
    ],
    definition: DefinitionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare a judge's verdicts with people's.

    Cell by cell (confusion, Cohen's kappa) and score by score; and each mean corrected by the
    labels (prediction-powered), where people labelled some of many judged samples. Samples are
    found by their texts, claims by theirs.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    from noisesense_adapters.cli.agreement import run_agreement

    raise typer.Exit(run_agreement(judge, human, as_definition(definition), as_json=as_json))


def sensitivity(
    results: ResultsPath,
    false_yes: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="A judge that says yes to this share of the no."
        ),
    ] = 0.02,
    false_no: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="A judge that says no to this share of the yes."
        ),
    ] = 0.0,
    cells: Annotated[
        list[str] | None,
        typer.Option(
            metavar="correct|response|reference",
            help="In which verdicts. Repeatable.  [default: all]",
            show_default=False,
        ),
    ] = None,
    definition: DefinitionOption = None,
    simulations: Annotated[int, typer.Option(min=1, help="How often.")] = 200,
    as_json: JsonOption = False,
) -> None:
    """Show where the means would move if the judge were wrong.

    By simulation on the verdicts that are there.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    from noisesense_adapters.cli.sensitivity import run_sensitivity

    raise typer.Exit(
        run_sensitivity(
            results,
            false_yes=false_yes,
            false_no=false_no,
            cells=cells,
            definition=as_definition(definition),
            simulations=simulations,
            as_json=as_json,
        )
    )
