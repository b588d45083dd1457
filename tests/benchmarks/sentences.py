"""Is what `trust` and `offenders` print true? On simulated runs whose truth is known.

    python tests/benchmarks/sentences.py [--runs 100] [--processes 2] [--only mean]

``mean``: how often the interval of the mean corrected by labels holds the mean of all people's
scores in these very samples (wanted: 93 to 97%), by how many are labeled; all labeled, it is that
mean.
``warnings``: of the runs in which labels on the noisiest samples put the truth outside of the
interval, how many `trust` warns of (wanted: at least 98%), and how often it does where labels are
on a random choice (at most 3%); does it warn of labels on the first samples.
``documents``: how often the intervals of the listed documents, and of the first five, hold their
true rate (wanted: at least 93%); the true rate of the first ten. The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple

import ground

from noisesense import Offender, Result, Verdicts, offenders, score
from noisesense.scoring.outcomes import Range
from noisesense.stats import interval
from noisesense.stats.labels_mean import labeled_pairs
from noisesense.stats.powered_mean import PPIMean, powered_mean
from support.simulated import POPULATIONS, Population, poisson, result_of

Size = tuple[int, int]
"""Samples, and how many of them are labeled."""

SIZES: tuple[Size, ...] = ((50, 10), (50, 30), (200, 30), (200, 100), (500, 100), (50, 50))


class Sample(NamedTuple):
    """How many claims people find noisy, how many the judge, and how many there are."""

    people: int
    judge: int
    claims: int


class Judge(NamedTuple):
    """How often it finds a noisy claim noisy, and a clean one."""

    name: str
    finds: float
    invents: float


JUDGES = (
    Judge("perfect", 1.0, 0.0),
    Judge("good", 0.9, 0.05),
    Judge("bad", 0.6, 0.2),
    Judge("guessing", 0.3, 0.3),
)


class World(NamedTuple):
    """Samples with so many claims on average, and a judge."""

    population: Population
    judge: Judge
    claims: int

    @property
    def name(self) -> str:
        return f"{self.population.name}, {self.claims} claims, {self.judge.name} judge"

    def draw(self, rng: random.Random, size: int) -> list[Sample]:
        return [self._sample(rng) for _ in range(size)]

    def _sample(self, rng: random.Random) -> Sample:
        odds = self.population.odds(rng)
        claims = 1 if self.claims == 1 else 1 + poisson(rng, self.claims - 1)
        people = sum(rng.random() < odds for _ in range(claims))
        found = sum(rng.random() < self.judge.finds for _ in range(people))
        invented = sum(rng.random() < self.judge.invents for _ in range(claims - people))
        return Sample(people, found + invented, claims)


WORLDS = [World(p, judge, claims) for p in POPULATIONS for judge in JUDGES for claims in (5, 1)]


def corrected(samples: list[Sample], labeled: Iterable[int], resamples: int = 1) -> PPIMean:
    """The mean, with people's labels at these places."""
    places = {*labeled}
    others: list[Range] = []
    judged: list[Range] = []
    people: list[Range] = []
    for i, each in enumerate(samples):
        score = each.judge / each.claims
        if i in places:
            judged.append(Range(score, score))
            label = each.people / each.claims
            people.append(Range(label, label))
        else:
            others.append(Range(score, score))
    interval.RESAMPLES = resamples
    return powered_mean(others, judged, people, 0.95)


def is_apart(found: PPIMean) -> bool:
    """Is one warned that the judge's mean is another one on the labeled samples?"""
    return any("further apart" in each for each in found.warnings)


def truth_of(samples: list[Sample]) -> float:
    """What people would find over all of them."""
    return math.fsum(each.people / each.claims for each in samples) / len(samples)


