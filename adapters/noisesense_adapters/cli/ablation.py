"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noisesense.ablation import VARIANTS, Ablation, Answer, Estimate, ablate, ablation, plan
from noisesense.errors import InputError, located
from noisesense.jsonl import numbered_lines, parse_line, to_json, write_whole
from noisesense_adapters.cli import options, output

_TOP = 10

app = typer.Typer(
    help="Did the chunk do it? Let your own system answer again, with other chunks.",
    no_args_is_help=True,
)
_Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="Results, as `score --out` writes.")
]
_Variants = Annotated[
    str, typer.Option(metavar="NAMES", help="With commas: again, without, relevant-only, plus-K.")
]
_Seed = Annotated[int, typer.Option(min=0, help="Of the distractors and their places.")]
_Judge = Annotated[
    str, options.judge_panel(metavar="PROVIDER:MODEL", help="The model that judges the answers.")
]
_Store = Annotated[
    Path | None,
    options.judge_panel(metavar="FILE", help="Store every call in this file: none is paid twice."),
]
_Png = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Plot noise against distractors: one .png file."),
]


@app.command("plan")
def plan_rows(
    results: _Results,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the rows: .jsonl.")],
    variants: _Variants = ",".join(VARIANTS),
    seed: _Seed = 0,
    force: options.ForceOption = False,
) -> None:
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""
    options.check_new(out, force=force)
    rows = plan(options.Reading().results(results), variants.split(","), seed)
    write_whole(out, map(to_json, rows))
    output.say(f"wrote {len(rows):,} rows to {out}: fill in `response`, then `ablation report`")


@app.command()
def report(
    results: _Results,
    answered: Annotated[Path, typer.Argument(metavar="ANSWERED", help="The rows, answered.")],
    judge: _Judge,
    base_url: options.BaseUrlOption = None,
    api_key_env: options.KeyNameOption = None,
    store: _Store = None,
    concurrency: options.ConcurrencyOption = 16,
    png: _Png = None,
    as_json: options.JsonOption = False,
) -> None:
    """Judge the answers and say what the chunks did."""
    reading = options.Reading()
    rows: list[Any] = []
    for number, text in numbered_lines(answered):
        with located(f"{answered}, line {number}"):
            rows.append(parse_line(text))
    judging = _judge(judge, base_url, api_key_env, store, concurrency)
    _show(ablation(reading.results(results), rows, judging), png, as_json)
    raise typer.Exit(reading.status)


@app.command()
def run(
    results: _Results,
    answer: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Your system: answer(user_input, contexts) gives the response; may be async.",
        ),
    ],
    judge: _Judge,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the answers; a run goes on from them."),
    ] = None,
    variants: _Variants = ",".join(VARIANTS),
    seed: _Seed = 0,
    deterministic: Annotated[
        bool, typer.Option(help="The same chunks always give the same response.")
    ] = False,
    base_url: options.BaseUrlOption = None,
    api_key_env: options.KeyNameOption = None,
    store: _Store = None,
    concurrency: options.ConcurrencyOption = 4,
    png: _Png = None,
    as_json: options.JsonOption = False,
) -> None:
    """Ask your system and judge its answers, in one process."""
    reading = options.Reading()
    work = ablate(
        reading.results(results),
        _function(answer),
        _judge(judge, base_url, api_key_env, store, concurrency),
        variants=variants.split(","),
        seed=seed,
        deterministic=deterministic,
        max_concurrency=concurrency,
        answers=answers,
        on_answer=lambda done, of: output.tell(f"{done:,} of {of:,} answers"),
    )
    _show(asyncio.run(work), png, as_json)
    raise typer.Exit(reading.status)


def _function(name: str) -> Answer:
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return cast("Answer", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            "MODULE:FUNCTION that can be imported", str(error), where="--answer"
        ) from error


def _judge(
    name: str, base_url: str | None, api_key_env: str | None, store: Path | None, concurrency: int
) -> Any:
    from noisesense_adapters.datasets.model import model_judge

    return model_judge(
        name, base_url=base_url, api_key_env=api_key_env, store=store, concurrency=concurrency
    )


def _show(found: Ablation, png: Path | None, as_json: bool) -> None:
    if png is not None:
        from noisesense_adapters.report.growth import write_growth

        write_growth(found, png)
    if as_json:
        return output.show_json(found.to_dict())
    out = output.console()
    output.show_lines(out, *found.sentences, "")
    columns = [output.Column("variant"), *output.numeric("samples", "noise", "interval")]
    rows = [
        [name or "as it was", f"{each.size:,}", _figure(each), _span(each)]
        for name, each in found.noise.items()
    ]
    output.show_table(out, columns, rows)
    if found.causes:
        output.show_lines(out, "")
        columns = [*output.numeric("claims", "caused"), output.Column("document")]
        causes = [
            [
                f"{each.claims:,}",
                f"{each.low}" if each.low == each.high else f"{each.low} to {each.high}",
                output.one_line(each.document),
            ]
            for each in found.causes[:_TOP]
        ]
        output.show_table(out, columns, causes)


def _figure(each: Estimate) -> str:
    return (
        output.figure(each.value)
        if each.value is not None
        else f"{each.low:.4f} to {each.high:.4f}"
    )


def _span(each: Estimate) -> str:
    return "-" if each.interval is None else output.span(each.interval)
