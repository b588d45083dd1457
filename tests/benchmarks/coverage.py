"""How often the intervals hold the truth, on simulated runs whose truth is known.

    python tests/benchmarks/coverage.py [--datasets 1000] [--resamples 2000] [--processes 4]
        [--only clusters]

Prints coverage of the 95% intervals (wanted: 92% to 97%, below 30 units at least 92%, unless the
summary itself warns that few samples differ), false alarms of the paired comparison (wanted: at
most 6%), and the error of the prediction-powered mean beside its rivals. Exit status 1 if a
figure is out of its range. Three hours of one processor's time; with 500 resamples, which make
single intervals a little less exact and not narrower, one. The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

# The two source roots are found above: a clean checkout runs without an install.
from noisesense import Result, compare, prediction_powered_mean, summarize  # noqa: E402
from noisesense.stats.interval import (  # noqa: E402
    Interval,
    ratio,
)
from noisesense.stats.quantiles import quantile_of_sorted  # noqa: E402
from noisesense.stats.resampling import resampled  # noqa: E402
from support.simulated import POPULATIONS, Population, poisson, result_of  # noqa: E402

SIZES = (30, 100, 300)
resamples = 2000
"""Of each interval, as the option says."""
ALL_SIZES = (2, 3, 5, 10, 20, 30, 50, 100, 200, 300)


class Task(NamedTuple):
    """One table row: a run that is simulated many times, and its figures' names."""

    run: Callable[[random.Random], tuple[float, ...]]
    """One data set: 1 or 0 for each column, or a squared error."""
    name: str
    size: int
    times: int = 1
    """So many times the data sets of other rows."""


def _use(count: int) -> None:
    global resamples
    resamples = count


def holds(interval: Interval | None, truth: float) -> float:
    """Is the truth within the interval?"""
    return float(interval is not None and interval.low <= truth <= interval.high)


def single(population: Population, size: int, rng: random.Random) -> tuple[float, ...]:
    """Mean, share of claims, what the plain percentile bootstrap would have covered, and whether
    the summary itself warned that the interval hangs on few samples."""
    results = [result_of(i, population.draw(rng)) for i in range(size)]
    summary = summarize(results, resamples=resamples)
    found = summary.relevant
    assert found is not None
    units = {(value, 1.0): times for value, times in found.distribution}
    means = sorted(resampled(units, ratio, resamples=resamples, random=random.Random(0)))
    ends = quantile_of_sorted(means, 0.025), quantile_of_sorted(means, 0.975)
    plain = float(ends[0] <= population.mean <= ends[1])
    return (
        holds(found.interval, population.mean),
        holds(found.micro_interval, population.mean),
        plain,
        float(any(warning.startswith("relevant") for warning in summary.warnings)),
    )


def clustered(
    population: Population, samples: Callable[[random.Random], int], size: int, rng: random.Random
) -> tuple[float, ...]:
    """Samples of one cluster share their odds; with and without saying so."""
    results = [
        result_of(f"{cluster}/{i}", population.draw(rng, odds), cluster)
        for cluster in range(size)
        for odds in [population.odds(rng)]
        for i in range(samples(rng))
    ]
    by_cluster, by_sample = (
        summarize(results, cluster=each, resamples=resamples).relevant for each in (True, False)
    )
    assert by_cluster is not None
    assert by_sample is not None
    truth = population.mean
    return holds(by_cluster.interval, truth), holds(by_sample.interval, truth)


def alike(rng: random.Random) -> int:
    """About 5 samples in a cluster."""
    return 1 + poisson(rng, 4)


def unlike(rng: random.Random) -> int:
    """Half of the clusters have one sample, one in ten has 10 or more."""
    return min(int(rng.paretovariate(1)), 40)


def alarm(a: list[Result], b: list[Result]) -> tuple[float, ...]:
    """Was a difference reported, and does the interval hold none?"""
    found = compare(a, b, resamples=resamples).relevant
    assert found is not None
    return (float(found.decision == "worse"), float(found.decision == "better"))


def same_version(
    population: Population, unchanged: float, size: int, rng: random.Random
) -> tuple[float, ...]:
    """The same system asked twice: a share of the samples gives the same answer."""
    a: list[Result] = []
    b: list[Result] = []
    for i in range(size):
        odds = population.odds(rng)
        first = population.draw(rng, odds)
        second = first if rng.random() < unchanged else population.draw(rng, odds)
        a.append(result_of(i, first))
        b.append(result_of(i, second))
    return alarm(a, b)


def same_mean(size: int, rng: random.Random) -> tuple[float, ...]:
    """Equal means, else unlike: A is a little noisy everywhere, B very noisy in few samples."""
    even, uneven = Population("even", 0.0, 2.0, 8.0), Population("uneven", 0.8, 1e6, 1.0)
    a = [result_of(i, even.draw(rng)) for i in range(size)]
    b = [result_of(i, uneven.draw(rng)) for i in range(size)]
    return alarm(a, b)


def more_noise(population: Population, size: int, rng: random.Random) -> tuple[float, ...]:
    """B is noisier by 0.1: is it found, and does the interval hold 0.1?"""
    a: list[Result] = []
    b: list[Result] = []
    share = 0.1 / (1 - population.mean)
    for i in range(size):
        odds = population.odds(rng)
        a.append(result_of(i, population.draw(rng, odds)))
        b.append(result_of(i, population.draw(rng, odds + share * (1 - odds))))
    found = compare(a, b, resamples=resamples).relevant
    assert found is not None
    return float(found.decision == "worse"), holds(found.interval, 0.1)


