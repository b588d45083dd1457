"""How often the intervals hold the truth, on simulated runs whose truth is known.

    python tests/benchmarks/coverage.py [--datasets 1000] [--resamples 400] [--processes 2]
        [--only clusters]

Of each 95% interval it prints how often it holds the truth (wanted: at least 93%) and how often
the truth lies below its low end and above its high end (wanted: at most 4% each): means and shares
of claims of 2 to 300 samples with 0, 1, 5 and 20% of the verdicts missing, clusters, error rates
over few samples of many cells. Of the paired comparison it prints how often it says "worse"
where nothing changed (wanted: at most 3.3%), over pairs, and over clusters of equal and of unequal
size, with its power; of gates one after another, how often at least one fails,
against the last run and against a pinned one; of a gate whose limit is the true mean, how often it
fails and passes, plainly and with an interval; of several answers to a question how often the mean
of all holds (wanted: at least 92.5%), and how often "worse" is said of equal versions (at most
3.3%). Exit status 1 if a figure is out of its range by
more than twice its own standard error. The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import ground  # noqa: F401

from noisesense import Result, Sample, Score, Verdicts, compare, gate, score, summarize
from noisesense.stats import interval
from noisesense.stats.interval import Interval, Unit, effective_units, mean_interval
from noisesense.stats.paired import difference_interval, fewest_pairs
from support.simulated import POPULATIONS, Population, poisson, result_of

SIZES = (2, 3, 5, 10, 20, 30, 49, 50, 100, 300)
MISSING = (0.0, 0.01, 0.05, 0.2)
LEAST = 93.0
MOST = 4.0
FALSE = 3.3
CONFIDENCE = 0.95

Row = Callable[[random.Random], tuple[float, ...]]
"""One data set: 1 or 0 for each column."""


class Task(NamedTuple):
    """A row of a table."""

    name: str
    size: int
    run: Row


class Table(NamedTuple):
    """Rows with the same columns. ``limits``: the highest share of each column in %, or the
    lowest if it is negative; None where nothing is promised."""

    title: str
    columns: tuple[str, ...]
    limits: tuple[float | None, ...]
    rows: list[Task]


def _use(resamples: int) -> None:
    interval.RESAMPLES = resamples


def ends(found: Interval | None, truth: float) -> tuple[float, float, float]:
    """Is the truth within, below, above?"""
    if found is None:
        return 1.0, 0.0, 0.0  # nothing was said
    below = truth < found.low
    above = truth > found.high
    return float(not below and not above), float(below), float(above)


def seen(rng: random.Random, draw: tuple[int, int], missing: float) -> tuple[int, int]:
    """The lowest and the highest count of noisy claims, where verdicts on claims are missing."""
    noisy, claims = draw
    lost = [rng.random() < missing for _ in range(claims)]
    return sum(not gone for gone in lost[:noisy]), noisy + sum(lost[noisy:])


def certain(part: float, size: float) -> Unit:
    """A unit without open verdicts."""
    part = round(part, 12)
    return Unit(part, part, size)


def single(p: Population, size: int, missing: float, rng: random.Random) -> tuple[float, ...]:
    """The mean over samples, and the share of claims."""
    means = Counter[Unit]()
    claims = Counter[Unit]()
    for _ in range(size):
        draw = p.draw(rng)
        low, high = seen(rng, draw, missing)
        whole = draw[1]
        means[Unit(low / whole, high / whole, 1)] += 1
        claims[Unit(low, high, whole)] += 1
    of_means = ends(mean_interval(means, CONFIDENCE), p.mean)
    return of_means + ends(mean_interval(claims, CONFIDENCE), p.mean)


def clustered(
    p: Population, samples: Callable[[random.Random], int], size: int, rng: random.Random
) -> tuple[float, ...]:
    """Samples of one cluster share their odds."""
    units = Counter[Unit]()
    for _ in range(size):
        odds = p.odds(rng)
        count = samples(rng)
        draws = [p.draw(rng, odds) for _ in range(count)]
        units[certain(math.fsum(noisy / claims for noisy, claims in draws), count)] += 1
    return ends(mean_interval(units, CONFIDENCE), p.mean)


def alike(rng: random.Random) -> int:
    """About 5 samples in a cluster."""
    return 1 + poisson(rng, 4)


def unlike(rng: random.Random) -> int:
    """Half of the clusters have one sample, one in ten has 10 or more."""
    return min(int(rng.paretovariate(1)), 40)


def error_rate(rate: float, cells: int, size: int, rng: random.Random) -> tuple[float, ...]:
    """A judge's errors: some samples are harder than others, each has many cells."""
    units = Counter[Unit]()
    for _ in range(size):
        odds = rng.betavariate(4 * rate, 4 * (1 - rate))
        count = 1 + poisson(rng, cells - 1)
        units[certain(sum(rng.random() < odds for _ in range(count)), count)] += 1
    return ends(mean_interval(units, CONFIDENCE), rate)