def held(world: World, size: Size, runs: int) -> tuple[float, ...]:
    """How often the interval holds the mean of these samples, in %, and how wide it is."""
    rng = random.Random(f"mean/{world.name}/{size}")
    inside = 0
    width = 0.0
    for _ in range(runs):
        samples = world.draw(rng, size[0])
        found = corrected(samples, range(size[1]), 400)
        inside += holds(found, truth_of(samples))
        width += found.interval.high - found.interval.low
    return 100 * inside / runs, width / runs


def holds(found: PPIMean, truth: float) -> bool:
    return found.interval.low - 1e-9 <= truth <= found.interval.high + 1e-9


def warned(world: World, size: Size, runs: int) -> tuple[float, ...]:
    """In how many runs labels on the noisiest samples put the truth outside of the interval, and
    how many of these are warned of; how many runs with labels on a random choice are."""
    rng = random.Random(f"warnings/{world.name}/{size}")
    missed = said = false = 0
    for _ in range(runs):
        samples = world.draw(rng, size[0])
        false += is_apart(corrected(samples, range(size[1])))
        noisiest = sorted(range(size[0]), key=lambda i: -samples[i].judge / samples[i].claims)
        found = corrected(samples, noisiest[: size[1]], 100)
        if not holds(found, truth_of(samples)):
            missed += 1
            said += is_apart(found)
    return missed, said, false


def stand_together(size: Size, chosen: Iterable[int]) -> bool:
    """Is one warned of the places of labels in the results?"""
    judged = [result_of(i, (0, 1)) for i in range(size[0])]
    found = labeled_pairs(judged, [judged[i] for i in chosen], "id")
    return any("stand together" in each for each in found.warnings)


Measure = Callable[[World, Size, int], tuple[float, ...]]


class Cell(NamedTuple):
    """What was measured in a world."""

    world: World
    size: Size
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.world.name}, {self.size[1]} of {self.size[0]}"


def cells(
    pool: ProcessPoolExecutor, measure: Measure, sizes: Iterable[Size], runs: int
) -> list[Cell]:
    keys = [(world, size) for world in WORLDS for size in sizes]
    found = pool.map(partial(_measured, measure, runs), keys, chunksize=2)
    return [Cell(*key, values) for key, values in zip(keys, found, strict=True)]


def _measured(measure: Measure, runs: int, key: tuple[World, Size]) -> tuple[float, ...]:
    return measure(*key, runs)


def show_mean(pool: ProcessPoolExecutor, runs: int) -> None:
    by_size = defaultdict[tuple[str, Size], list[Cell]](list)
    for cell in cells(pool, held, SIZES, runs):
        kind = "perfect" if cell.world.judge.name == "perfect" else "others"
        by_size[kind, cell.size].append(cell)
    print(f"The interval of the corrected mean holds the truth, in % of {runs} runs a world")
    rows: list[list[object]] = []
    for (judge, size), each in by_size.items():
        shares = sorted(cell.values[0] for cell in each)
        figures = [
            f"{share:.1f}" for share in (sum(shares) / len(shares), *shares[:: len(shares) - 1])
        ]
        width = sum(cell.values[1] for cell in each) / len(each)
        rows.append([judge, f"{size[1]} of {size[0]}", len(each), *figures, f"{width:.3f}"])
    head = ["judge", "labeled", "worlds", "all", "lowest", "highest", "width"]
    ground.show(head, rows, right={2, 3, 4, 5, 6})


def show_warnings(pool: ProcessPoolExecutor, runs: int) -> None:
    by_size = defaultdict[Size, list[tuple[float, ...]]](list)
    for cell in cells(pool, warned, SIZES[:-1], runs):
        by_size[cell.size].append(cell.values)
    print(f"Warnings: {runs} runs in each of {len(WORLDS)} worlds")
    rows: list[list[object]] = []
    for size, values in by_size.items():
        missed, said, false = (math.fsum(column) for column in zip(*values, strict=True))
        most = max(each[2] for each in values)
        rows.append(
            [
                f"{size[1]} of {size[0]}",
                f"{said:.0f} of {missed:.0f}",
                f"{100 * false / (runs * len(values)):.1f} (at most {100 * most / runs:.1f})",
                "yes" if stand_together(size, range(size[1])) else "no",
            ]
        )
    head = ["labeled", "noisiest, wrong", "random, %", "first ones"]
    ground.show(head, rows, right={1, 2, 3})


