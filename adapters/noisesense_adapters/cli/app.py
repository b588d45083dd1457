"""The commands of ``noisesense``. Frameworks are imported when a command needs them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import cast

import click

import noisesense
from noisesense.verdicts.recording import SchemaName, json_schema
from noisesense_adapters.cli import ablation, batch, options, store
from noisesense_adapters.cli.commands import Command, argument, command, group
from noisesense_adapters.cli.compare import Compare
from noisesense_adapters.cli.demo import Demo
from noisesense_adapters.cli.output import say, show_json
from noisesense_adapters.cli.power import Power
from noisesense_adapters.cli.questions import Offenders, Sensitivity, Stability
from noisesense_adapters.cli.score import Score
from noisesense_adapters.cli.trust import ExportLabels, ImportLabels, Trust
from noisesense_adapters.promptfoo.init import write_example


class Schema(Command):
    """Print a JSON Schema of the data form.

    Of verdicts, of a sample, or of one line of a recording.
    """

    name: str = argument("verdicts, sample or recording.", default="verdicts")

    def run(self) -> int:
        show_json(json_schema(cast("SchemaName", self.name)))
        return 0


class PromptfooInit(Command):
    """Write a Promptfoo example that runs as it is.

    A config, the one-line file that imports our assertion, and verdicts.
    """

    folder: Path = argument("The folder to write to.", default=".")
    force: bool = options.FORCE

    def run(self) -> int:
        for path in write_example(self.folder, force=self.force):
            say(f"wrote {path}")
        # Promptfoo starts the first `python` it finds, which need not be the one with noisesense.
        setting = "set" if os.name == "nt" else "export"
        say(
            *("", "Run it, without a key:", ""),
            f"  cd {shlex.quote(str(self.folder))}",
            f"  {setting} PROMPTFOO_PYTHON={shlex.quote(sys.executable)}",
            "  npx promptfoo eval",
        )
        return 0


app = group(
    "noisesense",
    "Noise sensitivity of RAG answers, the same number in ragas, DeepEval and Promptfoo.\n\n"
    "Exit status: 0 done, and every check passed; 1 a check failed; 2 an error; 3 done, but "
    "some samples failed; 4 a check cannot be decided, since verdicts are missing or there is no "
    "mean; 5 too many verdicts have no answer, or too many samples nothing to measure; "
    "6 too few samples are in both runs; "
    "130 interrupted.",
    *map(
        command,
        (Demo, Score, Compare, Power, Offenders, Sensitivity, Stability, Schema, PromptfooInit),
    ),
    command(Trust, command(ExportLabels), command(ImportLabels)),
    group(
        "ablation",
        "Did the chunk do it? Ask your own system again.",
        *map(command, (ablation.Plan, ablation.Report, ablation.Run)),
    ),
    group(
        "batch",
        "Judge through batch files, for half the price.\n\n"
        "Export, let the provider answer, import; until nothing is left to ask.",
        *map(command, (batch.Export, batch.Import)),
    ),
    group(
        "store",
        "Show, merge or prune a store of judged calls.",
        *map(command, (store.Show, store.Merge, store.Prune)),
    ),
)
click.version_option(noisesense.__version__, message="%(prog)s %(version)s")(app)
