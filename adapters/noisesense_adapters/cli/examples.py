"""``noisesense promptfoo-init``: an example that runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument
from noisesense_adapters.cli.output import say
from noisesense_adapters.promptfoo.init import write_example


class PromptfooInit(Command):
    """Write a Promptfoo example that runs as it is.

    A config, the one-line file that imports our assertion, and verdicts.
    """

    folder: Path = argument("The folder to write to.", default=".")
    force: bool = options.FORCE

    def run(self) -> int:
        for path in write_example(self.folder, force=self.force):
            say(f"wrote {path}")
        # Promptfoo starts the first `python` on the PATH, which may be one without noisesense.
        setting = "set" if os.name == "nt" else "export"
        say(
            *("", "Run it, without a key:", ""),
            f"  cd {shlex.quote(str(self.folder))}",
            f"  {setting} PROMPTFOO_PYTHON={shlex.quote(sys.executable)}",
            "  npx promptfoo eval",
        )
        return 0
