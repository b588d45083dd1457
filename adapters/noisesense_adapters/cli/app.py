"""The commands of ``noisesense``. Each is loaded, with what it imports, when it is asked for."""

from __future__ import annotations

import click

import noisesense
from noisesense_adapters.cli.commands import group

app = group(
    "noisesense",
    "Noise sensitivity of RAG answers, the same number in ragas, DeepEval and Promptfoo.\n\n"
    "Exit status: 0 done, and every check passed; 1 a check failed; 2 an error; 3 done, but "
    "some samples failed; 4 a check cannot be decided, since verdicts are missing or there is no "
    "mean; 5 too many verdicts have no answer, or too many samples nothing to measure; "
    "6 too few samples are in both runs; "
    "130 interrupted.",
    {
        "demo": "demo:Demo",
        "score": "score:Score",
        "compare": "compare:Compare",
        "power": "power:Power",
        "offenders": "questions:Offenders",
        "sensitivity": "questions:Sensitivity",
        "stability": "questions:Stability",
        "schema": "examples:Schema",
        "promptfoo-init": "examples:PromptfooInit",
        "trust": "trust:Trust",
    },
    group(
        "ablation",
        "Did the chunk do it? Ask your own system again.",
        {"plan": "ablation:Plan", "report": "ablation:Report", "run": "ablation:Run"},
    ),
    group(
        "batch",
        "Judge through batch files, for half the price.\n\n"
        "Export, let the provider answer, import; until nothing is left to ask.",
        {"export": "batch:Export", "import": "batch:Import"},
    ),
    group(
        "store",
        "Show, merge or prune a store of judged calls.",
        {"show": "store:Show", "merge": "store:Merge", "prune": "store:Prune"},
    ),
)
click.version_option(noisesense.__version__, message="%(prog)s %(version)s")(app)
