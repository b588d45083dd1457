"""``noisesense store``: show a store of judged calls."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import say, show_json, show_table
from noisesense_adapters.evaluate.tables import Table, shown


@click.group("store", no_args_is_help=False)
def command() -> None:
    """Show a store of judged calls."""


@command.command("show")
@click.argument("store", type=options.FILE)
@options.as_json
def show(store: Path, as_json: bool) -> int:
    """Show what a store holds, by model and prompt version.

    Calls and tokens are what the stored answers cost, and what replaying them saves.
    """
    from noisesense import VerdictStore  # it loads SQLite

    with VerdictStore(store, must_exist=True) as opened:
        stats = opened.stats()
        size = opened.path.stat().st_size
    oldest = _time(min((calls.oldest for calls in stats), default=None))
    newest = _time(max((calls.newest for calls in stats), default=None))
    lines: list[dict[str, object]] = []
    for calls in stats:
        line: dict[str, object] = {
            "model": calls.model,
            "prompts": calls.version,
            "calls": calls.calls,
            "input_tokens": calls.usage.input_tokens,
            "output_tokens": calls.usage.output_tokens,
            "cost": calls.usage.cost,
        }
        lines.append(line)
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


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
