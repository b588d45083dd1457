"""The commands of ``noisesense``. Each is loaded, with what it imports, only when it is used."""

from __future__ import annotations

import click

import noisesense
from noisesense_adapters.cli.commands import group

app = group(
    "noisesense",
    "Noise sensitivity of RAG answers, the same number in ragas, DeepEval and Promptfoo.\n\n"
    "\b\n"
    "Exit status:\n"
    "  0    passed: done, and every check passed\n"
    "  1    failed: a check failed\n"
    "  2    error: named on stderr\n"
    "  3    incomplete: done, but some samples failed or lines could not be read\n"
    "  4    undecided: verdicts are missing, no mean, or too few pairs to tell\n"
    "  5    unmeasured: too many verdicts without answer, or too little to measure\n"
    "  6    unpaired: too few samples are in both runs\n"
    "  130  interrupted\n\n"
    "\b\n"
    "Completion of commands and options, in ~/.bashrc (likewise zsh, fish):\n"
    '  eval "$(_NOISESENSE_COMPLETE=bash_source noisesense)"',
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
        "store",
        "Show, merge or prune a store of judged calls.",
        {"show": "store:Show", "merge": "store:Merge", "prune": "store:Prune"},
    ),
)
click.version_option(noisesense.__version__, message="%(prog)s %(version)s")(app)
