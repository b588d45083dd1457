"""Every figure of a summary, from the list of its samples: numpy and one line a figure."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from noisesense import Result, Tally, Usage, Verdicts, score, summarize
from noisesense.scoring.definitions import MODES
from noisesense.stats.interval import Interval, Resampling, bootstrap_interval, covering, ratio
from noisesense.stats.summary import ModeSummary
from support.tables import Shape, random_pair

SHAPE = Shape(
    response_claims=(0, 5), reference_claims=(0, 3), chunks=(1, 4), undetermined=0.08, labelled=0.3
)


def run_of(seed: int, size: int, *, empty: Any, undetermined: Any, named: str) -> list[Result]:
    """Samples in clusters, some without one, some failed, each with its cost."""
    rng, results = random.Random(seed), []
    for i in range(size):
        usage = Usage(calls=rng.randint(0, 5), input_tokens=i, output_tokens=1, cost=0.25)
        cluster = f"c{rng.randrange(7)}" if named == "all" or (named == "some" and i % 2) else None
        if i % 9 == 8:
            results.append(Result(f"{i}", error="no", usage=usage, unanswered=1, cluster=cluster))
            continue
        shape = SHAPE if rng.random() < 0.7 else Shape(**{**vars(SHAPE), "undetermined": 0.0})
        _, verdicts = random_pair(1000 * seed + i, shape)
        scored = score(verdicts, empty=empty, undetermined=undetermined)
        results.append(
            Result(f"{i}", scored, usage=usage, unanswered=rng.randint(0, 2), cluster=cluster)
        )
    return results


def interval_of(
    rows: list[tuple[float, float, float]], clusters: list[str | None], *, is_open: bool, how: Any
) -> Interval | None:
    """Of ``Σ lowest / Σ weight`` and ``Σ highest / Σ weight``, over clusters if there are any."""
    names = clusters if None not in clusters else list(map(str, range(len(rows))))
    ends = []
    for end in (0, 1):
        units: Counter[tuple[float, ...]] = Counter()
        for name in dict.fromkeys(names):
            own = [row for row, its in zip(rows, names, strict=True) if its == name]
            weight = sum(row[2] for row in own)
            if weight:
                units[round(sum(row[end] for row in own), 12), float(weight)] += 1
        ends.append(bootstrap_interval(units, ratio, how))
    return covering(ends[0], ends[1], "bca-range") if is_open else ends[0]


def check_mode(
    found: ModeSummary, results: list[Result], how: Resampling, clustered: bool
) -> None:
    mode = found.mode
    scored = [each for each in results if each.score is not None and each.score.bounds(mode)]
    lows, highs = (
        [each.score.bounds(mode)[end] for each in scored]  # type: ignore[union-attr, index]
        for end in (0, 1)
    )
    counts = [each.score.counts(mode) for each in scored]  # type: ignore[union-attr]
    values = [each.score.value(mode) for each in scored]  # type: ignore[union-attr]
    known = [value for value in values if value is not None]
    opened = sum(low != high for low, high in zip(lows, highs, strict=True))
    assert (found.determined, found.undetermined) == (len(scored) - opened, opened)
    assert found.undefined == sum(each.score is not None for each in results) - len(scored)
    assert found.distribution == tuple(sorted(Counter(known).items()))
    sums = [sum(each[i] for each in counts) for i in range(3)]  # type: ignore[index]
    assert list(found.claims) == sums
    assert found.undetermined_claims == sums[2] - sums[1]
    if not scored:
        assert found.bounds is found.mean is found.interval is found.median is found.stdev is None
        assert found.quantiles == found.quantile_bounds == {}
        assert found.micro is found.micro_bounds is found.micro_interval is None
        return
    assert found.bounds == pytest.approx((np.mean(lows), np.mean(highs)))
    single = values if None not in values else None
    assert found.mean == (pytest.approx(np.mean(single)) if single else None)
    spread = np.std(single, ddof=1) if single and len(single) > 1 else None
    assert found.stdev == (None if spread is None else pytest.approx(spread))
    for p in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0):
        low, high = np.quantile(lows, p), np.quantile(highs, p)
        point = np.quantile(single, p) if single else low if low == high else None
        expected = None if point is None else pytest.approx(point, abs=1e-12)
        if p in found.quantiles:
            assert found.quantiles[p] == expected
            assert found.quantile_bounds[p] == pytest.approx((low, high), abs=1e-12)
        named = {0.0: found.minimum, 0.5: found.median, 1.0: found.maximum}
        if p in named:
            assert named[p] == expected
    names = [each.cluster if clustered else None for each in scored]
    rows = [(low, high, 1.0) for low, high in zip(lows, highs, strict=True)]
    expected_interval = interval_of(rows, names, is_open=opened > 0, how=how)
    assert_interval(found.interval, expected_interval)
    noisy, most, total = sums[0], sum(each.highest for each in counts), sums[2]  # type: ignore[union-attr]
    assert found.micro_bounds == ((noisy / total, most / total) if total else None)
    choice = {"none": noisy if noisy == most else None, "low": noisy, "high": most}
    chosen = choice[scored[0].score.undetermined]  # type: ignore[union-attr]
    assert found.micro == (chosen / total if total and chosen is not None else None)
    rows = [(float(c.noisy), float(c.highest), float(c.total)) for c in counts]  # type: ignore[union-attr]
    assert_interval(found.micro_interval, interval_of(rows, names, is_open=noisy < most, how=how))
    share, gap, deviation = found.signs
    half = (np.mean(np.array(end) >= 0.5) for end in (lows, highs))
    assert share.bounds == pytest.approx(tuple(half))
    assert share.figure == (pytest.approx(np.mean(np.array(single) >= 0.5)) if single else (
        share.bounds[0] if share.bounds and share.bounds[0] == share.bounds[1] else None
    ))  # fmt: skip
    if single and found.mean is not None and found.median is not None:
        assert gap.figure == pytest.approx(abs(found.mean - found.median), abs=1e-12)
    middles = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
    if len(middles) > 1:
        reach = np.sqrt(sum((h - m) ** 2 for h, m in zip(highs, middles, strict=True)) /
                        (len(middles) - 1))  # fmt: skip
        around = np.std(middles, ddof=1)
        expected_ends = max(around - reach, 0.0), around + reach
        assert deviation.bounds == pytest.approx(expected_ends, abs=1e-9)
    else:
        assert deviation.bounds is None


def assert_interval(found: Interval | None, expected: Interval | None) -> None:
    if expected is None or found is None:
        assert found is expected
    else:
        assert found[:2] == pytest.approx(expected[:2], abs=1e-9)
        assert found[2:] == expected[2:]


CASES = [
    (seed, empty, choice, named)
    for seed, (empty, choice, named) in enumerate(
        product(["undefined", "zero"], ["none", "low", "high"], ["no", "some", "all"])
    )
]


@pytest.mark.parametrize(("seed", "empty", "choice", "named"), CASES)
def test_every_figure(seed: int, empty: str, choice: str, named: str) -> None:
    how = Resampling(0.9, 100, seed)
    for size in (1, 2, 12, 70):
        results = run_of(seed, size, empty=empty, undetermined=choice, named=named)
        found = summarize(results, confidence=0.9, resamples=100, seed=seed)
        parts = [Tally(), Tally()]
        for i, each in enumerate(results):
            parts[i % 2].add(each)
        merged = (parts[0] + parts[1]).summary(confidence=0.9, resamples=100, seed=seed)
        assert merged == found
        scored = [each.score for each in results if each.score is not None]
        assert (found.samples, found.scored) == (size, len(scored))
        assert found.failed == size - len(scored)
        assert found.empty == sum(not each.claims for each in scored)
        assert found.unanswered == sum(each.unanswered for each in results)
        usage = (sum(getattr(each.usage, name) for each in results) for name in FIELDS)
        assert tuple(getattr(found.usage, name) for name in FIELDS) == tuple(usage)
        totals = zip(*(each.partition for each in scored), strict=True)
        assert tuple(found.partition) == tuple(map(sum, totals))
        assert (found.definition, found.undetermined) == ("ragas", choice)
        assert found.confidence == 0.9
        clusters = {each.cluster for each in results if each.score is not None}
        clustered = None not in clusters
        for mode in MODES:
            summary = found.mode(mode)
            assert summary is not None
            check_mode(summary, results, how, clustered)
        if not clustered:
            assert found.clusters is None
        partly = "Only some samples name a cluster"
        told = any(each.startswith(partly) for each in found.warnings)
        assert told is (not clustered and len(clusters) > 1)
        alone = summarize(results, confidence=0.9, resamples=100, seed=seed, cluster=False)
        assert alone.clusters is None
        for mode in MODES:
            summary = alone.mode(mode)
            assert summary is not None
            check_mode(summary, results, how, False)


FIELDS = ("calls", "input_tokens", "output_tokens", "cost")


def test_the_cells_that_scores_need_by_the_rule() -> None:
    """Each claim's correctness; each chunk under each claim that may be wrong; and the relevance
    of each chunk without a label: of each reference claim, or as such where there is none."""
    for seed in range(300):
        _, verdicts = random_pair(seed, SHAPE)
        scored = score(verdicts)
        found = summarize([scored])
        table = verdicts.to_matrices()
        suspects = [i for i, c in enumerate(table["reference_to_response"]) if c is not True]
        cells: list[bool | None] = list(table["reference_to_response"])
        free = [j for j, label in enumerate(table["relevant"] or []) if label is None]
        if suspects:
            cells += [cell for i in suspects for cell in table["chunks_to_response"][i]]
            rows = table["chunks_to_reference"] or [[None] * len(table["relevant"] or [])]
            cells += [row[j] for row in rows for j in free]
        assert (found.needed_cells, found.open_cells) == (len(cells), cells.count(None))
        share = cells.count(None) / len(cells) if cells else None
        assert found.unanswered_share == share
        missing = 0
        relevant = scored.chunk_relevance
        open_claims = [c.index for c in scored.claims if c.category == "undetermined"]
        matters = set()
        for i in open_claims:
            row = table["chunks_to_response"][i]
            missing += row.count(None) + (table["reference_to_response"][i] is None)
            matters |= {j for j, cell in enumerate(row) if cell is not False}
        for row in table["chunks_to_reference"] or []:
            missing += sum(row[j] is None and relevant[j] is None for j in matters)
        assert found.undetermined_cells == missing
    assert summarize([score(Verdicts(response_claims=()))]).unanswered_share is None
