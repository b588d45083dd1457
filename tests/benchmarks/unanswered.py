"""What missing verdicts do to a summary and to a comparison, on runs whose truth is known.

    python tests/benchmarks/unanswered.py [--datasets 100] [--comparisons 200] [--processes 2]

Samples are drawn from a fixed population of tables, whose means are the truth, and judged as a
lazy plan asks. Then the judge leaves cells unanswered: some of those asked, at random; or, in a
share of the samples, all chunks' "no" (a judge that lists what it finds), all their "yes", or all
that was asked of chunks, also just where there is most noise.

For each row and mode it prints the truth; the bias of the mean ratio over determined claims,
``noisy / determined``, and how often a normal interval around it covers the truth; the mean
reported range and interval; how often the range holds the mean that the missing verdicts would
have given (wanted: always); and how often the interval covers the truth: that of the mean, and
that of the share of claims (wanted: at least 93%). Then it compares runs of the same answers, of
which one has cells missing (wanted: neither "better" nor "worse", ever). Exit status 1 if a figure
is out of its range. The same seeds on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "tests")]

# The two source roots are found above: a clean checkout runs without an install.
from noisesense import (  # noqa: E402
    ReferenceClaim,
    ResponseClaim,
    Result,
    Score,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense.scoring.definitions import MODES, Mode  # noqa: E402
from noisesense.stats.interval import (  # noqa: E402
    Interval,
    Resampling,
    sign_flip_interval,
)
from noisesense.stats.resampling import Unit  # noqa: E402
from support.simulated import ragchecker_like  # noqa: E402

TABLES = 1500
HOW = Resampling(resamples=200)
PAIRED = Resampling(resamples=100)
WANTED = 93.0

Kind = Literal["correct", "chunk"]
Keeps = Callable[[Kind, bool], bool]
"""Does the judge give this answer?"""


class Missing(NamedTuple):
    """One row: which answers do not come."""

    name: str
    rate: float = 0.0
    """Of all cells asked, at random."""
    share: float = 0.0
    """Of the samples, those in which answers on chunks are lost: by what they say."""
    lost: tuple[bool, ...] = ()
    noisy: bool = False
    """Lost in every sample of which more than half of the claims are noise."""


ROWS = (
    *(Missing(f"{rate:.0%} of the cells", rate=rate) for rate in (0.01, 0.05, 0.2)),
    *(Missing(f'"no", {s:.0%} of samples', share=s, lost=(False,)) for s in (0.2, 1.0)),
    *(Missing(f'"yes", {s:.0%} of samples', share=s, lost=(True,)) for s in (0.2, 1.0)),
    *(Missing(f"all, {s:.0%} of samples", share=s, lost=(True, False)) for s in (0.05, 0.2)),
    Missing("all, where noise is most", lost=(True, False), noisy=True),
)


@cache
def population() -> list[Verdicts]:
    """All answers of all samples there are."""
    rng = random.Random("population")
    return [ragchecker_like(rng) for _ in range(TABLES)]


@cache
def truth(mode: Mode) -> tuple[float, float]:
    """The population's mean and its share of claims."""
    scores = [score(table) for table in population()]
    counts = [found for each in scores if (found := each.counts(mode)) is not None]
    share = sum(each.noisy for each in counts) / sum(each.total for each in counts)
    return mean_of(scores, mode), share


def mean_of(scores: Sequence[Score], mode: Mode) -> float:
    """Of fully determined scores."""
    values = [value for each in scores if (value := each.value(mode)) is not None]
    assert len(values) == len(scores)
    return fmean(values)


