"""The command ``noisesense``, whose commands are loaded, with what they import, when used."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

import noisesense
from noisesense.errors import NoiseSenseError
from noisesense_adapters.extras import needs_extra

COMMANDS = (
    "ablation",
    "compare",
    "demo",
    "gate",
    "offenders",
    "promptfoo-init",
    "report",
    "score",
    "trust",
)
"""Each is the function ``command`` of the module with its name."""


class LazyGroup(click.Group):
    """Load a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command; None if there is no such one."""
        if cmd_name not in COMMANDS:
            return None
        with needs_extra("cli", "rich"):
            module = import_module(f"noisesense_adapters.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command


@click.group(
    cls=LazyGroup,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(noisesense.__version__, message="%(prog)s %(version)s")
def app() -> None:
    """Count what retrieved documents mislead RAG answers into.

    \b
    Exit status:
      0    passed: done, and every check passed
      1    failed: a check failed
      2    error: named on stderr
      3    incomplete: some samples failed without a check, or lines could not be read
      4    undecided: verdicts are missing, no mean, or too few pairs to tell
      5    unmeasured: too many verdicts without answer, or too little to measure
      6    unpaired: too few samples are in both runs
      130  interrupted
    """


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, without any the help; return its exit status.

    Not by click's own ``main``, which ends an interrupt and a closed pipe with 1.

    Raises:
        NoiseSenseError: what a command raises, or arguments that it does not take.
    """
    try:
        with app.make_context("noisesense", [*arguments] or ["--help"]) as context:
            status: int = app.invoke(context)
            return status
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "noisesense"
        message = error.format_message()
        if not message.endswith((".", "?")):
            message += "."
        raise NoiseSenseError(f"{message} Hint: {path} --help") from None
