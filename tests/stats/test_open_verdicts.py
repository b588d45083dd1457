"""What open verdicts leave open over many samples, against every way they may fall."""

from __future__ import annotations

import copy
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
    Undetermined,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import Range
from noisesense.stats.interval import Interval, Resampling, Unit, effective_units
from noisesense.stats.paired import MIN_PAIRS, difference_interval
from support.plain_definitions import by_words, completions
from support.tables import Shape, matrices, random_matrices

MOST = 5
"""Open verdicts a table; ten samples would have 2⁵⁰ completions, but few distinct values."""


Cell = tuple[str, int, int | None]
"""A table's name, the row and the column."""


def cells_of(table: Any) -> list[Cell]:
    found: list[Cell] = [
        ("reference_to_response", i, None) for i in range(len(table["reference_to_response"]))
    ]
    for name in ("chunks_to_response", "chunks_to_reference"):
        for i, row in enumerate(table[name]):
            found += [(name, i, j) for j in range(len(row))]
    return found


@st.composite
def partly_open(draw: st.DrawFn, *, responses: tuple[int, int] = (1, 3)) -> Matrices:
    """A small table with up to five verdicts taken out."""
    table: Any = draw(
        matrices(
            response_claims=responses, reference_claims=(1, 2), chunks=(1, 3), undetermined=False
        )
    )
    chosen = st.lists(st.sampled_from(cells_of(table)), unique=True, max_size=MOST)
    for name, row, column in draw(chosen):
        if column is None:
            table[name][row] = None
        else:
            table[name][row][column] = None
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


@given(Tables, st.sampled_from(MODES))
def test_ranges_are_those_of_every_completion(tables: list[Matrices], mode: Mode) -> None:
    ours = summarize(map(scored, tables)).mode(mode)
    runs = every_run(tables, mode)
    assert ours.mean == span(sum(run) / len(run) for run in runs)
    assert ours.micro == span(share_of_claims(run, tables) for run in runs)
    assert ours.maximum == span(map(max, runs))
    assert ours.median == span(map(statistics.median, runs))
    open_samples = sum(len(every_value(table, mode)) > 1 for table in tables)
    assert ours.determined == len(tables) - open_samples
    assert ours.undetermined == open_samples
    assert (ours.mean.value is None) == (open_samples > 0)
    check_that_it_holds(ours.interval, ours.mean)


def check_that_it_holds(interval: Interval | None, figure: Range) -> None:
    """Nobody has an interval of one sample."""
    if interval is not None:
        assert interval.low <= figure.low + 1e-12
        assert figure.high - 1e-12 <= interval.high


def span(values: Iterable[Fraction]) -> Any:
    """From the lowest to the highest."""
    numbers = [float(value) for value in values]
    return pytest.approx((min(numbers), max(numbers)), abs=1e-14)


def share_of_claims(run: Sequence[Fraction], tables: Sequence[Matrices]) -> Fraction:
    claims = [len(table["reference_to_response"]) for table in tables]
    noisy = sum(value * count for value, count in zip(run, claims, strict=True))
    return Fraction(noisy, sum(claims))


def test_a_mean_over_the_easy_samples_is_no_headline() -> None:
    """70 samples without noise and 30 of which no chunk verdict came, so that the mean over the
    determined ones is 0. The range is 0 to 0.3, and the interval reaches further."""
    clean = score(Verdicts.from_matrices([True], [[True]], [[True]]))
    lost = score(Verdicts.from_matrices([False], [[None]], [[None]]))
    summary = summarize([clean] * 70 + [lost] * 30)
    ours = summary.relevant
    assert ours.median == (0.0, 0.0)
    assert ours.maximum == (0.0, 1.0)
    assert ours.mean == ours.micro == (0.0, 0.3)
    assert ours.determined == 70
    assert ours.undetermined == 30
    assert ours.interval.low == 0.0
    assert 0.38 < ours.interval.high < 0.42
    # Each lost sample: its claim's correctness (known), the chunk on the claim, the chunk on the
    # reference claim. Each clean one: its claim's correctness.
    assert summary.needed_cells == 70 + 90
    assert summary.open_cells == 60
    assert "60 of the 160 verdicts that the scores need (37.5%)" in summary.warnings[0]


def run_of(tables: Sequence[Matrices], undetermined: Undetermined = "none") -> list[Result]:
    return [Result(str(i), scored(table, undetermined)) for i, table in enumerate(tables)]


@given(
    st.lists(st.tuples(partly_open(), partly_open()), min_size=1, max_size=3),
    st.sampled_from(MODES),
)
def test_a_comparison_agrees_with_every_completion(
    tables: list[tuple[Matrices, Matrices]], mode: Mode
) -> None:
    a = [first for first, _ in tables]
    b = [second for _, second in tables]
    ours = compare(run_of(a), run_of(b)).mode(mode)
    before = means_of(a, mode)
    after = means_of(b, mode)
    assert ours.mean_a == span(before)
    assert ours.mean_b == span(after)
    assert ours.difference == span((min(after) - max(before), max(after) - min(before)))
    assert (ours.difference.value is None) == (ours.undetermined > 0)
    assert (ours.interval is None) == (len(tables) < 2)
    check_that_it_holds(ours.interval, ours.difference)


