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
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.cli.terminal import visible

if TYPE_CHECKING:
    import sqlite3

    from noisesense.judging.store import StoredCalls, VerdictStore

_STORE = argument("The store's file.")


def _opened(path: Path) -> VerdictStore:
    from noisesense import VerdictStore  # it loads SQLite

    return VerdictStore(path, must_exist=True)


class Show(Command):
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the stored answers cost, and what replaying them saves.
    """

    store: Path = _STORE
    as_json: bool = options.JSON

    def run(self) -> int:
        with _opened(self.store) as opened:
            stats = opened.stats()
            size = opened.path.stat().st_size
        oldest = _time(min((calls.oldest for calls in stats), default=None))
        newest = _time(max((calls.newest for calls in stats), default=None))
        lines = [_line(calls) for calls in stats]
        if self.as_json:
            about = {"path": str(self.store), "bytes": size, "oldest": oldest, "newest": newest}
            show_json({**about, "lines": lines})
            return 0
        span = "empty" if oldest is None else f"judged from {oldest} to {newest}"
        say(f"{self.store}: {size / 1024:,.0f} KiB, {span}")
        if lines:
            say("")
            titles = ["model", "prompts", ">calls", ">input_tokens", ">output_tokens", ">cost"]
            show_table(titles, [list(line.values()) for line in lines])
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


class Prune(Command):
    """Remove calls by age or by model.

    Both options together remove only what fits both. Without --yes, asks first; if the answer is
    no, the store stays as it is and the exit status is 1.
    """

    store: Path = _STORE
    older_than: int | None = option("Only what is older.", "DAYS", type=click.IntRange(0, 36_500))
    model: str | None = option("Only what this model judged.")
    yes: bool = option("Do not ask first.", None, "--yes", "-y")

    def run(self) -> int:
        if self.older_than is None and self.model is None:
            raise InputError("--older-than or --model", "neither of them", where="prune")
        from noisesense.judging.store import KEPT

        # Without an age every call goes, also one that a fast clock dated in the future.
        before = inf if self.older_than is None else time.time() - self.older_than * 86_400
        condition = f"{KEPT} AND made < ? AND model = coalesce(?, model)"
        values = (before, self.model)

        def count(file: sqlite3.Connection) -> int:
            return int(file.execute(f"SELECT count(*) {condition}", values).fetchone()[0])

        def remove(file: sqlite3.Connection) -> int:
            return file.execute(f"DELETE {condition}", values).rowcount

        with _opened(self.store) as opened:
            if not self.yes:
                calls = counted(opened.transact(count, write=False), "call")
                path = visible(str(self.store))
                click.confirm(f"Remove {calls} from {path}?", abort=True)
            removed = counted(opened.transact(remove), "call")
            say(f"removed {removed} from {self.store}")
        return 0
