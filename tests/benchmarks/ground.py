"""What benchmarks stand on: where the sources are, hosts that keep quiet, one form of tables.

Imported first: a clean checkout runs without an install.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATHS = [str(ROOT / folder) for folder in ("core", "adapters", "tests")]
sys.path[:0] = PATHS
os.environ.update(RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="1")
os.environ.update(DEEPEVAL_DISABLE_DOTENV="1", LANGSMITH_TRACING="false")
warnings.simplefilter("ignore")


def show(
    head: Sequence[str],
    body: Iterable[Sequence[object]],
    *,
    markdown: bool = False,
    right: Collection[int] = (),
) -> None:
    """Print a table; the columns ``right`` are of figures."""
    table = [[str(cell) for cell in line] for line in (head, *body)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if markdown:
        rules = ["-" * (w - 1) + (":" if at in right else "-") for at, w in enumerate(widths)]
        table.insert(1, rules)
    for line in table:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
    print(flush=True)
