"""``noisesense store``: show, export and prune a store of judged calls."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisesense.errors import InputError, describe
from noisesense.judging.protocol import Usage
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import ForceOption, JsonOption, check_new
from noisesense_adapters.cli.terminal import visible

if TYPE_CHECKING:
    from noisesense.judging.records import StoredCall, StoredSample
    from noisesense.judging.store import VerdictStore

app = typer.Typer(
    help="Show, export, merge or prune a store of judged calls.", no_args_is_help=True
)

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The store's file.")]
Model = Annotated[str | None, typer.Option(help="Only what this model judged.")]


def _opened(path: Path) -> VerdictStore:
    from noisesense import VerdictStore  # here, since SQLite takes its time

    return VerdictStore(path, must_exist=True)


@dataclass(frozen=True)
class Line:
    """What one model judged with one version of the prompts."""

    model: str
    prompts: str
    calls: int
    unusable: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    samples: int
    undetermined: int


_COLUMNS = (
    output.Column("model"),
    output.Column("prompts"),
    *output.numeric(
        "calls", "unusable\nreplies", "input\ntokens", "output\ntokens", "cost", "samples"
    ),
    *output.numeric("undetermined\nverdicts"),
)


@app.command()
def show(store: StorePath, as_json: JsonOption = False) -> None:
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the stored answers cost, and what replaying them saves.
    Undetermined verdicts are those that the judge was asked for and did not give.
    """
    with _opened(store) as opened:
        opened.check()
        stats = opened.stats()
        lines = _lines(opened.calls(), opened.samples())
    if as_json:
        output.show_json(
            {
                "path": str(store),
                "bytes": stats.bytes,
                "oldest": _time(stats.oldest),
                "newest": _time(stats.newest),
                "lines": [asdict(line) for line in lines],
            }
        )
        return
    out = output.console()
    span = f"judged from {_time(stats.oldest)} to {_time(stats.newest)}"
    about = "empty" if stats.oldest is None else span
    output.show_lines(out, f"{store}: {stats.bytes / 1024:,.0f} KiB, {about}")
    if lines:
        out.print()
        output.show_table(
            out, _COLUMNS, [[_cell(value) for value in asdict(each).values()] for each in lines]
        )


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _lines(calls: Sequence[StoredCall], samples: Sequence[StoredSample]) -> list[Line]:
    lines: list[Line] = []
    rows: list[StoredCall | StoredSample] = [*calls, *samples]
    for model, version in sorted({(row.model, row.version) for row in rows}):
        of_calls = [row for row in calls if (row.model, row.version) == (model, version)]
        of_samples = [row for row in samples if (row.model, row.version) == (model, version)]
        usage = sum((call.usage for call in of_calls), Usage())
        lines.append(
            Line(
                model=model,
                prompts=version,
                calls=len(of_calls),
                unusable=sum(call.reply is None for call in of_calls),
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost=usage.cost,
                samples=len(of_samples),
                undetermined=sum(sample.unanswered for sample in of_samples),
            )
        )
    return lines


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


@app.command()
def export(
    store: StorePath,
    recording: Annotated[
        Path, typer.Argument(metavar="RECORDING", help="The JSONL file to write.")
    ],
    model: Model = None,
    force: ForceOption = False,
) -> None:
    """Write the judged samples as a recording.

    A sample that was judged several times is written with its newest verdicts.
    """
    check_new(recording, force=force)
    with _opened(store) as opened:
        count = opened.export(recording, model=model)
    output.say(f"wrote {counted(count, 'sample')} to {recording}")


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_age(text: str) -> timedelta:
    """``12h``, ``30d``, … as a duration. Raises `InputError`."""
    match = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip())
    if match is None:
        raise InputError(
            "a number and a unit, m, h, d or w (as in 30d)", describe(text), where="--older-than"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@app.command()
def merge(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="The store to add to; made if it is not there.")
    ],
    others: Annotated[list[Path], typer.Argument(metavar="OTHER…", help="The stores to add.")],
    as_json: JsonOption = False,
) -> None:
    """Add other stores to a store.

    Their calls, judged samples and open requests; they stay as they are. Of a call that both have,
    one with an answer is kept. The order does not matter, and a second time adds nothing.
    """
    from noisesense import VerdictStore

    merged: list[dict[str, object]] = []
    for path in others:  # before any of them is added
        _opened(path).close()
        if store.exists() and store.samefile(path):
            raise InputError("another store", visible(str(path)), where="merge")
    with VerdictStore(store) as opened:
        for path in others:
            with _opened(path) as other:
                added = opened.merge(other)
            merged.append({"path": str(path), **added._asdict()})
            if not as_json:
                calls, samples = counted(added.calls, "call"), counted(added.samples, "sample")
                output.say(f"{path}: {calls} and {samples} added")
    if as_json:
        output.show_json({"path": str(store), "merged": merged})


@app.command()
def prune(
    store: StorePath,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Only what is older than this: 90m, 12h, 30d, 8w."),
    ] = None,
    model: Model = None,
    unanswered: Annotated[
        bool,
        typer.Option(
            "--unanswered",
            help="Only calls without a usable answer and samples with undetermined verdicts. "
            "They are asked again either way.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
) -> None:
    """Remove calls and samples by age, by model, or because they lack an answer.

    Several options together remove only what fits all of them. Without --yes, asks first; if the
    answer is no, the store stays as it is and the exit status is 1.
    """
    age = None if older_than is None else parse_age(older_than)
    if age is None and model is None and not unanswered:
        raise InputError("--older-than, --model or --unanswered", "none of them", where="prune")
    with _opened(store) as opened:
        if not yes:
            newest = None if age is None else time.time() - age.total_seconds()

            def fits(row: StoredCall | StoredSample) -> bool:
                return (
                    (newest is None or row.created < newest)
                    and (model is None or row.model == model)
                    and (not unanswered or row.unanswered > 0)
                )

            calls, samples = sum(map(fits, opened.calls())), sum(map(fits, opened.samples()))
            what = f"{calls} calls and {samples} samples from {visible(str(store))}"
            typer.confirm(f"Remove {what}?", abort=True)
        removed = opened.prune(older_than=age, model=model, unanswered=unanswered)
    output.say(f"removed {removed.calls} calls and {removed.samples} samples from {store}")
