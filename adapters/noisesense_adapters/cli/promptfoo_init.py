"""``noisesense promptfoo-init``: an example that runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import say
from noisesense_adapters.promptfoo.init import write_example


@click.command("promptfoo-init")
@click.argument("folder", type=options.FILE, default=".")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def command(folder: Path, force: bool) -> int:
    """Write a Promptfoo example that runs as it is.

    A config, the one-line file that imports our assertion, and verdicts.
    """
    for path in write_example(folder, force=force):
        say(f"wrote {path}")
    # Promptfoo starts the first `python` on the PATH, which may be one without noisesense.
    setting = "set" if os.name == "nt" else "export"
    say(
        *("", "Run it, without a key:", ""),
        f"  cd {shlex.quote(str(folder))}",
        f"  {setting} PROMPTFOO_PYTHON={shlex.quote(sys.executable)}",
        "  npx promptfoo eval",
    )
    return 0
