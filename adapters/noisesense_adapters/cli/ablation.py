"""``noisesense ablation``: plan, report and run."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noisesense.ablation import VARIANTS, Ablation, Answer, Estimate, ablate, ablation, plan
from noisesense.errors import InputError, located
from noisesense.jsonl import numbered_lines, parse_line, to_json, write_whole
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.options import Asking, ResultsPath

_TOP = 10
_VARIANTS = ",".join(VARIANTS)
_File = Path | None

app = typer.Typer(
    help="Did the chunk do it? Ask your own system again.",
    no_args_is_help=True,
)


@dataclass(frozen=True)
class Planning:
    """What the system is asked."""

    variants: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What to ask: again, without, relevant-only, plus-K.",
            show_default="all, with plus-2",
        ),
    ] = _VARIANTS
    seed: Annotated[int, typer.Option(min=0, help="Of the distractors and their places.")] = 0


@dataclass(frozen=True)
class Showing:
    """Who judges, and where the figures go."""

    judge: Annotated[
        str, options.judge_panel(metavar="PROVIDER:MODEL", help="The model that judges.")
    ] = ""
    png: Annotated[
        _File, typer.Option(metavar="FILE", help="Plot noise against distractors: .png.")
    ] = None
    as_json: options.JsonOption = False

    def model(self, asking: Asking) -> Any:
        from noisesense_adapters.datasets.model import model_judge

        if not self.judge:
            raise InputError("--judge PROVIDER:MODEL", "none", where="ablation")
        counts: dict[str, Any] = {
            "store": asking.store,
            "concurrency": asking.concurrency,
            "votes": asking.votes,
        }
        return model_judge(self.judge, **counts, **asking.of_model)

    def show(self, found: Ablation) -> None:
        if self.png is not None:
            import_module("noisesense_adapters.report.growth").write_growth(found, self.png)
        if self.as_json:
            output.show_json(found.to_dict())
            return
        out = output.console()
        output.show_lines(out, *found.sentences, "")
        columns = [output.Column("variant"), *output.numeric("samples", "noise", "interval")]
        noise = [
            [name or "as it was", f"{each.size:,}", each.text(".4f"), _span(each)]
            for name, each in found.noise.items()
        ]
        output.show_table(out, columns, noise)
        columns = [*output.numeric("claims", "caused"), output.Column("document")]
        causes = [
            [f"{each.claims:,}", f"{each.low} to {each.high}", output.one_line(each.document)]
            for each in found.causes[:_TOP]
        ]
        if causes:
            output.show_lines(out, "")
            output.show_table(out, columns, causes)


def _span(each: Estimate) -> str:
    return "-" if each.interval is None else output.span(each.interval)


@app.command("plan")
@options.grouped
def plan_rows(
    results: ResultsPath,
    planning: Planning,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The rows: .jsonl.")],
    force: options.ForceOption = False,
) -> None:
    """Write what to ask your system: JSON lines with an empty `response` to fill in."""
    options.check_new(out, force=force)
    rows = plan(options.Reading().results(results), planning.variants.split(","), planning.seed)
    write_whole(out, map(to_json, rows))
    output.say(f"wrote {len(rows):,} rows to {out}: fill in `response`, then `ablation report`")


@app.command()
@options.grouped
def report(
    results: ResultsPath,
    answered: Annotated[Path, typer.Argument(metavar="ANSWERED", help="The rows, answered.")],
    showing: Showing,
    asking: Asking,
) -> None:
    """Judge the answers and say what the chunks did."""
    reading, rows = options.Reading(), list[Any]()
    for number, text in numbered_lines(answered):
        with located(f"{answered}, line {number}"):
            rows.append(parse_line(text))
    showing.show(ablation(reading.results(results), rows, showing.model(asking)))
    raise typer.Exit(reading.status)


@app.command()
@options.grouped
def run(
    results: ResultsPath,
    answer: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Your system: a function of the question and its contexts, or an async one.",
        ),
    ],
    planning: Planning,
    showing: Showing,
    asking: Asking,
    answers: Annotated[
        _File, typer.Option(metavar="FILE", help="Keep the answers; a run goes on from them.")
    ] = None,
    deterministic: Annotated[
        bool, typer.Option(help="The same chunks always give the same response.")
    ] = False,
) -> None:
    """Ask your system and judge its answers, in one process."""
    reading = options.Reading()
    found = ablate(
        reading.results(results),
        _function(answer),
        showing.model(asking),
        variants=planning.variants.split(","),
        seed=planning.seed,
        deterministic=deterministic,
        answers=answers,
        on_answer=lambda done, of: output.tell(f"{done:,} of {of:,} answers"),
    )
    showing.show(asyncio.run(found))
    raise typer.Exit(reading.status)


def _function(name: str) -> Answer:
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return cast("Answer", getattr(import_module(module), function))
    except (ImportError, AttributeError, ValueError) as error:
        expected = "MODULE:FUNCTION that can be imported"
        raise InputError(expected, str(error), where="--answer") from error
