"""Does an ablation blame chunks for the judge's errors, and does it find the ones that did it?

    python tests/benchmarks/causes.py [--runs 300] [--processes 2] [--only null]

Samples of four claims, of which three in ten are wrong and come from one of three chunks; a judge
errs in a share of its verdicts, on claims that are twice as hard or not hard at all. A system
never changes its words, always does, or half of the time; the judge's errors cling to the texts
(the reworded answers of a sample are one text) or are drawn call by call.
``null``: no chunk changes anything; how often an effect is shown (wanted: at most 3%).
``even``: the same with claims that are all as hard, so that no difference is true; how often one
of the three is surely off zero (wanted: at most 3%).
``unstable``: no chunk changes anything, but wrong claims are said again less often than right
ones, except that the same chunks give the same words.
``culprit``: without the chunk a share of the wrong claims goes; how often an effect is shown
(wanted: at least 80% from 60 samples on), and how often the interval beside the other claims
holds the true difference, as the judge sees it (wanted: at least 93%).
``planted``: in 30 of 120 samples, whose answers are wrong otherwise in one of ten, a document that
entails nothing makes most answers wrong: in how many worlds is it named, with how many answers,
and how often is one named in worlds without it; beside that, whom leaving each document out once
names where the most claims go, as a perturbation without controls does.
Exit status 1 if a figure is out of its range by more than twice its own standard error.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import ground
import numpy as np

from noisesense import Chunk, Result, Sample, Verdicts, score
from noisesense.ablation import plan
from noisesense.ablation.cases import Answer, Case, cases_of
from noisesense.ablation.causes import Change, Effect, arms_of, causes_of, effect_of
from noisesense.scoring.outcomes import Range

CLAIMS = 4
WRONG = 0.3
SYSTEMS = {"never": 0.0, "half": 0.5, "always": 1.0}
ERRORS = (0.0, 0.02, 0.05, 0.1)
SIZES = (30, 60, 150)


def case_of(number: int, correct: Any, entailed: Any, chunks: list[str]) -> Case:
    """A sample whose claims are so judged; the last chunk entails the wrong ones it may."""
    names = [f"claim {number} {i}" for i in range(len(correct))]
    none = [False] * len(chunks)
    from_last = [[*none[:-1], bool(each)] for each in entailed]
    verdicts = Verdicts.from_matrices(
        [bool(each) for each in correct], from_last, [none], response_claims=names
    )
    sample = Sample(
        user_input=f"question {number}",
        response=". ".join(names),
        reference=f"reference {number}",
        retrieved_contexts=[Chunk(text=f"{text} in {number}", id=text) for text in chunks],
    )
    scored = score(verdicts.with_sample(sample))
    return cases_of([Result(f"s{number}", scored, sample=sample)], Counter())[f"s{number}"]


@cache
def case_like(noisy: tuple[bool, ...]) -> Case:
    """A sample of which these claims are noisy."""
    correct = [not each for each in noisy]
    return case_of(0, correct, noisy, ["one", "two", "culprit"])


SAYS = {True: Range(1.0, 1.0), False: Range(0.0, 0.0)}


def answer_of(said: Any) -> Answer:
    return Answer(None, tuple(SAYS[each] for each in said.tolist()))


class World(NamedTuple):
    """
    Attributes:
        samples: how many.
        errors: how often the judge errs.
        reworded: how often an answer has new words, though no claim goes.
        by_text: do errors cling to the texts?
        goes: with which probability a wrong claim goes without its chunk.
        unstable: with which a wrong claim goes wherever any chunk is away; a right one, a fifth.
    """

    samples: int
    errors: float
    reworded: float
    by_text: bool
    goes: float = 0.0
    unstable: float = 0.0

    def error(self, rng: np.random.Generator, shape: tuple[int, int]) -> Any:
        """How often the judge errs on each claim."""
        return 2 * self.errors * (rng.random(shape) < 0.5)

    def effect(self, rng: np.random.Generator) -> Effect | None:
        """What an ablation finds; None if no claim is noisy."""
        shape = (self.samples, CLAIMS)
        wrong = rng.random(shape) < WRONG
        error = self.error(rng, shape)
        noisy = wrong ^ (rng.random(shape) < error)
        misread = rng.random(shape) < error
        answers: dict[str, Any] = {}
        for variant in ("again", "without", "without-other"):
            gone = np.zeros(shape, bool)
            if variant == "without":
                gone |= wrong & (rng.random(shape) < self.goes)
            if variant != "again":
                gone |= rng.random(shape) < self.unstable * np.where(wrong, 1.0, 0.2)
            in_new_words = rng.random((self.samples, 1)) < self.reworded
            in_new_words |= gone.any(axis=1, keepdims=True)
            if not self.by_text:
                misread = rng.random(shape) < error
            answers[variant] = ~(gone ^ (misread & in_new_words))
        cases: list[Case] = []
        for i in np.flatnonzero(noisy.any(axis=1)):
            alike = case_like(tuple(map(bool, noisy[i])))
            case = Case(f"s{i}", f"question {i}", alike.sample, alike.score)
            for variant, said in answers.items():
                case.answers[variant] = answer_of(said[i])
            cases.append(case)
        followed = [(arm, claim) for arm in arms_of(cases) for claim in arm.followed]
        return effect_of(followed) if followed else None


class EvenWorld(World):
    """All claims are as hard."""

    def error(self, rng: np.random.Generator, shape: tuple[int, int]) -> Any:
        return np.full(shape, self.errors)


class Shares(NamedTuple):
    """Of the runs of a world, in %: those that show an effect, those whose interval holds it, and
    those in which a difference is surely off zero, of the three the one that is most often."""

    shown: float
    held: float
    off: float


def is_off_zero(change: Change | None) -> bool:
    interval = None if change is None else change.change.interval
    return interval is not None and not interval.low <= 0 <= interval.high


def shares_of(world: World, runs: int) -> Shares:
    rng = np.random.default_rng([runs, *map(ord, str(world))])
    effects = [effect for effect in (world.effect(rng) for _ in range(runs)) if effect]
    changes = [each.other_claims.change for each in effects if each.other_claims]
    # What is true of such followed claims, as the judge sees them.
    truth = math.fsum(change.low for change in changes) / len(changes)
    held = 0
    for change in changes:
        interval = change.interval
        held += interval is None or interval.low - 1e-9 <= truth <= interval.high + 1e-9
    off = [
        tuple(map(is_off_zero, (each.other_claims, each.again, each.other_chunks)))
        for each in effects
    ]
    return Shares(
        100 * sum(effect.is_shown for effect in effects) / runs,
        100 * held / len(changes),
        100 * max(map(sum, zip(*off, strict=True))) / runs,
    )


def is_off(share: float, limit: float, runs: int) -> bool:
    """Is a share over the limit (below it, if that is over 50) by more than chance?"""
    error = 100 * math.sqrt(limit / 100 * (1 - limit / 100) / runs)
    return share < limit - 2 * error if limit > 50 else share > limit + 2 * error


def show(
    pool: ProcessPoolExecutor,
    title: str,
    worlds: dict[tuple[object, ...], World],
    runs: int,
    wanted: Callable[[World], tuple[float | None, float | None, float | None]],
) -> bool:
    """A row for each world. Is a figure out of its range?"""
    off = False
    rows: list[list[object]] = []
    found = pool.map(partial(shares_of, runs=runs), worlds.values())
    for (name, world), shares in zip(worlds.items(), found, strict=True):
        cells: list[str] = []
        for share, limit in zip(shares, wanted(world), strict=True):
            is_bad = limit is not None and is_off(share, limit, runs)
            off |= is_bad
            cells.append(f"{share:.1f}{'!' if is_bad else ''}")
        rows.append([*name, *cells])
    print(f"{title}; in % of {runs} runs a row")
    head = ["system", "errors", "drawn by", "goes, %", "samples", "shown", "held", "off"]
    ground.show(head, rows, right={1, 3, 4, 5, 6, 7})
    return off


def worlds_of(
    goes: tuple[float, ...], unstable: float = 0.0, kind: type[World] = World
) -> dict[tuple[object, ...], World]:
    worlds: dict[tuple[object, ...], World] = {}
    for name, errors, by, share, n in product(SYSTEMS, ERRORS, ("text", "call"), goes, SIZES):
        if errors or by == "text":
            row = (name, f"{errors:.0%}", by, f"{share:.0%}", n)
            worlds[row] = kind(n, errors, SYSTEMS[name], by == "text", share, unstable)
    return worlds


def show_null(pool: ProcessPoolExecutor, runs: int) -> bool:
    title = "No chunk changes anything"
    return show(pool, title, worlds_of((0.0,)), runs, lambda _: (3.0, None, None))


def show_even(pool: ProcessPoolExecutor, runs: int) -> bool:
    title = "No chunk changes anything, and all claims are as hard"
    worlds = worlds_of((0.0,), kind=EvenWorld)
    return show(pool, title, worlds, runs, lambda _: (3.0, None, 3.0))


def show_unstable(pool: ProcessPoolExecutor, runs: int) -> bool:
    title = "No chunk changes anything, but wrong claims go where any is away"
    return show(pool, title, worlds_of((0.0,), 0.4), runs, lambda _: (3.0, None, None))


def show_culprit(pool: ProcessPoolExecutor, runs: int) -> bool:
    def wanted(world: World) -> tuple[float | None, float | None, float | None]:
        is_enough = world.samples >= 60 and world.errors <= 0.05
        return 80.0 if is_enough else None, 93.0, None

    return show(pool, "Wrong claims go", worlds_of((0.3, 0.6, 1.0)), runs, wanted)


class Planted(NamedTuple):
    """Documents by popularity, five to a question, and one that misleads without entailing.

    Attributes:
        samples: how many.
        documents: how many different ones there are.
        misleads: how often an answer is wrong for which it was retrieved.
        errors: the judge's.
    """

    samples: int = 120
    documents: int = 40
    misleads: float = 0.7
    errors: float = 0.05
    budget: int = 150


SHARE = 0.25
"""Of the samples the planted document is retrieved in."""
ELSE_WRONG = 0.1
CHANCE = 0.15
"""With which a wrong claim is not said in another answer, whatever its chunks."""


class Named(NamedTuple):
    """Of one world: was the planted document named, was another, was it the one without which the
    most claims go, and how many answers it took."""

    right: bool
    wrong: bool
    most: bool
    answers: int


def named(world: Planted, seed: int) -> Named:
    rng = np.random.default_rng([seed, int(100 * world.misleads)])
    popularity = 1 / np.arange(1, world.documents + 1) ** 0.7
    popularity /= popularity.sum()
    planted = "planted"
    results: list[Result] = []
    misled = set[str]()
    for i in range(world.samples):
        drawn = rng.choice(world.documents, 5, replace=False, p=popularity)
        chunks = [f"document {number}" for number in drawn]
        if i < SHARE * world.samples:
            chunks[int(rng.integers(5))] = planted
        correct = np.ones(CLAIMS, bool)
        if planted in chunks and rng.random() < world.misleads:
            misled.add(f"s{i}")
            correct[0] = False
        elif rng.random() < ELSE_WRONG:
            correct[0] = False
        correct ^= rng.random(CLAIMS) < world.errors
        case = case_of(i, correct, np.zeros(CLAIMS, bool), chunks)
        results.append(Result(case.id, case.score, sample=case.sample))
    rows = plan(results, (), leave_out=world.budget)
    cases = cases_of(results, Counter())
    for row in rows:
        case = cases[row["id"]]
        given = {chunk["id"] for chunk in row["retrieved_contexts"]}
        gone = np.zeros(CLAIMS, bool)
        gone[case.unexplained] = rng.random(len(case.unexplained)) < CHANCE
        if row["id"] in misled and planted not in given:
            gone[0] = rng.random() < 0.9
        gone ^= rng.random(CLAIMS) < world.errors
        case.answers[row["variant"]] = answer_of(~gone)
    causes = causes_of(arms_of(cases.values()))
    found = {cause.document for cause in causes if cause.is_shown}
    most = max(causes, key=lambda cause: cause.gone.low * cause.claims, default=None)
    return Named(
        planted in found,
        bool(found - {planted}) or (bool(found) and not world.misleads),
        most is not None and most.document == planted,
        len(rows),
    )


def show_planted(pool: ProcessPoolExecutor, runs: int) -> bool:
    print(f"A document that misleads and entails nothing; in % of {runs} worlds a row")
    rows: list[list[object]] = []
    off = False
    for misleads, errors, budget in product((0.0, 0.5, 0.7, 0.9), (0.0, 0.05), (100, 150, 300)):
        world = Planted(misleads=misleads, errors=errors, budget=budget)
        found = [*pool.map(partial(named, world), range(runs), chunksize=8)]
        right, wrong, most, answers = (sum(column) / runs for column in zip(*found, strict=True))
        off |= is_off(100 * wrong, 3.0, runs)
        if misleads >= 0.7:
            off |= is_off(100 * right, 80.0, runs)
        figures = [f"{100 * share:.1f}" for share in (right, wrong, most)]
        rows.append([f"{misleads:.0%}", f"{errors:.0%}", budget, f"{answers:.0f}", *figures])
    head = ["misleads", "errors", "at most", "answers", "named", "others named", "most go"]
    ground.show(head, rows, right={0, 1, 2, 3, 4, 5, 6})
    return off


PARTS = {
    "null": show_null,
    "even": show_even,
    "unstable": show_unstable,
    "culprit": show_culprit,
    "planted": show_planted,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--only", choices=[*PARTS])
    options = parser.parse_args()
    off = False
    with ProcessPoolExecutor(options.processes) as pool:
        for name in [options.only] if options.only else PARTS:
            off |= PARTS[name](pool, options.runs)
    return int(off)


if __name__ == "__main__":
    sys.exit(main())