def alone(_: random.Random, count: int) -> list[int]:
    """Single samples."""
    return [1] * count


def fives(_: random.Random, count: int) -> list[int]:
    """Clusters of five samples."""
    return [5] * count


def ones_and_tens(rng: random.Random, count: int) -> list[int]:
    """Of one sample or of ten."""
    return [rng.choice((1, 10)) for _ in range(count)]


def one_half(_: random.Random, count: int) -> list[int]:
    """One cluster holds half of the samples."""
    return [count - 1, *[1] * (count - 1)]


def pareto(rng: random.Random, count: int) -> list[int]:
    """Half of the clusters have one sample, one in ten has 10 or more."""
    return [unlike(rng) for _ in range(count)]


def by_clusters(
    p: Population,
    sizes: Callable[[random.Random, int], list[int]],
    size: int,
    rng: random.Random,
) -> tuple[float, ...]:
    """Equal versions, to which some documents are hard and others easy, by chance; then with a
    tenth of the claims more that are noisy: called worse?"""
    equal = Counter[Unit]()
    worse = Counter[Unit]()
    for samples in sizes(rng, size):
        before = p.odds(rng)
        after = before if rng.random() < 0.5 else p.odds(rng)
        moved = added = 0.0
        for _ in range(samples):
            noisy, claims = p.draw(rng, before)
            moved -= noisy / claims
            noisy, claims = p.draw(rng, after)
            moved += noisy / claims
            added += sum(rng.random() < 0.1 for _ in range(claims - noisy)) / claims
        equal[certain(moved, samples)] += 1
        worse[certain(moved + added, samples)] += 1
    return float(is_worse(equal)), float(is_worse(worse))


def is_worse(units: Counter[Unit], margin: float = 0.0) -> bool:
    """As `compare` decides."""
    found = difference_interval(units, CONFIDENCE)
    enough = effective_units(units) >= fewest_pairs(CONFIDENCE)
    return found is not None and enough and found.low > margin


def gates(pinned: bool, drift: float, changes: int, rng: random.Random) -> tuple[float, ...]:
    """So many changes of a system over 60 samples, each checked: did a check fail? Without a
    margin, and with one of 0.05. ``drift``: the noise that all changes add together."""
    p = POPULATIONS[0]
    samples = 60
    odds = [p.odds(rng) for _ in range(samples)]

    def answers(share: float) -> list[float]:
        added = drift * share / (1 - p.mean)
        noisy = [p.draw(rng, each + (1 - each) * added) for each in odds]
        return [wrong / claims for wrong, claims in noisy]

    baseline = answers(0.0)
    alarms = [False, False]
    for change in range(1, changes + 1):
        now = answers(change / changes)
        units = Counter(certain(b - a, 1) for a, b in zip(baseline, now, strict=True))
        for place, margin in enumerate((0.0, 0.05)):
            alarms[place] |= is_worse(units, margin)
        if not pinned:
            baseline = now
    return tuple(map(float, alarms))


