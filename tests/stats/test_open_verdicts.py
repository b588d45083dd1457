"""What open verdicts leave open over many samples, against every way they may fall."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense import (
    Matrices,
    Result,
    Score,
    Summary,
    Undetermined,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense.scoring.definitions import MODES, Mode
from noisesense.stats.interval import Resampling, effective_units
from noisesense.stats.paired import decides_nothing, difference_interval
from noisesense.stats.summarize import ModeSummary
from noisesense_adapters.ragchecker import ragchecker_aggregates
from support.plain_definitions import by_words, category_by_words, completions
from support.tables import Shape, matrices, random_matrices

MOST = 5
"""Open verdicts a table; ten samples would have 2⁵⁰ completions, but few distinct values."""


@st.composite
def partly_open(draw: st.DrawFn, *, responses: tuple[int, int] = (1, 3)) -> Matrices:
    """A small table with up to five verdicts taken out."""
    table: Any = draw(
        matrices(
            response_claims=responses, reference_claims=(1, 2), chunks=(1, 3), undetermined=False
        )
    )
    cells = [("reference_to_response", i) for i in range(len(table["reference_to_response"]))]
    cells += [
        (name, i, j)  # type: ignore[misc]
        for name in ("chunks_to_response", "chunks_to_reference")
        for i, row in enumerate(table[name])
        for j in range(len(row))
    ]
    if cells:
        for name, *where in draw(st.lists(st.sampled_from(cells), unique=True, max_size=MOST)):
            target = table[name] if len(where) == 1 else table[name][where[0]]
            target[where[-1]] = None
    return table


Tables = st.lists(partly_open(), min_size=1, max_size=4)


def scored(table: Matrices, undetermined: Undetermined = "none") -> Score:
    return score(Verdicts.from_matrices(**table), undetermined=undetermined)


def every_value(table: Matrices, mode: Mode) -> set[Fraction]:
    """What the mode's value can be, by the definition's words."""
    found = {by_words(completion, "ragas", mode) for completion in completions(table)}
    return {value for value in found if value is not None}


def every_run(tables: Sequence[Matrices], mode: Mode) -> list[tuple[Fraction, ...]]:
    """The samples' values, in every way all verdicts may fall."""
    return list(product(*(sorted(every_value(table, mode)) for table in tables)))


def mode_of(summary: Summary, mode: Mode) -> ModeSummary:
    return summary.mode(mode)


@given(Tables)
def test_ranges_are_those_of_every_completion(tables: list[Matrices]) -> None:
    summary = summarize(map(scored, tables))
    for mode in MODES:
        ours = mode_of(summary, mode)
        runs = every_run(tables, mode)
        means = [float(sum(run) / len(run)) for run in runs]
        claims = [len(table["reference_to_response"]) for table in tables]
        noisy = [
            float(sum(value * n for value, n in zip(run, claims, strict=True)) / sum(claims))
            for run in runs
        ]
        assert ours.mean == pytest.approx((min(means), max(means)), abs=1e-14)
        assert ours.micro == pytest.approx((min(noisy), max(noisy)), abs=1e-14)
        open_samples = sum(len(every_value(table, mode)) > 1 for table in tables)
        assert (ours.determined, ours.undetermined) == (len(tables) - open_samples, open_samples)
        assert (ours.mean.value is None) == (ours.micro.value is None) == (open_samples > 0)
        for figure, of in ((ours.maximum, max), (ours.median, statistics.median)):
            points = [float(of(run)) for run in runs]
            assert figure == pytest.approx((min(points), max(points)), abs=1e-14)
        if ours.interval and ours.mean:
            assert ours.interval.low <= ours.mean[0] + 1e-12
            assert ours.mean[1] - 1e-12 <= ours.interval.high


