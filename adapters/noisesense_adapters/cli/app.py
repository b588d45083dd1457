"""The commands of ``noisesense``. Frameworks are imported when a command needs them."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import typer.core

import noisesense
from noisesense.verdicts.recording import SchemaName, json_schema
from noisesense_adapters.cli import ablation, batch, output, store, trust
from noisesense_adapters.cli.compare import compare
from noisesense_adapters.cli.demo import demo
from noisesense_adapters.cli.offenders import offenders
from noisesense_adapters.cli.options import ForceOption
from noisesense_adapters.cli.score import score
from noisesense_adapters.cli.sensitivity import sensitivity
from noisesense_adapters.cli.stability import stability
from noisesense_adapters.cli.terminal import visible
from noisesense_adapters.promptfoo.init import write_example


class _Commands(typer.core.TyperGroup):
    """Typer's own errors repeat what was typed; what a terminal would obey is shown in them."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _typed_is_shown():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _typed_is_shown():
            return super().invoke(ctx)


@contextmanager
def _typed_is_shown() -> Generator[None, None, None]:
    try:
        yield
    except Exception as error:
        if isinstance(text := getattr(error, "message", None), str) and hasattr(error, "show"):
            vars(error)["message"] = visible(text)
        raise


app = typer.Typer(
    cls=_Commands,
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


def _version(requested: bool) -> None:
    if requested:
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


def schema(
    name: Annotated[str, typer.Argument(help="verdicts, sample or recording.")] = "verdicts",
) -> None:
    """Print a JSON Schema of the data form.

    Of verdicts, of a sample, or of one line of a recording.
    """
    output.show_json(json_schema(cast("SchemaName", name)))


def promptfoo_init(
    folder: Annotated[Path, typer.Argument(help="The folder to write to.")] = Path(),
    force: ForceOption = False,
) -> None:
    """Write a Promptfoo example that runs as it is.

    A config, the one-line file that imports our assertion, and verdicts.
    """
    for path in write_example(folder, force=force):
        output.say(f"wrote {path}")
    output.say("", "Run it, without a key:", "")
    for line in _promptfoo_commands(folder):
        output.say(f"  {line}")


def _promptfoo_commands(folder: Path) -> list[str]:
    lines = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    # Promptfoo starts the first `python` it finds, which need not be the one with noisesense.
    python = shutil.which("python")
    if python is None or not Path(python).parent.samefile(Path(sys.executable).parent):
        setting = f"PROMPTFOO_PYTHON={shlex.quote(sys.executable)}"
        lines.append(f"set {setting}" if os.name == "nt" else f"export {setting}")
    return [*lines, "promptfoo eval" if shutil.which("promptfoo") else "npx promptfoo eval"]


app.add_typer(store.app, name="store")
app.add_typer(batch.app, name="batch")
app.add_typer(ablation.app, name="ablation")
for command in (
    demo,
    schema,
    promptfoo_init,
    score,
    compare,
    offenders,
    sensitivity,
    stability,
):
    app.command()(command)


def _help(command: object) -> str:
    """Typer's frames keep the line ends of a docstring, which are not those of the window."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(command) or "")


app.add_typer(trust.app, name="trust", help=_help(trust.trust))
for group in (app, store.app, batch.app, ablation.app, trust.app):
    for registered in group.registered_commands:
        registered.help = _help(registered.callback)
