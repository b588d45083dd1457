"""The commands. Each module is imported when its command runs, frameworks later still."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import noisesense
from noisesense_adapters.cli import _results_commands, _store
from noisesense_adapters.cli._score import score

__all__ = ["app"]

app = typer.Typer(
    help="Noise sensitivity of RAG answers, the same number in ragas, DeepEval and Promptfoo."
    "\n\nExit status: 0 done, and every check passed; 1 a check failed; 2 an error; 3 done, but "
    "some samples failed; 4 a check cannot be decided, since verdicts are missing or there is no "
    "mean; 5 too many verdicts have no answer; 6 too few samples are in both runs; "
    "130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    # Help with frames and colors belongs in a terminal only.
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
)
app.add_typer(_store.app, name="store")


def _version(asked: bool) -> None:
    if asked:
        print(f"noisesense {noisesense.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    promptfoo: Annotated[
        Path | None,
        typer.Option(
            help="The promptfoo command, if it is neither on PATH nor in ./node_modules/.bin.",
            show_default=False,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="Frameworks that must be there, e.g. ragas,deepeval,promptfoo.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare documented examples in all frameworks.

    Six examples whose figures are documented are computed in every framework that is installed,
    and the figures compared. Needs no key and no network. Exit status 0 if all agree, 1 if not.
    """
    from noisesense_adapters.cli._demo import show_demo

    raise typer.Exit(show_demo(promptfoo, require or [], as_json=as_json))


@app.command()
def schema(
    name: Annotated[str, typer.Argument(help="verdicts, sample or recording.")] = "verdicts",
) -> None:
    """Print a JSON Schema of the data form.

    Of verdicts, of a sample, or of one line of a recording.
    """
    from noisesense_adapters.cli._schema import show_schema

    show_schema(name)


@app.command("promptfoo-init")
def promptfoo_init(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path(),
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are already there.")
    ] = False,
) -> None:
    """Write a Promptfoo example that runs as it is.

    A config, the one-line file that names our assertion, and verdicts.
    """
    from noisesense_adapters.cli._promptfoo_init import write

    write(folder, force=force)


app.command()(score)
app.command()(_results_commands.compare)
app.command()(_results_commands.offenders)
app.command()(_results_commands.agreement)
app.command()(_results_commands.sensitivity)