Rates = Callable[[random.Random, int], list[float]]


def few_culprits(rng: random.Random, size: int) -> list[float]:
    """One in ten misleads half of the time."""
    return [rng.betavariate(*(4, 4) if rng.random() < 0.1 else (1, 15)) for _ in range(size)]


def spread(rng: random.Random, size: int) -> list[float]:
    """All sorts, most of them good."""
    return [rng.betavariate(0.8, 4) for _ in range(size)]


def alike(rng: random.Random, size: int) -> list[float]:
    """About as bad as one another."""
    return [rng.betavariate(20, 80) for _ in range(size)]


def mostly_never(rng: random.Random, size: int) -> list[float]:
    """Six in seven never mislead."""
    return [rng.betavariate(3, 5) if rng.random() < 0.15 else 0.0 for _ in range(size)]


def one_culprit(rng: random.Random, size: int) -> list[float]:
    return [rng.uniform(0.3, 0.8), *(rng.betavariate(1, 12) for _ in range(size - 1))]


@cache
def retrieval(document: int, misled: bool) -> Result:
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": "c", "correct": not misled, "entailed_by": [0]}],
            "chunks": [{"text": "t", "id": str(document), "relevant": True}],
        }
    )
    return Result(f"{document}", score(verdicts))


class Listed(NamedTuple):
    """Of one run: how many of the listed documents' intervals hold, and of the first five; the
    true rate of the first ten."""

    documents: int
    held: int
    five: int
    five_held: int
    ten: float


def listed(rates: Rates, seed: int) -> Listed | None:
    """None where no document misleads."""
    rng = random.Random(f"documents/{rates.__name__}/{seed}")
    truth = rates(rng, rng.choice((10, 30, 100, 200)))
    results: list[Result] = []
    for document, rate in enumerate(truth):
        for _ in range(min(int(2 * rng.paretovariate(1)) - 1, 80)):
            results.append(retrieval(document, rng.random() < rate))
    found = offenders(results)
    if not found.documents:
        return None

    def rate_of(each: Offender) -> float:
        return truth[int(each.document)]

    def is_held(each: Offender) -> bool:
        return each.interval.low - 1e-9 <= rate_of(each) <= each.interval.high + 1e-9

    inside = [is_held(each) for each in found.documents]
    ten = [rate_of(each) for each in found.documents[:10]]
    return Listed(
        documents=len(inside),
        held=sum(inside),
        five=len(inside[:5]),
        five_held=sum(inside[:5]),
        ten=sum(ten) / len(ten),
    )


def show_documents(pool: ProcessPoolExecutor, runs: int) -> None:
    print(f"Documents that mislead; {runs} runs of 10 to 200 documents")
    rows: list[list[object]] = []
    for rates in (few_culprits, spread, alike, mostly_never, one_culprit):
        found = [*filter(None, pool.map(partial(listed, rates), range(runs), chunksize=4))]
        rows.append([rates.__name__.replace("_", " "), *over_all(found)])
    head = ["rates", "held, %", "first five", "first ten"]
    ground.show(head, rows, right={1, 2, 3})


def over_all(found: list[Listed]) -> list[str]:
    """As the table has them."""
    total = Listed(*map(sum, zip(*found, strict=True)))  # type: ignore[arg-type]
    return [
        f"{100 * total.held / total.documents:.1f}",
        f"{100 * total.five_held / total.five:.1f}",
        f"{total.ten / len(found):.3f}",
    ]


PARTS = {
    "mean": show_mean,
    "warnings": show_warnings,
    "documents": show_documents,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="a cell")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", choices=[*PARTS], help="this part alone")
    options = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        for name in [options.only] if options.only else PARTS:
            PARTS[name](pool, options.runs)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
