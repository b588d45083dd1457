"""The commands of ``noisesense``. Frameworks are imported when a command needs them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, cast

import typer

import noisesense
from noisesense.verdicts.schema import SchemaName, json_schema
from noisesense_adapters.cli import results as _results_commands
from noisesense_adapters.cli import store as _store
from noisesense_adapters.cli.score import score
from noisesense_adapters.promptfoo.init import write_example

__all__ = ["app", "show_schema", "write"]

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
    from noisesense_adapters.cli.demo import show_demo

    raise typer.Exit(show_demo(promptfoo, require or [], as_json=as_json))


@app.command()
def schema(
    name: Annotated[str, typer.Argument(help="verdicts, sample or recording.")] = "verdicts",
) -> None:
    """Print a JSON Schema of the data form.

    Of verdicts, of a sample, or of one line of a recording.
    """
    from noisesense_adapters.cli.app import show_schema

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
    from noisesense_adapters.cli.app import write

    write(folder, force=force)


app.command()(score)
app.command()(_results_commands.compare)
app.command()(_results_commands.offenders)
app.command()(_results_commands.agreement)
app.command()(_results_commands.sensitivity)


def write(folder: Path, *, force: bool) -> None:
    """Write the example and say what was written and what to run next."""
    for path in write_example(folder, force=force):
        print(f"wrote {path}")
    print("\nRun it, without a key:\n")
    for line in _commands(folder):
        print(f"  {line}")


def _commands(folder: Path) -> list[str]:
    lines = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    # Promptfoo starts the first `python` it finds, which need not be the one with noisesense.
    python = shutil.which("python")
    if python is None or not Path(python).parent.samefile(Path(sys.executable).parent):
        setting = f"PROMPTFOO_PYTHON={shlex.quote(sys.executable)}"
        lines.append(f"set {setting}" if os.name == "nt" else f"export {setting}")
    return [*lines, "promptfoo eval" if shutil.which("promptfoo") else "npx promptfoo eval"]


def show_schema(name: str) -> None:
    """Print one JSON Schema. ASCII, so that no console's encoding spoils a redirected file."""
    print(json.dumps(json_schema(cast("SchemaName", name)), indent=2))