def means_of(tables: Sequence[Matrices], mode: Mode) -> list[Fraction]:
    return [Fraction(sum(run), len(run)) for run in every_run(tables, mode)]


@given(partly_open(), partly_open())
def test_a_sample_changed_where_its_ranges_lie_apart(first: Matrices, second: Matrices) -> None:
    """The values between two ends need not all be possible."""
    found = compare(run_of([first]), run_of([second]))
    for mode in MODES:
        before = every_value(first, mode)
        after = every_value(second, mode)
        apart = max(before) < min(after) or max(after) < min(before)
        assert any(change.apart(mode) > 0 for change in found.changes) == apart


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
    units = Counter[Unit]()
    for each in sums.values():
        whole = round(sum(each), 12)
        units[Unit(whole, whole, len(each))] += 1
    found = difference_interval(units, Resampling(resamples=20))
    return effective_units(units) >= MIN_PAIRS and found.low > margin


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(range(60), id="some"),
        pytest.param(range(60, 2060), id="2,000", marks=pytest.mark.broad),
    ],
)
def test_a_check_says_what_every_completion_says(tables: range) -> None:
    """Of 6 to 10 pairs, alone or in clusters, up to 5 claims are open, in A, in B or in both.

    Worse for certain, not worse for certain, or open: the first two only where all completions are
    so. Open also where a value between two that a sample can have would decide: that is rare.
    """
    told = {True: 0, False: 0, None: 0}
    agreeing = 0
    for seed in tables:
        run = OpenRun(random.Random(f"open {seed}"))
        ours = run.compared()
        every = {is_worse(answers, run.clusters, run.margin) for answers in run.completions()}
        assert ours is None or every == {ours}, seed
        agreeing += ours is None and len(every) == 1
        told[ours] += 1
    assert agreeing <= len(tables) / 200
    assert min(told.values()) > len(tables) / 20


class OpenRun:
    """Answers of A, then of B, with their clusters and a margin."""

    def __init__(self, rng: random.Random) -> None:
        self.pairs = pairs = rng.randint(6, 10)
        gaps = [0] * 2 * pairs
        for place in rng.sample(range(2 * pairs), rng.randint(1, 5)):
            gaps[place] = 1
        self.answers = [answer_of(rng, gap) for gap in gaps]
        shift = rng.choice((0, 0, 1))
        for i in range(pairs, 2 * pairs):
            noisy, gap, claims = self.answers[i]
            self.answers[i] = (min(noisy + shift, claims - gap), gap, claims)
        two_and_two = [i // 2 if i < 4 else i for i in range(pairs)]
        self.clusters: list[int | None] = rng.choice(([None] * pairs, two_and_two))
        self.margin = rng.choice((0.0, 0.05))

    def compared(self) -> bool | None:
        """Is B worse? None if that is left open."""
        rows: list[Result] = []
        for i, answer in enumerate(self.answers):
            pair = i % self.pairs
            rows.append(result_with(pair, answer, self.clusters[pair]))
        a = rows[: self.pairs]
        b = rows[self.pairs :]
        found = compare(a, b, margin=self.margin).relevant
        return None if found.left_open else found.decision == "worse"

    def completions(self) -> Iterator[tuple[tuple[int, int, int], ...]]:
        ways: list[list[tuple[int, int, int]]] = []
        for noisy, gap, claims in self.answers:
            counts = range(noisy, noisy + gap + 1)
            ways.append([(count, 0, claims) for count in counts])
        return product(*ways)


@pytest.mark.parametrize(("rate", "choice"), [(0.01, "none"), (0.05, "low"), (0.2, "high")])
def test_missing_verdicts_alone_are_no_difference(rate: float, choice: Undetermined) -> None:
    """The same answers, with some of B's cells missing: neither better nor worse, ever."""
    shape = Shape(response_claims=(1, 6), reference_claims=(1, 4), chunks=(1, 5))
    open_pairs = 0
    for seed in range(10):
        rng = random.Random(f"{rate}/{seed}")
        tables: list[Any] = [random_matrices(rng, shape) for _ in range(60)]
        whole = run_of(tables, choice)
        partial = run_of([with_gaps(table, rate, rng) for table in tables], choice)
        for found in (compare(whole, partial), compare(partial, whole)):
            for mode in MODES:
                ours = found.mode(mode)
                assert ours.difference.low <= 0 <= ours.difference.high
                assert ours.decision == "undecided"
                open_pairs += ours.undetermined
                assert not any(change.apart(mode) > 0 for change in found.changes)
    assert open_pairs > 10


def with_gaps(table: Any, rate: float, rng: random.Random) -> Any:
    """A copy without some of the verdicts."""
    gaps = copy.deepcopy(table)
    for name, row, column in cells_of(table):
        if rng.random() >= rate:
            continue
        if column is None:
            gaps[name][row] = None
        else:
            gaps[name][row][column] = None
    return gaps
