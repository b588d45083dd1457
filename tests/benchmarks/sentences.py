"""Is what `trust` and `offenders` print true? On simulated runs whose truth is known.

    python tests/benchmarks/sentences.py [--runs 200] [--processes 2] [--only mean]

``bias``: of the mean corrected by labels, in the five worst cells (wanted: at most .004).
``mean``: how often its interval holds the mean of all people's scores in these very samples
(wanted: 93 to 97%; more where the judge is always right or all samples are labeled).
``warnings``: how often `trust` warns of labels that are not on a random choice of the samples, of
the noisiest samples and of the first ones (wanted: at least 98%), and of a random choice (at most
3%). ``documents``: how often the intervals of the listed documents hold their true rate (wanted:
at least 93%), and how often the document to look at first is the right one (wanted: 90%). The
same seeds on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import ground  # noqa: F401
import numpy as np

from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import Resampling
from noisesense.stats.labels_mean import PoweredMean, powered_mean
from support.simulated import POPULATIONS, Population, poisson

SIZES = ((50, 10), (50, 30), (200, 10), (200, 30), (200, 100), (500, 30), (500, 100), (50, 50))


class Judge(NamedTuple):
    """How often it finds a noisy claim noisy, and a clean one."""

    name: str
    finds: float
    invents: float


JUDGES = (
    Judge("perfect", 1.0, 0.0),
    Judge("good", 0.9, 0.05),
    Judge("bad", 0.6, 0.2),
    Judge("lenient", 0.5, 0.0),
    Judge("guessing", 0.3, 0.3),
)


class World(NamedTuple):
    """Samples with so many claims on average, and a judge."""

    population: Population
    judge: Judge
    claims: float

    @property
    def name(self) -> str:
        return f"{self.population.name}, {self.claims:g} claims, {self.judge.name} judge"

    def draw(self, rng: random.Random, size: int) -> list[tuple[float, float]]:
        """People's score and the judge's, of each sample."""
        found: list[tuple[float, float]] = []
        for _ in range(size):
            odds = self.population.odds(rng)
            count = 1 + poisson(rng, self.claims - 1) if self.claims > 1 else 1
            noisy = sum(rng.random() < odds for _ in range(count))
            said = sum(rng.random() < self.judge.finds for _ in range(noisy))
            said += sum(rng.random() < self.judge.invents for _ in range(count - noisy))
            found.append((noisy / count, said / count))
        return found


WORLDS = [World(p, judge, claims) for p in POPULATIONS for judge in JUDGES for claims in (5, 1)]


def estimate_of(samples: list[tuple[float, float]], labelled: int, resamples: int) -> PoweredMean:
    """With labels on the first of them."""
    people = [Range(y, y) for y, _ in samples]
    judge = [Range(f, f) for _, f in samples]
    how = Resampling(resamples=resamples)
    weights = [1.0] * labelled
    return powered_mean(judge[labelled:], judge[:labelled], people[:labelled], weights, how)


def bias(world: World, size: tuple[int, int], runs: int) -> tuple[float, float]:
    """Of the corrected mean, and its standard error.

    The labels' own mean, and the judge's plus its mean error on the labels, are right on average
    by construction: what they explain of the error is chance and is taken off.
    """
    rng = random.Random(f"bias/{world.name}/{size}")
    rows: list[tuple[float, float, float]] = []
    for _ in range(runs):
        samples = world.draw(rng, size[0])
        labels = samples[: size[1]]
        truth = math.fsum(y for y, _ in samples) / len(samples)
        judge = math.fsum(f for _, f in samples) / len(samples)
        own = math.fsum(y for y, _ in labels) / len(labels)
        shifted = judge + math.fsum(y - f for y, f in labels) / len(labels)
        found = estimate_of(samples, size[1], 1).mean.low
        rows.append((found - truth, own - truth, shifted - truth))
    errors = np.array(rows)
    known = np.column_stack([np.ones(runs), errors[:, 1:]])
    fitted, *_ = np.linalg.lstsq(known, errors[:, 0], rcond=None)
    rest = errors[:, 0] - known @ fitted
    return float(fitted[0]), float(rest.std() / math.sqrt(runs))


def held(world: World, size: tuple[int, int], runs: int) -> tuple[float, float, float, float]:
    """How often the interval holds the mean of these samples, how often that is below and above
    it, and how wide it is."""
    rng = random.Random(f"mean/{world.name}/{size}")
    below = above = 0
    width = 0.0
    for _ in range(runs):
        samples = world.draw(rng, size[0])
        truth = math.fsum(y for y, _ in samples) / len(samples)
        interval = estimate_of(samples, size[1], 400).interval
        below += truth < interval.low - 1e-9
        above += truth > interval.high + 1e-9
        width += (interval.high - interval.low) / runs
    return 100 - 100 * (below + above) / runs, 100 * below / runs, 100 * above / runs, width


def _warns(found: PoweredMean) -> bool:
    return any("further apart" in warning for warning in found.warnings)


def warned(world: World, size: tuple[int, int], runs: int) -> tuple[float, float]:
    """In how many runs of labels on the noisiest samples, and on a random choice."""
    rng = random.Random(f"warnings/{world.name}/{size}")
    worst = chance = 0
    for _ in range(runs):
        samples = world.draw(rng, size[0])
        chance += _warns(estimate_of(samples, size[1], 1))
        samples.sort(key=lambda sample: -sample[1])
        worst += _warns(estimate_of(samples, size[1], 1))
    return 100 * worst / runs, 100 * chance / runs


Measure = Callable[[World, tuple[int, int], int], tuple[float, ...]]


def cells(
    pool: ProcessPoolExecutor, measure: Measure, runs: int
) -> list[tuple[str, tuple[float, ...]]]:
    """Each world and size by its name."""
    keys = [(world, size) for world in WORLDS for size in SIZES]
    names = [f"{world.name}, {size[1]} of {size[0]}" for world, size in keys]
    found = pool.map(partial(_measured, measure, runs), keys, chunksize=4)
    return list(zip(names, found, strict=True))


def _measured(
    measure: Measure, runs: int, key: tuple[World, tuple[int, int]]
) -> tuple[float, ...]:
    return measure(*key, runs)


def show_bias(pool: ProcessPoolExecutor, runs: int) -> None:
    found = cells(pool, bias, 5 * runs)
    found.sort(key=lambda row: -abs(row[1][0]))
    print(f"\nBias of the corrected mean, the five worst of {len(found)} cells; {5 * runs} runs")
    for name, (value, error) in found[:5]:
        print(f"{name:55}{value:>+9.4f} (±{error:.4f})")


def show_mean(pool: ProcessPoolExecutor, runs: int) -> None:
    print(f"\nThe interval of the corrected mean, in % of {runs} runs")
    print(f"{'':55}{'held':>8}{'below':>8}{'above':>8}{'width':>8}")
    for name, values in cells(pool, held, runs):
        print(f"{name:55}" + "".join(f"{v:>8.1f}" for v in values[:3]) + f"{values[3]:>8.3f}")


def show_warnings(pool: ProcessPoolExecutor, runs: int) -> None:
    print(
        f"\nWarnings of labels on the noisiest samples, and on a random choice; % of {runs} runs"
    )
    for name, (worst, chance) in cells(pool, warned, runs):
        print(f"{name:55}{worst:>8.1f}{chance:>8.1f}")


PARTS = {"bias": show_bias, "mean": show_mean, "warnings": show_warnings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="a cell")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", choices=[*PARTS], help="this part alone")
    options = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        for name in [options.only] if options.only else PARTS:
            PARTS[name](pool, options.runs)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
