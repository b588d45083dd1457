"""How often a gate changes its mind about the same system, near its limit.

    python tests/benchmarks/flaky_gate.py [--repeats 20] [--seeds 10]

The system's true mean is known. Each repeat asks it anew (other samples of the same kind). Printed
for each distance of the true mean from the limit: in how many of the repeats the plain gate
(``--fail-above``) and the confident one (``--confidence 0.95``) fail, how often each changes its
answer from one repeat to the next, and how often the confident one warns. Exit status 1 if at the
limit the plain gate fails in fewer than a fifth or more than four fifths of the repeats, or the
confident one in more than 5%. The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

# The two source roots are found above: a clean checkout runs without an install.
from noisesense import gate, summarize  # noqa: E402
from support.simulated import POPULATIONS, result_of  # noqa: E402

SIZES = (50, 200)
DISTANCES = (-0.15, -0.05, 0.0, 0.05, 0.15)


def outcomes(size: int, limit: float, seed: str) -> tuple[str, str]:
    """The plain gate's answer and the confident one's, about one run."""
    rng, population = Random(seed), POPULATIONS[0]
    found = summarize(result_of(i, population.draw(rng)) for i in range(size)).relevant
    assert found is not None
    return gate(found.mean, limit), gate(found.mean, limit, interval=found.interval)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=10, help="so many times all repeats")
    options = parser.parse_args()
    mean, bad = POPULATIONS[0].mean, 0
    print(f"the true mean is {mean:.3f}; {options.repeats} repeats, {options.seeds} times")
    columns = ("plain fails", "flips", "confident fails", "flips", "warns")
    print(f"{'samples':>7}  {'mean - limit':>12}  " + "  ".join(columns))
    for size in SIZES:
        for distance in DISTANCES:
            limit = mean - distance
            counts = [0] * 5
            for seed in range(options.seeds):
                runs = [
                    outcomes(size, limit, f"{size}/{distance}/{seed}/{i}")
                    for i in range(options.repeats)
                ]
                for at, gates in enumerate(zip(*runs, strict=True)):
                    fails = [each == "fail" for each in gates]
                    counts[2 * at] += sum(fails)
                    counts[2 * at + 1] += sum(a != b for a, b in pairwise(fails))
                counts[4] += sum(confident == "warn" for _, confident in runs)
            total, steps = options.repeats * options.seeds, (options.repeats - 1) * options.seeds
            shares = [
                count / (steps if at in (1, 3) else total) for at, count in enumerate(counts)
            ]
            wrong = distance == 0 and not (0.2 <= shares[0] <= 0.8 and shares[2] <= 0.05)
            bad += wrong
            cells = "  ".join(f"{v:>{len(c)}.0%}" for v, c in zip(shares, columns, strict=True))
            print(f"{size:>7}  {distance:>+12.2f}  {cells}{'  <-' if wrong else ''}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