def test_a_mean_over_the_easy_samples_is_no_headline() -> None:
    # 70 samples without noise and 30 of which no chunk verdict came, so that the mean over the
    # determined ones is 0. The range is 0 to 0.3, and the interval reaches further.
    clean = score(Verdicts.from_matrices([True], [[True]], [[True]]))
    lost = score(Verdicts.from_matrices([False], [[None]], [[None]]))
    summary = summarize([clean] * 70 + [lost] * 30)
    ours = mode_of(summary, "relevant")
    assert (ours.median, ours.maximum) == ((0.0, 0.0), (0.0, 1.0))
    assert ours.mean == ours.micro == (0.0, 0.3)
    assert (ours.determined, ours.undetermined) == (70, 30)
    assert ours.distribution == ((0.0, 70),)
    assert ours.interval.method == "dirichlet"
    assert ours.interval.low == 0.0
    assert 0.38 < ours.interval.high < 0.42
    # Each lost sample: its claim's correctness (known), the chunk on the claim, the chunk on the
    # reference claim. Each clean one: its claim's correctness.
    assert (summary.needed_cells, summary.open_cells) == (70 + 90, 60)
    assert summary.unanswered_share == 60 / 160
    assert summary.warnings == (
        "60 of the 160 verdicts that the scores need (37.5%) have no answer: where they decide a "
        "score, it is a range.",
    )


def runs_of(
    a: Sequence[Matrices], b: Sequence[Matrices], undetermined: Undetermined = "none"
) -> tuple[list[Result], list[Result]]:
    first, second = (
        [Result(str(i), scored(table, undetermined)) for i, table in enumerate(run)]
        for run in (a, b)
    )
    return first, second


@given(st.lists(st.tuples(partly_open(), partly_open()), min_size=1, max_size=3))
def test_a_comparison_agrees_with_every_completion(
    tables: list[tuple[Matrices, Matrices]],
) -> None:
    a = [first for first, _ in tables]
    b = [second for _, second in tables]
    found = compare(*runs_of(a, b))
    changed = {change.id: change for change in found.changes}
    for mode in MODES:
        ours = found.mode(mode)
        before = every_run(a, mode)
        after = every_run(b, mode)
        means = [sorted(float(sum(run) / len(run)) for run in runs) for runs in (before, after)]
        assert ours.mean_a == pytest.approx((means[0][0], means[0][-1]), abs=1e-14)
        assert ours.mean_b == pytest.approx((means[1][0], means[1][-1]), abs=1e-14)
        least = means[1][0] - means[0][-1]
        most = means[1][-1] - means[0][0]
        assert ours.difference == pytest.approx((least, most), abs=1e-14)
        assert (ours.difference.value is None) == (ours.undetermined > 0)
        assert (ours.interval is None) == (len(tables) < 2)
        if ours.interval:
            assert ours.interval.low <= least + 1e-12
            assert most - 1e-12 <= ours.interval.high
        for i, (first, second) in enumerate(tables):
            others = every_value(first, mode).isdisjoint(every_value(second, mode))
            values = [every_value(each, mode) for each in (first, second)]
            apart = max(values[0]) < min(values[1]) or max(values[1]) < min(values[0])
            change = changed.get(str(i))
            # Ranges that lie apart; the values between two ends need not all be possible.
            assert (change is not None and change.changed(mode)) == apart
            assert others or not apart


def answer_of(rng: random.Random, open_claims: int) -> tuple[int, int, int]:
    """Noisy, open and all claims of a response."""
    claims = rng.randint(max(open_claims, 1), 4)
    noisy = sum(rng.random() < 0.4 for _ in range(claims - open_claims))
    return noisy, open_claims, claims


def result_with(name: int, answer: tuple[int, int, int], cluster: int | None) -> Result:
    noisy, open_claims, claims = answer
    correct = [False] * noisy + [None] * open_claims + [True] * (claims - noisy - open_claims)
    verdicts = Verdicts.from_matrices(correct, [[True]] * claims, relevant=[True])
    return Result(str(name), score(verdicts), cluster=None if cluster is None else str(cluster))


