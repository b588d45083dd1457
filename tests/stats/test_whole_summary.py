"""Every figure of a summary, from the list of its samples: numpy and one line a figure."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from noisesense import Result, Usage, Verdicts, score, summarize
from noisesense.scoring.definitions import MODES
from noisesense.stats.interval import (
    Interval,
    Resampling,
    bootstrap_interval,
    covering,
    few_units_interval,
    ratio,
)
from noisesense.stats.summarize import ModeSummary
from support.tables import Shape, random_pair

SHAPE = Shape(
    response_claims=(0, 5), reference_claims=(0, 3), chunks=(1, 4), undetermined=0.08, labeled=0.3
)


def run_of(seed: int, size: int, *, empty: Any, undetermined: Any, named: str) -> list[Result]:
    """Samples in clusters, some without one, some failed, each with its cost."""
    rng = random.Random(seed)
    results = []
    for i in range(size):
        usage = Usage(calls=rng.randint(0, 5), input_tokens=i, output_tokens=1, cost=0.25)
        cluster = f"c{rng.randrange(7)}" if named == "all" or (named == "some" and i % 2) else None
        if i % 9 == 8:
            results.append(Result(f"{i}", error="no", usage=usage, cluster=cluster))
            continue
        shape = SHAPE if rng.random() < 0.7 else Shape(**{**vars(SHAPE), "undetermined": 0.0})
        _, verdicts = random_pair(1000 * seed + i, shape)
        scored = score(verdicts, empty=empty, undetermined=undetermined)
        results.append(Result(f"{i}", scored, usage=usage, cluster=cluster))
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
        size = sum(weight * times for (_, weight), times in units.items())
        few = size and size**2 / sum(w * w * times for (_, w), times in units.items()) < 50
        shares = sorted(round(part / w, 9) for part, w in units.elements())
        few = few or len(shares) - max(map(shares.count, shares), default=0) < 25
        if not size or units.total() < 2:
            ends.append(None)
        elif few or (found := bootstrap_interval(units, ratio, how)) is None:
            ends.append(few_units_interval(units, how, (0.0, 1.0)))
        else:
            ends.append(found)
    return covering(ends[0], ends[1]) if is_open else ends[0]


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
    ranges = list(zip(lows, highs, strict=True))
    opened = sum(low != high for low, high in ranges)
    assert (found.determined, found.undetermined) == (len(scored) - opened, opened)
    assert found.undefined == sum(each.score is not None for each in results) - len(scored)
    assert found.ranges == tuple(sorted(Counter(ranges).items()))
    known = Counter(low for low, high in ranges if low == high)
    assert found.distribution == tuple(sorted(known.items()))
    sums = [sum(each[i] for each in counts) for i in range(3)]  # type: ignore[index]
    assert list(found.claims) == sums
    assert found.claims.undetermined == sums[2] - sums[1]
    if not scored:
        assert found.mean is found.interval is found.median is found.maximum is None
        assert found.micro is found.micro_interval is None
        return
    assert found.mean == pytest.approx((np.mean(lows), np.mean(highs)))
    for p, figure in ((0.5, found.median), (1.0, found.maximum)):
        ends = np.quantile(lows, p), np.quantile(highs, p)
        assert figure == pytest.approx(ends, abs=1e-12)
    names = [each.cluster if clustered else None for each in scored]
    rows = [(low, high, 1.0) for low, high in ranges]
    expected_interval = interval_of(rows, names, is_open=opened > 0, how=how)
    assert_interval(found.interval, expected_interval)
    noisy = sums[0]
    most = sum(each.highest for each in counts)
    total = sums[2]  # type: ignore[union-attr]
    assert found.micro == ((noisy / total, most / total) if total else None)
    rows = [(float(c.noisy), float(c.highest), float(c.total)) for c in counts]  # type: ignore[union-attr]
    assert_interval(found.micro_interval, interval_of(rows, names, is_open=noisy < most, how=how))


def assert_interval(found: Interval | None, expected: Interval | None) -> None:
    if expected is None or found is None:
        assert found is expected
    else:
        assert found[:2] == pytest.approx(expected[:2], abs=1e-9)
        assert found[2:] == expected[2:]


@pytest.mark.parametrize(
    ("seed", "empty", "choice", "named"),
    [
        (0, "undefined", "none", "no"),
        (1, "undefined", "high", "some"),
        (2, "undefined", "low", "all"),
        (3, "zero", "none", "all"),
    ],
)
def test_every_figure(seed: int, empty: str, choice: str, named: str) -> None:
    how = Resampling(0.9)
    for size in (1, 2, 12, 70):
        results = run_of(seed, size, empty=empty, undetermined=choice, named=named)
        found = summarize(results, confidence=0.9)
        scored = [each.score for each in results if each.score is not None]
        assert (found.samples, found.scored) == (size, len(scored))
        assert found.failed == size - len(scored)
        assert found.nothing_claimed == sum(not each.claims for each in scored)
        usage = (sum(getattr(each.usage, name) for each in results) for name in FIELDS)
        assert tuple(getattr(found.usage, name) for name in FIELDS) == tuple(usage)
        totals = zip(*(each.partition for each in scored), strict=True)
        assert tuple(found.partition) == tuple(map(sum, totals))
        assert (found.definition, found.confidence) == ("ragas", 0.9)
        clusters = {each.cluster for each in results if each.score is not None}
        clustered = None not in clusters
        partly = any(each.startswith("Only some samples name") for each in found.warnings)
        assert partly is (not clustered and len(clusters) > 1)
        for mode in MODES:
            check_mode(found.mode(mode), results, how, clustered)


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
    assert summarize([score(Verdicts(response_claims=()))]).unanswered_share is None
    # A claim that the third chunk entails: three chunks, of whose relevance nobody knows.
    claim = {"text": "a", "correct": False, "entailed_by": [2]}
    found = summarize([score(Verdicts.model_validate({"response_claims": [claim]}))])
    assert (found.needed_cells, found.open_cells) == (1 + 3 + 3, 3)
