"""``noisesense store``: show and prune a store of judged calls."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisesense.errors import InputError
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.cli.terminal import visible
from noisesense_adapters.evaluate.tables import Table, shown

if TYPE_CHECKING:
    import sqlite3

    from noisesense.judging.store import StoredCalls, VerdictStore


@click.group("store", no_args_is_help=False)
def command() -> None:
    """Show or prune a store of judged calls."""


def _opened(path: Path) -> VerdictStore:
    from noisesense import VerdictStore  # it loads SQLite

    return VerdictStore(path, must_exist=True)


@command.command("show")
@click.argument("store", type=options.FILE)
@options.as_json
def show(store: Path, as_json: bool) -> int:
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the stored answers cost, and what replaying them saves.
    """
    with _opened(store) as opened:
        stats = opened.stats()
        size = opened.path.stat().st_size
    oldest = _time(min((calls.oldest for calls in stats), default=None))
    newest = _time(max((calls.newest for calls in stats), default=None))
    lines = [_line(calls) for calls in stats]
    if as_json:
        about = {"path": str(store), "bytes": size, "oldest": oldest, "newest": newest}
        show_json({**about, "lines": lines})
        return 0
    span = "empty" if oldest is None else f"judged from {oldest} to {newest}"
    say(f"{store}: {size / 1024:,.0f} KiB, {span}")
    if lines:
        say("")
        rows = [tuple(map(shown, line.values())) for line in lines]
        show_table(Table(tuple(lines[0]), rows))
    return 0


def _line(calls: StoredCalls) -> dict[str, object]:
    return {
        "model": calls.model,
        "prompts": calls.version,
        "calls": calls.calls,
        "input_tokens": calls.usage.input_tokens,
        "output_tokens": calls.usage.output_tokens,
        "cost": calls.usage.cost,
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


@command.command("prune")
@click.argument("store", type=options.FILE)
@click.option(
    "--older-than",
    type=click.IntRange(0, 36_500),
    metavar="DAYS",
    help="Only what is older.",
)
@click.option("--model", help="Only what this model judged.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask first.")
def prune(store: Path, older_than: int | None, model: str | None, yes: bool) -> int:
    """Remove calls by age or by model.

    Both options together remove only what fits both. Without --yes, asks first; if the answer is
    no, the store stays as it is and the exit status is 1.
    """
    if older_than is None and model is None:
        raise InputError("--older-than or --model", "neither of them", where="prune")
    from noisesense.judging.store import KEPT

    # Without an age every call goes, also one that a fast clock dated in the future.
    before = inf if older_than is None else time.time() - older_than * 86_400
    condition = f"{KEPT} AND made < ? AND model = coalesce(?, model)"
    values = (before, model)

    def count(file: sqlite3.Connection) -> int:
        return int(file.execute(f"SELECT count(*) {condition}", values).fetchone()[0])

    def remove(file: sqlite3.Connection) -> int:
        return file.execute(f"DELETE {condition}", values).rowcount

    with _opened(store) as opened:
        if not yes:
            calls = counted(opened.transact(count, write=False), "call")
            click.confirm(f"Remove {calls} from {visible(str(store))}?", abort=True)
        removed = counted(opened.transact(remove), "call")
        say(f"removed {removed} from {store}")
    return 0
