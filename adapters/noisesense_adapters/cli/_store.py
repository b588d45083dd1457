"""``noisesense store``: look into a store of judged calls, export it, prune it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

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
    from noisesense_adapters.cli._store_summary import show_summary

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
    from noisesense.store import VerdictStore

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
            "They are asked again when scored into a new file.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove calls and samples by age, by model or for want of an answer.

    With several options, only that for which all of them hold. Without --yes you are asked before.
    """
    from noisesense_adapters.cli._store_prune import prune_store

    prune_store(store, older_than, model, unanswered=unanswered, ask=not yes)