def skewed(worse: float, size: int, rng: random.Random) -> tuple[float, ...]:
    """Differences of mean 0: a share of the samples is worse by 1/4, the rest better by as much
    in all; then the other way round, and that with a margin of 0.05. Called worse?"""
    gain = 0.25 * worse / (1 - worse)
    drawn = [0.25 if rng.random() < worse else -gain for _ in range(size)]
    units = Counter(certain(each, 1) for each in drawn)
    mirrored = Counter(certain(-each, 1) for each in drawn)
    flags = (is_worse(units), is_worse(mirrored), is_worse(mirrored, 0.05))
    return tuple(map(float, flags))


def gated(p: Population, size: int, rng: random.Random) -> tuple[float, ...]:
    """A gate whose limit is the true mean."""
    found = summarize(result_of(i, p.draw(rng)) for i in range(size)).relevant
    assert found is not None
    plain = gate(found.mean, p.mean)
    sure = gate(found.mean, p.mean, interval=found.interval)
    return float(plain == "fail"), float(plain == "pass"), float(sure == "fail")


_HELD = ("held", "below", "above")
_HOLDS = (-LEAST, MOST, MOST)


@cache
def asked(question: int, answer: int) -> Sample:
    """One of the answers to a question."""
    return Sample(
        user_input=f"question {question}",
        response=f"answer {answer}",
        reference=f"reference {question}",
        retrieved_contexts=("c",),
    )


@cache
def scored_of(draw: tuple[int, int]) -> Score:
    """As `score_of`, of the chunk of `asked`."""
    noisy, claims = draw
    correct = [i >= noisy for i in range(claims)]
    return score(Verdicts.from_matrices(correct, [[True]] * claims, [[True]], chunks=["c"]))


@cache
def key_of(question: int, answer: int) -> str:
    return asked(question, answer).key


def several(
    p: Population, answers: int, share: float, questions: int, rng: random.Random
) -> tuple[float, ...]:
    """So many answers to each question, of a share of which all are as noisy: does the interval of
    the mean hold? Of two versions that are alike, but for what chance makes of a question, is B
    called worse? With ids or without, by chance."""
    named = rng.random() < 0.5
    before: list[Result] = []
    after: list[Result] = []
    for question in range(questions):
        are_alike = rng.random() < share
        odds = p.odds(rng), p.odds(rng)
        for answer in range(answers):
            if not are_alike:
                odds = p.odds(rng), p.odds(rng)
            name = f"{question}, {answer}" if named else key_of(question, answer)
            for run, own in zip((before, after), odds, strict=True):
                scored = scored_of(p.draw(rng, own))
                run.append(Result(name, scored, sample=asked(question, answer)))
    found = summarize(before).relevant
    compared = compare(before, after).relevant
    assert found is not None
    assert compared is not None
    return *ends(found.interval, p.mean), float(compared.decision == "worse")


def tables() -> Iterator[Table]:
    """All of them."""
    yield from means()
    yield from comparisons()
    yield from checks()
    yield from repeats()


def means() -> Iterator[Table]:
    for missing in MISSING:
        title = f"Mean over samples, then share of claims; {missing:.0%} of the verdicts missing"
        cases = product(POPULATIONS, SIZES)
        rows = [Task(p.name, n, partial(single, p, n, missing)) for p, n in cases]
        yield Table(title, _HELD * 2, _HOLDS * 2, rows)
    for name, samples in (("about 5 samples", alike), ("1 to 40 samples", unlike)):
        cases = product(POPULATIONS[:2], (5, 10, 20, 30, 50, 100))
        rows = [Task(p.name, n, partial(clustered, p, samples, n)) for p, n in cases]
        yield Table(f"Mean over clusters of {name}", _HELD, _HOLDS, rows)
    rows = []
    for rate, cells, n in product((0.02, 0.1), (20, 100), (3, 5, 10, 20, 50)):
        name = f"rate {rate:.0%}, {cells} cells each"
        rows.append(Task(name, n, partial(error_rate, rate, cells, n)))
    yield Table("A judge's error rate over few samples of many cells", _HELD, _HOLDS, rows)