def is_worse(
    answers: Sequence[tuple[int, int, int]], clusters: Sequence[int | None], margin: float
) -> bool:
    """Of answers without open claims."""
    half = len(answers) // 2
    values = [noisy / claims for noisy, _, claims in answers]
    sums: dict[object, list[float]] = {}
    for i in range(half):
        unit = i if clusters[i] is None else f"cluster {clusters[i]}"
        sums.setdefault(unit, []).append(values[half + i] - values[i])
    units = Counter((round(sum(each), 12), float(len(each))) for each in sums.values())
    found = difference_interval(units, Resampling(resamples=20))
    return not decides_nothing(effective_units(units), 0.025) and found.low > margin


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(range(60), id="some"),
        pytest.param(range(60, 2060), id="2,000", marks=pytest.mark.broad),
    ],
)
def test_a_check_says_what_every_completion_says(tables: range) -> None:
    """Of 6 to 10 pairs, alone or in clusters, up to 5 claims are open, in A, in B or in both.

    Worse for certain, not worse for certain, or open: each where all completions, or some of them
    and not others, are worse.
    """
    told = {True: 0, False: 0, None: 0}
    for seed in tables:
        rng = random.Random(f"open {seed}")
        pairs = rng.randint(6, 10)
        gaps = [0] * 2 * pairs
        for place in rng.sample(range(2 * pairs), rng.randint(1, 5)):
            gaps[place] = 1
        answers = [answer_of(rng, gap) for gap in gaps]
        shift = rng.choice((0, 0, 1))
        for i in range(pairs, 2 * pairs):
            noisy, gap, claims = answers[i]
            answers[i] = (min(noisy + shift, claims - gap), gap, claims)
        clusters = rng.choice(([None] * pairs, [i // 2 if i < 4 else i for i in range(pairs)]))
        margin = rng.choice((0.0, 0.05))

        rows = [
            result_with(i % pairs, answer, clusters[i % pairs]) for i, answer in enumerate(answers)
        ]
        found = compare(rows[:pairs], rows[pairs:], margin=margin).relevant
        ours = None if found.left_open else found.decision == "worse"
        every: set[bool | None] = set()
        ways = [((noisy, 0, n), (noisy + gap, 0, n))[: 1 + gap] for noisy, gap, n in answers]
        for completion in product(*ways):
            every.add(is_worse(completion, clusters, margin))
        assert ours == (every.pop() if len(every) == 1 else None), seed
        told[ours] += 1
    assert min(told.values()) > len(tables) / 20


@pytest.mark.parametrize(("rate", "choice"), [(0.01, "none"), (0.05, "low"), (0.2, "high")])
def test_missing_verdicts_alone_are_no_difference(rate: float, choice: Undetermined) -> None:
    """The same answers, with some of B's cells missing: neither better nor worse, ever."""
    decided = open_pairs = 0
    for seed in range(10):
        rng = random.Random(f"{rate}/{seed}")
        shape = Shape(response_claims=(1, 6), reference_claims=(1, 4), chunks=(1, 5))
        tables: list[Any] = [random_matrices(rng, shape) for _ in range(60)]

        def lost(cells: Any, rng: random.Random = rng) -> Any:
            if isinstance(cells, list):
                return [lost(cell) for cell in cells]
            return None if rng.random() < rate else cells

        names = ("reference_to_response", "chunks_to_response", "chunks_to_reference")
        gaps = [{**table, **{name: lost(table[name]) for name in names}} for table in tables]
        a, b = runs_of(tables, gaps, choice)
        for first, second in ((a, b), (b, a)):
            found = compare(first, second)
            for mode in MODES:
                ours = found.mode(mode)
                assert ours.difference[0] <= 0 <= ours.difference[1]
                assert ours.interval is not None
                decided += ours.decision != "undecided"
                open_pairs += ours.undetermined
            assert not any(change.changed(mode) for change in found.changes for mode in MODES)
    assert decided == 0
    assert open_pairs > 10


@given(Tables)
def test_ragcheckers_aggregates_are_open_where_a_completion_could_change_them(
    tables: list[Matrices],
) -> None:
    found = ragchecker_aggregates(map(scored, tables))
    kinds = {"precision": "correct", "hallucination": "hallucination"}
    for name, kind in kinds.items():
        shares = [{_share(each, kind) for each in completions(table)} for table in tables]
        _same(found[name], shares)
    for mode in MODES:
        values = [every_value(table, mode) for table in tables]
        _same(found[f"noise_sensitivity_in_{mode}"], values)


def _share(table: Matrices, kind: str) -> Fraction:
    count = len(table["reference_to_response"])
    return Fraction(sum(category_by_words(table, i) == kind for i in range(count)), count)


def _same(aggregate: float | None, values: list[set[Fraction]]) -> None:
    if any(len(each) > 1 for each in values):
        assert aggregate is None
        return
    mean = sum(value for each in values for value in each) / len(values)
    assert aggregate == pytest.approx(float(mean * 100), abs=0.051)
