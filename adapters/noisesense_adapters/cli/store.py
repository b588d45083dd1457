"""``noisesense store``: look into a store of judged calls, export it, prune it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from noisesense.errors import InputError, describe
from noisesense.judging.protocol import Usage
from noisesense.judging.store import StoredCall, StoredSample, StoreStats, VerdictStore
from noisesense_adapters.cli.output import Column, console, show_lines, show_table

__all__ = ["app", "parse_age", "prune_store", "show_summary"]

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_age(text: str) -> timedelta:
    """``12h``, ``30d``, … as a duration. Raises `InputError`."""
    match = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip())
    if match is None:
        raise InputError(
            "a number and a unit, m, h, d or w (as in 30d)", describe(text), where="--older-than"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def prune_store(
    path: Path, older_than: str | None, model: str | None, *, unanswered: bool, ask: bool
) -> None:
    """Count, ask, remove. Answering no leaves the store as it is and exits with status 1."""
    age = None if older_than is None else parse_age(older_than)
    if age is None and model is None and not unanswered:
        raise InputError("--older-than, --model or --unanswered", "none of them", where="prune")
    with VerdictStore(path, must_exist=True) as store:
        if ask:
            before = None if age is None else time.time() - age.total_seconds()
            calls = _count(store.calls(), before, model, unanswered)
            samples = _count(store.samples(), before, model, unanswered)
            typer.confirm(f"Remove {calls} calls and {samples} samples from {path}?", abort=True)
        removed = store.prune(older_than=age, model=model, unanswered=unanswered)
    print(f"removed {removed.calls} calls and {removed.samples} samples from {path}")


def _count(
    rows: list[StoredCall] | list[StoredSample],
    before: float | None,
    model: str | None,
    unanswered: bool,
) -> int:
    return sum(
        (before is None or row.created < before)
        and (model is None or row.model == model)
        and (not unanswered or row.unanswered > 0)
        for row in rows
    )


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


_COLUMNS: tuple[tuple[Column, Callable[[Line], str]], ...] = (
    (Column("model"), lambda line: line.model),
    (Column("prompts"), lambda line: line.prompts),
    (Column("calls", numeric=True), lambda line: f"{line.calls:,}"),
    (Column("unusable\nreplies", numeric=True), lambda line: f"{line.unusable:,}"),
    (Column("input\ntokens", numeric=True), lambda line: f"{line.input_tokens:,}"),
    (Column("output\ntokens", numeric=True), lambda line: f"{line.output_tokens:,}"),
    (Column("cost", numeric=True), lambda line: "-" if line.cost is None else f"{line.cost:.4f}"),
    (Column("samples", numeric=True), lambda line: f"{line.samples:,}"),
    (Column("undetermined\nverdicts", numeric=True), lambda line: f"{line.undetermined:,}"),
)


def show_summary(path: Path, *, as_json: bool) -> None:
    """Print one line for each model and prompt version, after checking the whole file."""
    with VerdictStore(path, must_exist=True) as store:
        store.check()
        stats = store.stats()
        lines = summarize(store.calls(), store.samples())
    if as_json:
        data = {
            "path": str(path),
            "bytes": stats.bytes,
            "oldest": _time(stats.oldest),
            "newest": _time(stats.newest),
            "lines": [asdict(line) for line in lines],
        }
        print(json.dumps(data, indent=2))
        return
    out = console()
    show_lines(out, [_headline(path, stats)])
    if lines:
        out.print()
        rows = [[Text(shown(line)) for _, shown in _COLUMNS] for line in lines]
        show_table(out, [column for column, _ in _COLUMNS], rows)


def summarize(calls: Sequence[StoredCall], samples: Sequence[StoredSample]) -> list[Line]:
    """The rows of a store, added up by model and prompt version."""
    keys = {(call.model, call.version) for call in calls}
    keys |= {(sample.model, sample.version) for sample in samples}
    return [
        _line(
            *key,
            [call for call in calls if (call.model, call.version) == key],
            [sample for sample in samples if (sample.model, sample.version) == key],
        )
        for key in sorted(keys)
    ]


def _line(
    model: str, version: str, calls: Sequence[StoredCall], samples: Sequence[StoredSample]
) -> Line:
    usage = sum((call.usage for call in calls), Usage())
    return Line(
        model=model,
        prompts=version,
        calls=len(calls),
        unusable=sum(call.reply is None for call in calls),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        samples=len(samples),
        undetermined=sum(sample.unanswered for sample in samples),
    )


def _headline(path: Path, stats: StoreStats) -> str:
    size = f"{stats.bytes / 1024:,.0f} KiB"
    if stats.oldest is None:
        return f"{path}: {size}, empty"
    return f"{path}: {size}, judged from {_time(stats.oldest)} to {_time(stats.newest)}"


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


app = typer.Typer(help="Show, export or prune a store of judged calls.", no_args_is_help=True)

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The store's file.")]
Model = Annotated[
    str | None, typer.Option(help="Only what this model judged.", show_default=False)
]


@app.command()
def show(
    store: StorePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the kept answers cost, and what replaying them saves. Undetermined
    are the verdicts that were asked for and stayed without an answer.
    """
    from noisesense_adapters.cli.store import show_summary

    show_summary(store, as_json=as_json)


@app.command()
def export(
    store: StorePath,
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="The JSONL file.")],
    model: Model = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the judged samples as a recording.

    A sample that was judged several times is written with its newest verdicts.
    """
    from noisesense.errors import InputError
    from noisesense.judging.store import VerdictStore

    if recording.exists() and not force:
        where, hint = str(recording), "--force overwrites it"
        raise InputError("a new file", "one that is already there", where=where, hint=hint)
    with VerdictStore(store, must_exist=True) as opened:
        count = opened.export(recording, model=model)
    print(f"wrote {count} {'sample' if count == 1 else 'samples'} to {recording}")


@app.command()
def prune(
    store: StorePath,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Only what is older: 90m, 12h, 30d, 8w."),
    ] = None,
    model: Model = None,
    unanswered: Annotated[
        bool,
        typer.Option(
            "--unanswered",
            help="Only calls that answered nothing and samples with verdicts left undetermined. "
            "They are asked again either way.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove calls and samples by age, by model or for want of an answer.

    With several options, only that for which all of them hold. Without --yes you are asked before.
    """
    from noisesense_adapters.cli.store import prune_store

    prune_store(store, older_than, model, unanswered=unanswered, ask=not yes)