def comparisons() -> Iterator[Table]:
    sizes = (6, 7, 8, 10, 20, 40, 100, 300)
    for name, kinds in (
        ("equal units", (alone, fives)),
        ("unequal units", (ones_and_tens, one_half, pareto)),
    ):
        rows = []
        for kind, p, n in product(kinds, POPULATIONS[:2], sizes):
            task = partial(by_clusters, p, kind, n)
            rows.append(Task(f"{p.name}, {kind.__name__}", n, task))
        yield Table(f"Paired comparison over {name}", ("worse", "power"), (FALSE, None), rows)


def checks() -> Iterator[Table]:
    """Gates, and what differences that are no noise do to them."""
    rows = []
    for what, drift, changes in (("harmless", 0.0, 20), ("0.137 worse in all", 0.137, 15)):
        for name, pin in (("pinned", True), ("the last", False)):
            rows.append(Task(f"{what}, {name}", changes, partial(gates, pin, drift, changes)))
    title = "Changes one after another, each checked against a baseline: an alarm"
    yield Table(title, ("plain", "0.05"), (None, None), rows)
    cases = product((0.05, 0.2), (10, 40, 100))
    rows = [Task(f"{worse:.0%} differ", n, partial(skewed, worse, n)) for worse, n in cases]
    columns = ("right", "left", "0.05")
    yield Table("Skewed differences of mean 0: worse", columns, (None,) * 3, rows)
    p = POPULATIONS[0]
    rows = [Task(p.name, n, partial(gated, p, n)) for n in (50, 200)]
    columns = ("fails", "passes", "sure")
    yield Table("A gate whose limit is the true mean", columns, (-20.0, -20.0, 5.0), rows)


def repeats() -> Iterator[Table]:
    """Several answers to one question."""
    cases = product((1, 3, 5, 10), (0.2, 0.5, 0.8), (12, 60))
    rows: list[Task] = []
    for answers, share, n in cases:
        name = f"{answers} answers, {share:.0%} alike"
        rows.append(Task(name, n, partial(several, POPULATIONS[0], answers, share, n)))
    columns = (*_HELD, "worse")
    limits = (-92.5, None, None, FALSE)
    yield Table("Answers to so many questions: the mean, then B worse", columns, limits, rows)


def figures(task: Task, datasets: int) -> tuple[float, ...]:
    """The mean of each column over all data sets, in %."""
    seeds = (f"{task.name}/{task.size}/{i}" for i in range(datasets))
    rows = [task.run(random.Random(seed)) for seed in seeds]
    return tuple(100 * math.fsum(column) / datasets for column in zip(*rows, strict=True))


def out_of_range(value: float, limit: float | None, datasets: int) -> bool:
    """By more than twice the standard error of a figure at the limit."""
    if limit is None:
        return False
    share = abs(limit) / 100
    slack = 200 * math.sqrt(share * (1 - share) / datasets)
    return value < -limit - slack if limit < 0 else value > limit + slack


def show(table: Table, values: Iterable[tuple[float, ...]], datasets: int) -> int:
    """Print a row as soon as it is measured. How many figures are out of their range?"""
    print(f"\n{table.title}; in % of {datasets} data sets a row")
    print(f"{'':32}{'n':>5}" + "".join(f"{column:>8}" for column in table.columns))
    bad = 0
    for task, row in zip(table.rows, values, strict=True):
        limits = zip(table.columns, row, table.limits, strict=True)
        wrong = [name for name, value, limit in limits if out_of_range(value, limit, datasets)]
        bad += len(wrong)
        cells = "".join(f"{value:>8.1f}" for value in row)
        notes = f"  <- {', '.join(wrong)}" if wrong else ""
        print(f"{task.name:32}{task.size:>5}{cells}{notes}", flush=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=1000, help="a row; 1000 by default")
    parser.add_argument("--resamples", type=int, default=400, help="of each interval")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", default="", help="tables whose title holds this text")
    options = parser.parse_args()
    measure = partial(figures, datasets=options.datasets)
    bad = 0
    with ProcessPoolExecutor(options.processes, None, _use, (options.resamples,)) as pool:
        for table in tables():
            if options.only.lower() in table.title.lower():
                bad += show(table, pool.map(measure, table.rows), options.datasets)
    print(f"\n{bad} figures out of their range")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