def powered(
    population: Population, labelled: int, wrong: tuple[float, float], rng: random.Random
) -> tuple[float, ...]:
    """A judge that calls clean claims noisy, or noisy ones clean, at these rates; 1000 judged."""
    human: list[float] = []
    judge: list[float] = []
    for _ in range(1000):
        noisy, claims = population.draw(rng)
        seen = sum(rng.random() >= wrong[1] for _ in range(noisy))
        seen += sum(rng.random() < wrong[0] for _ in range(claims - noisy))
        human.append(noisy / claims)
        judge.append(seen / claims)
    found = prediction_powered_mean(judge[labelled:], judge[:labelled], human[:labelled])
    truth = population.mean
    errors = (found.judge_mean, found.human_mean, found.mean)
    return (*((each - truth) ** 2 for each in errors), holds(found.interval, truth))


def figures(task: Task, datasets: int) -> tuple[float, ...]:
    """The mean of each column over all data sets."""
    seeds = (f"{task.name}/{task.size}/{i}" for i in range(datasets * task.times))
    rows = [task.run(random.Random(seed)) for seed in seeds]
    return tuple(math.fsum(column) / len(rows) for column in zip(*rows, strict=True))


def tasks() -> Iterator[tuple[str, tuple[str, ...], list[Task]]]:
    """The tables: title, columns, rows."""
    yield (
        "Coverage of the 95% interval over samples, in %",
        ("mean", "claims", "plain percentile bootstrap", "warned"),
        [
            Task(partial(single, p, n), f"{p.name} {p.mean:.3f}", n)
            for p in POPULATIONS
            for n in ALL_SIZES
        ],
    )
    for name, size in (("about 5 samples", alike), ("1 to 40 samples", unlike)):
        yield (
            f"Coverage over clusters of {name}, in %",
            ("by cluster", "as if independent"),
            [
                Task(partial(clustered, p, size, n), f"{p.name} {p.mean:.3f}", n)
                for p in POPULATIONS[:2]
                for n in (10, 20, 30, 50, 100)
            ],
        )
    # Twelve rows with one limit each: at 1000 data sets (a standard error of 0.7) a test that is
    # right 95% of the time passes 6% in one of them by chance, at 5000 (0.3) hardly ever.
    same = [
        Task(partial(same_version, p, u, n), f"{p.name}, {u:.0%} unchanged", n, 5)
        for p, u in ((POPULATIONS[0], 0.0), (POPULATIONS[1], 0.0), (POPULATIONS[1], 0.7))
        for n in SIZES
    ]
    same += [Task(partial(same_mean, n), "equal mean, other shape", n, 5) for n in SIZES]
    yield "False alarms of the paired comparison, in %", ("worse", "better"), same
    yield (
        "Paired comparison where B is noisier by 0.1, in %",
        ("found", "interval holds 0.1"),
        [
            Task(partial(more_noise, p, n), f"{p.name} {p.mean:.3f}", n)
            for p in POPULATIONS
            for n in SIZES
        ],
    )
    yield (
        "Mean over 1000 judged samples, n of them labelled: root mean square error (x 1000)",
        ("judge alone", "labels alone", "prediction-powered", "coverage %"),
        [
            Task(
                partial(powered, POPULATIONS[0], n, wrong),
                f"judge wrong {wrong[0]:.0%}/{wrong[1]:.0%}",
                n,
            )
            for wrong in ((0.1, 0.05), (0.02, 0.2))
            for n in (50, 100, 300)
        ],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=1000, help="a row; 1000 by default")
    parser.add_argument("--resamples", type=int, default=2000, help="of each interval")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", default="", help="tables whose title holds this text")
    options = parser.parse_args()
    began, bad = time.monotonic(), 0
    pool = ProcessPoolExecutor(options.processes, None, _use, (options.resamples,))
    with pool:
        measure = partial(figures, datasets=options.datasets)
        chosen = (table for table in tasks() if options.only.lower() in table[0].lower())
        tables = [(*table, pool.map(measure, table[2])) for table in chosen]
        for title, columns, rows, found in tables:
            datasets = options.datasets * rows[0].times
            error = 100 * math.sqrt(0.05 * 0.95 / datasets)
            print(f"\n{title} ({datasets} data sets a row; 95% is measured to ±{error:.1f})")
            print(f"{'':32}{'n':>5}  " + "  ".join(columns))
            for task, values in zip(rows, found, strict=True):
                shown, wrong = judged(title, task.size, values)
                bad += len(wrong)
                cells = (f"{v:>{len(c)}.1f}" for v, c in zip(shown, columns, strict=True))
                notes = "  <- " + ", ".join(wrong) if wrong else ""
                print(f"{task.name:32}{task.size:>5}  " + "  ".join(cells) + notes, flush=True)
    print(f"\n{time.monotonic() - began:.0f} s; {bad} figures out of their range")
    return 1 if bad else 0


def judged(title: str, size: int, values: tuple[float, ...]) -> tuple[list[float], list[str]]:
    """The figures as printed, and what is out of range."""
    if title.startswith("Mean over"):
        errors = [1000 * math.sqrt(value) for value in values[:3]]
        wrong = ["not better than the judge"] if errors[2] >= errors[0] else []
        return [*errors, 100 * values[3]], wrong
    shown = [100 * value for value in values]
    wrong = []
    if title.startswith("Coverage"):
        promised = shown[:1] if "clusters" in title else shown[:2]
        # Where the summary says that its interval hangs on single samples, nothing is promised.
        if size >= 30 and "clusters" not in title and shown[3] >= 50:
            promised = []
        most = 97 if size >= 30 else 100
        wrong += [f"{v:.1f} is not 92 to {most}" for v in promised if not 92 <= v <= most]
    elif title.startswith("False"):
        wrong += ["above 6"] * (sum(shown) > 6)
    return shown, wrong


if __name__ == "__main__":
    sys.exit(main())
