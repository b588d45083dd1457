"""``noisesense store``: show, merge and prune a store of judged calls."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisesense.errors import InputError, describe
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import JsonOption
from noisesense_adapters.cli.terminal import visible

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

app = typer.Typer(help="Show, merge or prune a store of judged calls.", no_args_is_help=True)

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The store's file.")]


def _opened(path: Path) -> VerdictStore:
    from noisesense import VerdictStore  # here, since SQLite takes its time

    return VerdictStore(path, must_exist=True)


_COLUMNS = (
    output.Column("model"),
    output.Column("prompts"),
    *output.numeric("calls", "input\ntokens", "output\ntokens", "cost"),
)


@app.command()
def show(store: StorePath, as_json: JsonOption = False) -> None:
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the stored answers cost, and what replaying them saves.
    """
    with _opened(store) as opened:
        stats = opened.stats()
        size = opened.path.stat().st_size
    oldest = _time(min((each.oldest for each in stats), default=None))
    newest = _time(max((each.newest for each in stats), default=None))
    lines = [
        {
            "model": each.model,
            "prompts": each.version,
            "calls": each.calls,
            "input_tokens": each.usage.input_tokens,
            "output_tokens": each.usage.output_tokens,
            "cost": each.usage.cost,
        }
        for each in stats
    ]
    if as_json:
        about = {"path": str(store), "bytes": size, "oldest": oldest, "newest": newest}
        output.show_json({**about, "lines": lines})
        return
    out = output.console()
    span = "empty" if oldest is None else f"judged from {oldest} to {newest}"
    output.show_lines(out, f"{store}: {size / 1024:,.0f} KiB, {span}")
    if lines:
        out.print()
        rows = [[_cell(value) for value in line.values()] for line in lines]
        output.show_table(out, _COLUMNS, rows)


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


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

    Their calls and open requests; they stay as they are. Of a call that both have, one with an
    answer is kept. The order does not matter, and a second time adds nothing.
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
            merged.append({"path": str(path), "calls": added})
            if not as_json:
                output.say(f"{path}: {counted(added, 'call')} added")
    if as_json:
        output.show_json({"path": str(store), "merged": merged})


@app.command()
def prune(
    store: StorePath,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Only what is older than this: 90m, 12h, 30d, 8w."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only what this model judged.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
) -> None:
    """Remove calls by age or by model.

    Both options together remove only what fits both. Without --yes, asks first; if the answer is
    no, the store stays as it is and the exit status is 1.
    """
    age = None if older_than is None else parse_age(older_than)
    if age is None and model is None:
        raise InputError("--older-than or --model", "neither of them", where="prune")
    with _opened(store) as opened:
        if not yes:
            count = opened.prune(older_than=age, model=model, dry=True)
            what = f"{counted(count, 'call')} from {visible(str(store))}"
            typer.confirm(f"Remove {what}?", abort=True)
        removed = opened.prune(older_than=age, model=model)
    output.say(f"removed {counted(removed, 'call')} from {store}")
