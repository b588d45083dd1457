"""How often `sensitivity` finds the truth, on simulated runs whose truth is known.

    python tests/benchmarks/judge_errors.py [--runs 200] [--processes 2]

Tables such as RAGChecker makes are judged by a judge with known error rates. Printed for each row:
the mean by the true verdicts, by the judge's, and as each direction has it, and how often the two
bands hold the truth. "stress" adds errors to verdicts that hold some already, and does not claim
to. Exit status 1 if the truth direction holds it in fewer than 90% of the runs although each error
is made on its own, as it assumes; rows with correlated errors are printed only. The same seeds on
every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

# The two source roots are found above: a clean checkout runs without an install.
from noisesense import Verdicts, score, sensitivity_band  # noqa: E402
from noisesense.scoring.definitions import MODES, Mode  # noqa: E402
from noisesense.stats.sensitivity import ErrorRate  # noqa: E402
from support.simulated import misjudged, ragchecker_like  # noqa: E402


class Row(NamedTuple):
    """One row: what the judge is like, and what is known of it."""

    name: str
    samples: int
    rates: tuple[float, float]
    labeled: int | None = None
    """In so many "no" and "yes" cells the rates were counted; None: they are known."""
    correlation: float = 0.0
    within: str = "claim"


ROWS = (
    Row("2% false yes, 10% false no", 30, (0.02, 0.10)),
    Row("2% false yes, 10% false no", 100, (0.02, 0.10)),
    Row("5% false yes, 15% false no", 30, (0.05, 0.15)),
    Row("the same, 200 labels of each", 30, (0.02, 0.10), 200),
    Row("the same, 1000 labels of each", 100, (0.02, 0.10), 1000),
    Row("correlated 0.3 in a claim", 30, (0.02, 0.10), None, 0.3, "claim"),
    Row("correlated 0.3 in a chunk", 30, (0.02, 0.10), None, 0.3, "chunk"),
)


def run(row: Row, seed: int) -> dict[Mode, tuple[float, ...]]:
    """For each mode: truth, judge, stress, truth direction; do the two bands hold the truth?"""
    rng = Random(f"{row}/{seed}")
    true = [ragchecker_like(rng, chunks=10) for _ in range(row.samples)]
    judged = [misjudged(rng, each, row.rates, row.correlation, row.within) for each in true]
    rates: list[ErrorRate] = list(row.rates)
    if row.labeled:
        rates = [
            (sum(rng.random() < rate for _ in range(row.labeled)), row.labeled)
            for rate in row.rates
        ]
    stress = sensitivity_band(judged, false_yes=rates[0], false_no=rates[1], simulations=40)
    truth = sensitivity_band(judged, direction="truth", false_yes=rates[0], false_no=rates[1])
    found: dict[Mode, tuple[float, ...]] = {}
    for mode in MODES:
        one, other = stress.mode(mode), truth.mode(mode)
        assert one is not None
        assert other is not None
        figures = (one.mean, one.moved, other.moved, one.low, one.high, other.low, other.high)
        mean, moved, without, *ends = (each for each in figures if each is not None)
        real = mean_of(true, mode)
        holds = (float(ends[0] <= real <= ends[1]), float(ends[2] <= real <= ends[3]))
        found[mode] = (real, mean, moved, without, *holds, ends[3] - ends[2])
    return found


def mean_of(tables: Sequence[Verdicts], mode: Mode) -> float:
    """By `score`."""
    values = [score(table).value(mode) for table in tables]
    return fmean(value for value in values if value is not None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="a row; 200 by default")
    parser.add_argument("--processes", type=int, default=None)
    options = parser.parse_args()
    columns = (
        "truth",
        "judge",
        "stress",
        "without errors",
        "stress holds",
        "truth holds",
        "width",
    )
    print(f"{'':30}{'mode':>11}{'n':>5}  " + "  ".join(columns))
    bad = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for row in ROWS:
            runs = list(pool.map(partial(run, row), range(options.runs)))
            for mode in MODES:
                means = [
                    fmean(column) for column in zip(*(each[mode] for each in runs), strict=True)
                ]
                shown = [f"{mean:.3f}" for mean in means]
                shown[4:6] = (f"{mean:.1%}" for mean in means[4:6])
                wrong = not row.correlation and means[5] < 0.9
                bad += wrong
                cells = "  ".join(f"{c:>{len(t)}}" for c, t in zip(shown, columns, strict=True))
                note = "  <- below 90%" if wrong else ""
                print(f"{row.name:30}{mode:>11}{row.samples:>5}  {cells}{note}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
