"""Does `noisesense trust` find a judge's error rates, and is its sentence right? Simulated.

    python tests/benchmarks/trust.py [--runs 200] [--processes 2] [--only correlated]

A scripted judge with known error rates is asked about labeled claims (about 27 chunks each, one in
seventy cells a "yes", as in WiCE in chunks of eight sentences), and about results whose true
verdicts are known. Printed: how often both rates are within their intervals, and how often the
sentence is right: the true means of both modes are within the ranges that it names. Wanted: 95%.
In the last row the errors are correlated within a claim, for which the intervals of the rates
allow in part and the ranges not at all; it is printed only. Exit status 1 if another row is below
93% (of 200 runs, 95% is measured to ±1.5). The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / each) for each in ("core", "adapters", "tests")]

# The source roots are found above: a clean checkout runs without an install.
from noisesense import Result, Usage, Verdicts, score, trust  # noqa: E402
from noisesense.judging.protocol import Entailment  # noqa: E402
from noisesense.scoring.definitions import MODES  # noqa: E402
from noisesense_adapters.datasets.labels import judge_labels  # noqa: E402
from support.simulated import misjudged, ragchecker_like  # noqa: E402


class Row(NamedTuple):
    """One row: the judge, and how much is labeled and judged."""

    name: str
    rates: tuple[float, float]
    claims: int
    results: int
    correlation: float = 0.0


ROWS = (
    Row("2% false yes, 10% false no", (0.02, 0.10), 350, 50),
    Row("the same, 100 labeled claims", (0.02, 0.10), 100, 50),
    Row("0.5% false yes, 20% false no", (0.005, 0.20), 350, 50),
    Row("no errors at all", (0.0, 0.0), 350, 50),
    Row("correlated 0.3 within a claim", (0.02, 0.10), 350, 50, 0.3),
)


class Scripted:
    """A judge that errs at known rates."""

    def __init__(self, row: Row, labels: Sequence[Result], rng: Random) -> None:
        self._cells: dict[str, Sequence[Sequence[bool | None]]] = {}
        for each in labels:
            assert each.score is not None
            claims = each.score.verdicts.response_claims
            said = misjudged(
                rng,
                Verdicts.from_matrices(**each.score.verdicts.to_matrices()),
                row.rates,
                row.correlation,
            )
            self._cells[claims[0].text] = said.to_matrices()["chunks_to_response"]

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        return Entailment(self._cells[claims[0]], Usage(calls=len(texts)), 0)


def labeled(rng: Random, claims: int) -> Iterator[Result]:
    for i in range(claims):
        chunks = rng.randint(10, 44)
        yes = rng.randrange(chunks) if rng.random() < 0.4 else None
        table = Verdicts.from_matrices(
            [None],
            [[j == yes for j in range(chunks)]],
            response_claims=[f"claim {i}"],
            chunks=[f"chunk {i}.{j}" for j in range(chunks)],
        )
        yield Result(f"c{i}", score(table))


def run(row: Row, seed: int) -> tuple[float, ...]:
    """Are both rates within their intervals; is the sentence right; widths of both."""
    rng = Random(f"{row}/{seed}")
    labels = list(labeled(rng, row.claims))
    judged = judge_labels(labels, Scripted(row, labels, rng), concurrency=1)
    true = [ragchecker_like(rng, chunks=10) for _ in range(row.results)]
    ours = [score(misjudged(rng, each, row.rates, row.correlation)) for each in true]
    found = trust(
        "the judge", judged.samples, results=[Result(str(i), s) for i, s in enumerate(ours)]
    )
    assert found.false_yes_interval is not None
    assert found.false_no_interval is not None
    assert found.band is not None
    within = all(
        interval.low <= rate <= interval.high
        for rate, interval in zip(
            row.rates, (found.false_yes_interval, found.false_no_interval), strict=True
        )
    )
    right, widths = True, [found.false_no_interval.high - found.false_no_interval.low]
    for mode in MODES:
        band = found.band.mode(mode)
        assert band is not None
        values = (score(each).value(mode) for each in true)
        truth = fmean(value for value in values if value is not None)
        assert band.low is not None
        assert band.high is not None
        right = right and band.low - 1e-9 <= truth <= band.high + 1e-9
        widths.append(band.high - band.low)
    return float(within), float(right), *widths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="a row; 200 by default")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    options = parser.parse_args()
    columns = ("both rates", "sentence", "width: false no", "relevant", "irrelevant")
    print(f"{'':32}" + "  ".join(columns))
    bad = 0
    with ProcessPoolExecutor(options.processes) as pool:
        for row in (each for each in ROWS if options.only in each.name):
            runs = list(pool.map(partial(run, row), range(options.runs)))
            means = [fmean(column) for column in zip(*runs, strict=True)]
            shown = [*(f"{mean:.1%}" for mean in means[:2]), *(f"{m:.3f}" for m in means[2:])]
            wrong = not row.correlation and min(means[:2]) < 0.93
            bad += wrong
            cells = "  ".join(f"{c:>{len(t)}}" for c, t in zip(shown, columns, strict=True))
            print(f"{row.name:32}{cells}{'  <- below 93%' if wrong else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