def judged(table: Verdicts, keeps: Keeps) -> Verdicts:
    """The answers of a lazy plan: chunks are asked of claims that are not known to be correct."""
    chunks = tuple(range(table.chunk_count))

    def row(sure: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        kept = [keeps("chunk", j in sure) for j in chunks]
        lost = tuple(j for j in chunks if not kept[j])
        return tuple(j for j in sure if kept[j]), lost

    response: list[ResponseClaim] = []
    for claim in table.response_claims:
        correct = claim.correct if keeps("correct", claim.correct is True) else None
        entailed, lost = ((), chunks) if correct else row(claim.entailed_by)
        response.append(
            ResponseClaim.model_construct(
                text=claim.text, correct=correct, entailed_by=entailed, undetermined=lost
            )
        )
    asked = any(not claim.correct for claim in response)
    reference: list[ReferenceClaim] = []
    for claim in table.reference_claims:
        entailed, lost = row(claim.entailed_by) if asked else ((), chunks)
        reference.append(
            ReferenceClaim.model_construct(
                text=claim.text, entailed_by=entailed, undetermined=lost
            )
        )
    return Verdicts.model_construct(
        response_claims=tuple(response), reference_claims=tuple(reference), chunks=table.chunks
    )


def spoilt(missing: Missing, table: Verdicts, rng: random.Random) -> Score:
    """The sample's score by that judge."""
    lost = missing.lost
    hit = rng.random() < missing.share
    if missing.noisy:
        hit = (score(table).relevant or 0.0) > 0.5

    def keeps(kind: Kind, said: bool) -> bool:
        if hit and kind == "chunk" and said in lost:
            return False
        return rng.random() >= missing.rate

    return score(judged(table, keeps))


def old_values(scores: Sequence[Score], mode: Mode) -> list[float | None]:
    """``noisy / determined`` of each sample, which is what a missing verdict must not become."""
    counts = [found for each in scores if (found := each.counts(mode)) is not None]
    return [each.noisy / each.determined if each.determined else None for each in counts]


class Figure(NamedTuple):
    """One mode of one data set, or the mean over many."""

    old: float
    old_covers: float
    low: float
    high: float
    interval_low: float
    interval_high: float
    holds: float
    """Does the range hold the mean of the complete verdicts?"""
    covers: float
    """Does the interval of the mean cover the truth?"""
    claims_cover: float
    """Does that of the share of claims?"""


def covers(interval: Interval | None, value: float) -> float:
    """Is the value in it?"""
    return float(interval is not None and interval.low <= value <= interval.high)


def old_mean(scores: Sequence[Score], mode: Mode) -> tuple[float, float]:
    """The mean of the old ratios (0 if there are none), and how far a normal interval reaches."""
    known = [value for value in old_values(scores, mode) if value is not None]
    if len(known) < 2:
        return 0.0, 0.0
    return fmean(known), 1.96 * stdev(known) / math.sqrt(len(known))


def one(missing: Missing, samples: int, seed: int) -> list[Figure]:
    """One data set: each mode."""
    rng = random.Random(f"{missing.name}/{samples}/{seed}")
    tables = rng.choices(population(), k=samples)
    complete = [score(table) for table in tables]
    scores = [spoilt(missing, table, rng) for table in tables]
    summary = summarize(scores, resamples=HOW.resamples)
    found: list[Figure] = []
    for mode in MODES:
        ours = summary.mode(mode)
        assert ours is not None
        assert ours.bounds is not None
        assert ours.interval is not None
        old, reach = old_mean(scores, mode)
        mean, share = truth(mode)
        low, high = ours.bounds
        found.append(
            Figure(
                old=old,
                old_covers=float(abs(old - mean) <= reach),
                low=low,
                high=high,
                interval_low=ours.interval.low,
                interval_high=ours.interval.high,
                holds=float(low - 1e-12 <= mean_of(complete, mode) <= high + 1e-12),
                covers=covers(ours.interval, mean),
                claims_cover=covers(ours.micro_interval, share),
            )
        )
    return found


def row(missing: Missing, samples: int, datasets: int) -> list[Figure]:
    """The means of the figures over all data sets."""
    every = [one(missing, samples, seed) for seed in range(datasets)]
    return [
        Figure(*(math.fsum(column) / datasets for column in zip(*figure, strict=True)))
        for figure in zip(*every, strict=True)
    ]


def comparison(rate: float, samples: int, seed: int) -> tuple[int, int]:
    """Runs of the same answers: decided by us, and by the old ratio?"""
    rng = random.Random(f"compare/{rate}/{samples}/{seed}")
    tables = rng.choices(population(), k=samples)
    a = [spoilt(Missing("nothing"), table, rng) for table in tables]
    b = [spoilt(Missing("B", rate=rate), table, rng) for table in tables]
    runs = ([Result(str(i), each) for i, each in enumerate(run)] for run in (a, b))
    found = compare(*runs, resamples=PAIRED.resamples)
    ours = old = 0
    for mode in MODES:
        mode_found = found.mode(mode)
        assert mode_found is not None
        ours |= mode_found.decision != "undecided"
        both = zip(old_values(a, mode), old_values(b, mode), strict=True)
        units: Counter[Unit] = Counter(
            (round(y - x, 12), 1.0) for x, y in both if x is not None and y is not None
        )
        interval = sign_flip_interval(units, PAIRED)
        old |= interval is not None and not interval.low <= 0 <= interval.high
    return ours, old


def comparisons(rate: float, samples: int, datasets: int) -> tuple[int, int]:
    """How many of so many comparisons were decided."""
    found = [comparison(rate, samples, seed) for seed in range(datasets)]
    return sum(ours for ours, _ in found), sum(old for _, old in found)


HEADS = {
    "truth": 7,
    "old bias": 10,
    "covers": 8,
    "range": 15,
    "interval": 15,
    "holds": 7,
    "covers ": 9,
    "claims": 9,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=100, help="a row; 100 by default")
    parser.add_argument("--comparisons", type=int, default=200, help="a row; 200 by default")
    parser.add_argument("--samples", type=int, default=100, help="a data set; 100 by default")
    parser.add_argument("--processes", type=int, default=None)
    options = parser.parse_args()
    began, bad = time.monotonic(), 0
    samples, rates = options.samples, (0.01, 0.05, 0.2)
    with ProcessPoolExecutor(options.processes) as pool:
        rows = pool.map(partial(row, samples=samples, datasets=options.datasets), ROWS)
        compared = pool.map(
            partial(comparisons, samples=samples, datasets=options.comparisons), rates
        )
        print(f"{options.datasets} data sets of {samples} samples a row; 95% intervals, in %")
        print(f"{'':36}" + "".join(f"{head:>{width}}" for head, width in HEADS.items()))
        for missing, found in zip(ROWS, rows, strict=True):
            for mode, figure in zip(MODES, found, strict=True):
                wrong = [
                    name
                    for name, share in (("mean", figure.covers), ("claims", figure.claims_cover))
                    if 100 * share < WANTED
                ] + ["range"] * (figure.holds < 1)
                bad += len(wrong)
                cells = (
                    f"{truth(mode)[0]:.3f}",
                    f"{figure.old / truth(mode)[0] - 1:+.0%}",
                    f"{100 * figure.old_covers:.1f}",
                    f"{figure.low:.3f}-{figure.high:.3f}",
                    f"{figure.interval_low:.3f}-{figure.interval_high:.3f}",
                    f"{100 * figure.holds:.0f}",
                    f"{100 * figure.covers:.1f}",
                    f"{100 * figure.claims_cover:.1f}",
                )
                shown = "".join(f"{c:>{w}}" for c, w in zip(cells, HEADS.values(), strict=True))
                name = missing.name if mode == MODES[0] else ""
                notes = "  <- " + ", ".join(wrong) if wrong else ""
                print(f"{name:25}{mode:11}{shown}{notes}", flush=True)
        print(f"\nThe same answers, some of B's cells missing: of {options.comparisons}, decided")
        for rate, (ours, old) in zip(rates, compared, strict=True):
            bad += bool(ours)
            note = "  <- not none" if ours else ""
            print(f"{rate:>5.0%} missing: {ours:>4}   (by the old ratio: {old}){note}", flush=True)
    print(f"\n{time.monotonic() - began:.0f} s; {bad} figures out of their range")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
