"""Where the score moves if the judge is wrong."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from scipy import stats

from noisesense import InputError, Result, Score, Verdicts, score, sensitivity_band, summarize
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName
from noisesense.stats import judge_errors as _judge_errors
from noisesense.stats import sensitivity as _sensitivity
from noisesense.stats.cells import CellKind
from noisesense.stats.judge_errors import (
    EXACT,
    NO,
    OPEN,
    YES,
    Corrected,
    Table,
    error_variance,
    expected_score,
    groups_of,
)
from noisesense.stats.sensitivity import CELLS
from support.simulated import ragchecker_like
from support.tables import Shape, random_pairs


def test_with_many_chunks_a_false_yes_outweighs_ten_times_as_many_missed_ones() -> None:
    rng = random.Random(15)
    tables = [ragchecker_like(rng, chunks=15) for _ in range(150)]
    entailment: tuple[CellKind, ...] = ("response", "reference")
    false = sensitivity_band(tables, false_yes=0.02, cells=entailment, simulations=40)
    missed = sensitivity_band(tables, false_no=0.2, cells=entailment, simulations=40)
    assert false.relevant is not None
    assert missed.relevant is not None
    assert false.relevant.mean == pytest.approx(0.34, abs=0.03)
    assert false.relevant.shift is not None
    assert missed.relevant.shift is not None
    assert false.relevant.shift > 0.05
    assert abs(missed.relevant.shift) < 0.04
    assert false.relevant.shift > 2.5 * abs(missed.relevant.shift)
    # Outside what chance explains: the whole band lies above the value.
    assert false.relevant.low is not None
    assert false.relevant.low > 0.34 + 0.03


def test_with_one_chunk_it_does_not() -> None:
    rng = random.Random(1)
    tables = [ragchecker_like(rng, chunks=1) for _ in range(150)]
    false = sensitivity_band(tables, false_yes=0.02, simulations=40).relevant
    assert false is not None
    assert false.shift is not None
    assert abs(false.shift) < 0.03


def test_the_expected_move_by_hand() -> None:
    # One incorrect claim from nowhere, one relevant chunk (by label): each false yes makes it
    # noisy, so the mean over simulations is the rate. A certain one moves it to 1.
    table = Verdicts.from_matrices([False], [[False]], relevant=[True])
    found = sensitivity_band([table], false_yes=0.25, cells=["response"], simulations=4000)
    assert found.relevant is not None
    assert found.relevant.mean == 0.0
    assert found.relevant.moved == pytest.approx(0.25, abs=0.03)
    assert (found.relevant.low, found.relevant.high) == (0.0, 1.0)
    certain = sensitivity_band([table], false_yes=1.0, cells=["response"]).relevant
    assert certain is not None
    assert (certain.moved, certain.low, certain.high, certain.shift) == (1.0, 1.0, 1.0, 1.0)
    # A false yes on correctness too: noisy with 0.25 · 0.75.
    both = sensitivity_band([table], false_yes=0.25, simulations=4000).relevant
    assert both is not None
    assert both.moved == pytest.approx(0.1875, abs=0.03)


def test_without_errors_nothing_moves() -> None:
    tables = [verdicts for _, verdicts in random_pairs(20, shape=Shape(undetermined=0.2))]
    found = sensitivity_band(tables, simulations=3)
    for mode in MODES:
        band = found.mode(mode)
        assert band is not None
        assert band.undetermined > 0
        assert band.mean is band.moved is band.shift is None
        assert band.bounds == (band.low, band.high)
        assert band.moved_bounds == pytest.approx(band.bounds)
        plain = summarize(score(table) for table in tables).mode(mode)
        assert plain is not None
        assert band.bounds == pytest.approx(plain.bounds)
        assert (band.undetermined, band.undefined) == (plain.undetermined, plain.undefined)
    known = [verdicts for _, verdicts in random_pairs(20)]
    for each in (sensitivity_band(known, simulations=3).mode(mode) for mode in MODES):
        assert each is not None
        assert each.mean is not None
        assert each.mean == each.low == each.high == pytest.approx(each.moved)


def test_the_same_seed_gives_the_same_band() -> None:
    tables = [verdicts for _, verdicts in random_pairs(10)]
    first, again, other = (
        sensitivity_band(tables, false_yes=0.1, simulations=20, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_of_a_kind_can_be_turned_and_no_other(kind: CellKind) -> None:
    at = CELLS.index(kind)
    for _, verdicts in random_pairs(30, shape=Shape(undetermined=0.2, labelled=0.5)):
        table = Table.of(verdicts)
        for within in ("claim", "chunk", None):
            groups = groups_of(table.size, (kind,), within)
            for correlation in (0.0, 1.0):
                wrong = table.flipped(random.Random(0), (1, 1), groups, correlation)
                for i, part in enumerate(table.parts):
                    turned = bytes({NO: YES, YES: NO, OPEN: OPEN}[c] for c in table.cells[part])
                    assert wrong.cells[part] == (turned if i == at else table.cells[part])
                assert (wrong.size, wrong.labels) == (table.size, table.labels)


def test_rates_are_rates() -> None:
    rng = random.Random(8)
    table = Table.of(
        Verdicts.from_matrices([True] * 20, [[True, False] * 10] * 20, [[False] * 20])
    )
    part = table.parts[1]
    no, yes = (
        [k for k, state in enumerate(table.cells[part]) if state == wanted] for wanted in (0, 1)
    )
    for correlation in (0.0, 0.4):
        groups = groups_of(table.size, ("response",), "chunk")
        turned_no = turned_yes = 0
        for _ in range(200):
            wrong = table.flipped(rng, (0.02, 0.3), groups, correlation).cells[part]
            turned_no += sum(wrong[k] == YES for k in no)
            turned_yes += sum(wrong[k] == NO for k in yes)
        # Of 40,000 cells each: standard errors 0.0007 and 0.0023; three times that in groups.
        assert turned_no / 40_000 == pytest.approx(0.02, abs=0.003 + 0.006 * correlation)
        assert turned_yes / 40_000 == pytest.approx(0.3, abs=0.01 + 0.05 * correlation)


def test_errors_of_a_group_are_correlated_as_said() -> None:
    # Two cells in one chunk, both "no": P(both wrong) = ρ a + (1 − ρ) a² = 0.5·0.2 + 0.5·0.04.
    table = Table.of(Verdicts.from_matrices([False] * 2, [[False]] * 2, relevant=[True]))
    groups = groups_of(table.size, ("response",), "chunk")
    assert groups == ((2, 3),)
    assert groups_of(table.size, CELLS, "claim") == ((0, 2), (1, 3))
    rng, both = random.Random(2), 0
    for _ in range(20_000):
        both += table.flipped(rng, (0.2, 0.0), groups, 0.5).cells[2:] == bytes([YES, YES])
    assert both / 20_000 == pytest.approx(0.12, abs=0.008)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_without_errors_the_estimate_is_the_score(definition: DefinitionName) -> None:
    shapes = (
        Shape(),
        Shape(undetermined=0.2, labelled=0.4),
        Shape(reference_claims=(0, 1), undetermined=0.3, labelled=0.4),
    )
    for shape in shapes:
        for _, verdicts in random_pairs(20, shape=shape):
            scored = score(verdicts, definition=definition)
            table = Table.of(verdicts)
            found = expected_score(table, (EXACT,) * 3, definition)
            for at, mode in enumerate(MODES):
                bounds = scored.bounds(mode)
                if bounds is not None:
                    assert found is not None
                    assert found[at] == pytest.approx(bounds)
            if found is None:
                assert scored.bounds("relevant") is None
            else:
                assert error_variance(table, (EXACT,) * 3, definition) == pytest.approx((0, 0))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_estimate_and_its_variance_have_the_right_expectation(
    definition: DefinitionName,
) -> None:
    # Exactly: over all 2^8 replies of a judge, each with its probability. Two claims, two chunks
    # (the second labeled), one claim of the reference.
    false_yes, false_no = 0.1, 0.25
    truth = Table.of(
        Verdicts.from_matrices(
            [False, False], [[True, False], [True, True]], [[True, False]], relevant=[None, False]
        )
    )
    kinds = (Corrected.at((false_yes, false_no)),) * 3
    true = expected_score(truth, (EXACT,) * 3, definition)
    assert true is not None
    mean, square, variance = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    for reply in range(2 ** len(truth.cells)):
        cells = bytes(reply >> k & 1 for k in range(len(truth.cells)))
        odds = 1.0
        for said, real in zip(cells, truth.cells, strict=True):
            rate = false_no if real else false_yes
            odds *= rate if said != real else 1 - rate
        table = truth._replace(cells=cells)
        found = expected_score(table, kinds, definition)
        assert found is not None
        scatter = error_variance(table, kinds, definition)
        for at in (0, 1):
            mean[at] += odds * found[at][0]
            square[at] += odds * found[at][0] ** 2
            variance[at] += odds * scatter[at]
    for at in (0, 1):
        assert mean[at] == pytest.approx(true[at][0])
        assert variance[at] == pytest.approx(square[at] - mean[at] ** 2)


def counted(
    definition: DefinitionName, relevant: Sequence[bool], entails: Sequence[bool]
) -> tuple[bool, bool]:
    """Does each mode count an incorrect claim? In the definitions' words."""
    sources = [r for r, e in zip(relevant, entails, strict=True) if e]
    by_relevant, by_irrelevant = True in sources, False in sources
    return {
        "ragas": (by_relevant, by_irrelevant and not by_relevant),
        "paper": (by_relevant, by_irrelevant),
        "promptfoo": (True, sources[:1] == [False]),
        "validmind": (True, False),
    }[definition]


def odds(numbers: Sequence[float], outcome: Sequence[bool]) -> float:
    """Of independent cells; the numbers need not be probabilities."""
    return math.prod(p if hit else 1 - p for p, hit in zip(numbers, outcome, strict=True))


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_rules_for_one_claim_and_for_two_by_every_outcome(definition: DefinitionName) -> None:
    rng, rule = random.Random(7), _judge_errors._RULES[definition]
    relevant, first, second = ([rng.uniform(-0.2, 1.2) for _ in range(3)] for _ in range(3))
    one, two = [0.0, 0.0], [0.0, 0.0]
    for outcome in product((False, True), repeat=9):
        share = odds([*relevant, *first, *second], outcome)
        x, y = (counted(definition, outcome[:3], outcome[k : k + 3]) for k in (3, 6))
        for mode in (0, 1):
            one[mode] += share * x[mode]
            two[mode] += share * (x[mode] and y[mode])
    pairs = [(r * x, (1 - r) * x) for r, x in zip(relevant, first, strict=True)]
    assert rule.one(pairs) == pytest.approx(one)
    assert rule.two(list(zip(relevant, first, second, strict=True))) == pytest.approx(two)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_open_cells_leave_what_every_completion_of_them_gives(definition: DefinitionName) -> None:
    """One claim, two chunks and up to two claims of the reference, under a judge that errs."""
    rng = random.Random(11)
    here = Corrected.at((0.2, 0.15))
    outcomes = {
        (relevant, entails): counted(definition, relevant, entails)
        for relevant in product((False, True), repeat=2)
        for entails in product((False, True), repeat=2)
    }

    def numbers(cells: Sequence[bool | None]) -> list[tuple[float, ...]]:
        by_cell = {None: (0.0, 1.0), False: (here.no,), True: (here.yes,)}
        return [by_cell[cell] for cell in cells]

    for _ in range(60):
        rows = [rng.choices([True, False, None], k=2) for _ in range(1 + rng.randrange(3))]
        correct = rng.choice([True, False, None])
        labels = rng.choices([True, False, None], [1, 1, 3], k=2)
        table = Table.of(Verdicts.from_matrices([correct], rows[:1], rows[1:], labels))
        found = expected_score(table, (here,) * 3, definition)
        relevance = [
            [float(label)] if label is not None
            else [1 - math.prod(1 - g for g in each)
                  for each in product(*numbers([row[j] for row in rows[1:]]))]
            if rows[1:] else [0.0, 1.0]
            for j, label in enumerate(labels)
        ]  # fmt: skip
        values: list[list[float]] = [[], []]
        for c, *rest in product(*numbers([correct, *rows[0]]), *relevance):
            entails, relevant = rest[:2], rest[2:]
            for mode in (0, 1):
                value = sum(
                    odds(relevant, r) * odds(entails, e) * hit[mode]
                    for (r, e), hit in outcomes.items()
                )
                values[mode].append((1 - c) * value)
        assert found is not None
        for ours, every in zip(found, values, strict=True):
            assert ours == pytest.approx((min(every), max(every)))


def test_a_range_of_the_truth_begins_at_its_lower_end() -> None:
    """One claim is noise. Of three the judge says that the chunk does not entail them, and nobody
    knows whether it is relevant: each stands for −0.1 / 0.9 of a noisy claim if it is."""
    noisy = Verdicts.from_matrices([False], [[True]], relevant=[True])
    unlabeled = Verdicts.from_matrices([False], [[False]])
    found = sensitivity_band(
        [noisy, *[unlabeled] * 3], direction="truth", false_yes=0.1, cells=["response"]
    ).relevant
    assert found is not None
    assert found.moved_bounds == pytest.approx(((1 - 3 / 9) / 4, 1 / 4))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high


def test_open_cells_do_not_scatter() -> None:
    # A tenth of "no" becomes "yes": a claim called wrong counts 1 + 0.1 / 0.9 times.
    kinds = (Corrected.at((0.1, 0.0)),) * 3
    for cell, expected in ((None, 0.0), (True, (10 / 9) ** 2 - 10 / 9)):
        table = Table.of(Verdicts.from_matrices([False], [[cell]], relevant=[True]))
        assert error_variance(table, kinds, "ragas") == pytest.approx((expected, 0.0))
    # And a number that no float holds is no end of a range.
    huge = Verdicts.from_matrices([False], [[None, *[False] * 400]], relevant=[True] * 401)
    with pytest.raises(OverflowError):
        expected_score(Table.of(huge), (Corrected.at((0.94, 0.0)),) * 3, "ragas")


def test_the_truth_by_hand() -> None:
    # Three claims in four are called wrong. With 10% of the correct ones called wrong and none
    # the other way, (1 − q) = (1 − π) + 0.1 π, so π = (1 − 0.75) / 0.9.
    table = Verdicts.from_matrices([True, False, False, False], [[False]] * 4, [[True]])
    found = sensitivity_band(
        [table] * 50, direction="truth", false_no=0.1, cells=["correct"], definition="validmind"
    ).relevant
    assert found is not None
    assert (found.mean, found.moved) == (0.75, pytest.approx(1 - 0.25 / 0.9))
    # A "yes" stands for 1 / 0.9, a "no" for 0; only the true yes scatter, q (1 − q) / 0.9² each.
    # By Var(estimate) = Σ (estimate² − estimate) over cells: 50 · (1/0.9² − 1/0.9) / 16.
    error = (50 * (1 / 0.81 - 1 / 0.9) / 16) ** 0.5 / 50
    assert found.low == pytest.approx(found.moved - 1.96 * error, abs=0.02 * error)
    assert found.high == pytest.approx(found.moved + 1.96 * error, abs=0.02 * error)


def test_rates_of_few_labels_make_a_wider_band() -> None:
    rng = random.Random(4)
    tables = [ragchecker_like(rng, chunks=5) for _ in range(30)]
    known, few = (
        sensitivity_band(tables, direction="truth", false_yes=rate).relevant
        for rate in (0.02, (2, 100))
    )
    drawn = sensitivity_band(
        tables, direction="truth", false_yes=0.02, draws=[(0.0, 0.0), (0.06, 0.0)]
    ).relevant
    assert known is not None
    assert known.low is not None
    assert known.high is not None
    for wider in (few, drawn):
        assert wider is not None
        assert wider.low is not None
        assert wider.high is not None
        assert wider.moved == known.moved
        assert wider.high - wider.low > 1.3 * (known.high - known.low)


def test_other_rates_give_the_band_they_would_have_alone() -> None:
    """With one pair of rates to draw, the band lies around the estimate at that pair."""
    rng = random.Random(9)
    closed = [ragchecker_like(rng, chunks=3) for _ in range(12)]
    shape = Shape(undetermined=0.2, labelled=0.4)
    for tables in (closed, [verdicts for _, verdicts in random_pairs(12, shape=shape)]):
        drawn, alone = (
            sensitivity_band(tables, direction="truth", confidence=0.8, **options)  # type: ignore[arg-type]
            for options in (
                {"false_yes": 0.02, "draws": [(0.05, 0.1)]},
                {"false_yes": 0.05, "false_no": 0.1},
            )
        )
        for mode in MODES:
            found, expected = drawn.mode(mode), alone.mode(mode)
            assert found is not None
            assert expected is not None
            assert found.moved_bounds != pytest.approx(expected.moved_bounds)
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_other_rates_and_open_verdicts_by_hand() -> None:
    """Two claims of four are wrong, one is open. If a fifth of correct ones is called wrong, the
    "yes" stands for 1 / 0.8, and so for −1/4 of a wrong claim; it alone scatters."""
    table = Verdicts.from_matrices([False, False, True, None], [[False]] * 4, relevant=[True])
    found = sensitivity_band(
        [table],
        direction="truth",
        draws=[(0.0, 0.2)],
        cells=["correct"],
        definition="validmind",
        confidence=0.8,
    ).relevant
    assert found is not None
    assert found.moved_bounds == (2 / 4, 3 / 4)
    reach = 1.28155 * (1.25**2 - 1.25) ** 0.5 / 4
    expected = (2 - 0.25) / 4 - reach, (3 - 0.25) / 4 + reach
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-3)


def test_at_most_forty_pairs_of_rates_on_a_hundred_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_sensitivity, "_NORMAL", [0.0])
    sampled: list[int] = []

    class Watched(random.Random):
        def sample(self, population: Any, k: int, **_: Any) -> list[Any]:
            sampled.append(k)
            return super().sample(population, k)

    table = Table.of(Verdicts.from_matrices([False], [[False]], relevant=[True]))
    judge = _sensitivity._Judge((3, 150), 0.0, (), CELLS, 0.0, "claim")
    for simulations, draws, samples in ((39, 39, 99), (41, 40, 101)):
        rng = Watched(0)
        _, means = _sensitivity._truth([table] * samples, judge, "validmind", simulations, rng)
        assert len(means) == draws
    assert sampled == [99, 100]


def test_where_rates_are_known_all_samples_say_how_far_errors_scatter() -> None:
    """Beyond 100 samples too: so the seed, which chooses some of them, changes nothing."""
    rng = random.Random(10)
    tables = [ragchecker_like(rng, chunks=1) for _ in range(120)]
    first, second = (
        sensitivity_band(tables, direction="truth", false_yes=0.05, seed=seed).relevant
        for seed in (1, 2)
    )
    assert first is not None
    assert second is not None
    assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=1e-9)


def test_what_is_assumed_without_a_word() -> None:
    tables = [Verdicts.from_matrices([False], [[False]], relevant=[True])] * 3
    said = {"correlation": 0.0, "simulations": 200, "confidence": 0.95, "seed": 0}
    found = sensitivity_band(tables, false_yes=0.2, false_no=0.0, **said)  # type: ignore[arg-type]
    assert sensitivity_band(tables, false_yes=0.2) == found
    # Only the truth takes each error on its own.
    assert sensitivity_band(tables, false_yes=0.2, correlation=0.5, simulations=1).correlation


def test_rates_that_leave_no_meaning_leave_the_truth_open() -> None:
    """Less than 5% of it; or so little that thirty cells of a chunk, each worth up to 1 / 0.06,
    are a number whose square no float holds: (1 / 0.06)^(8 · 30) is 1e293."""
    small = Verdicts.from_matrices([False], [[False]], relevant=[True])
    for rate, is_open in ((0.96, True), (0.94, False)):
        band = sensitivity_band([small] * 400, direction="truth", draws=[(rate, 0.0)]).relevant
        assert band is not None
        assert ((band.low, band.high) == (0.0, 1.0)) == is_open
    # One of two pairs of rates that are as likely leaves everything open.
    mixed = sensitivity_band([small], direction="truth", draws=[(0.96, 0.0), (0.0, 0.0)]).relevant
    assert mixed is not None
    assert (mixed.low, mixed.high) == (0.0, 1.0)
    many = Verdicts.from_matrices([False], [[True] * 8], [[False] * 8] * 30)
    for options in ({"draws": [(0.94, 0.0)]}, {"false_yes": 0.94}):
        found = sensitivity_band([many] * 2, direction="truth", **options)  # type: ignore[arg-type]
        for band in (found.relevant, found.irrelevant):
            assert band is not None
            assert (band.low, band.high) == (0.0, 1.0)
            assert band.moved_bounds == ((0.0, 1.0) if "false_yes" in options else band.bounds)


def test_an_estimate_that_is_out_of_range_in_one_mode_leaves_both_open() -> None:
    """All chunks are relevant: the irrelevant mode is 0, the other −(1 / 0.06)^160 or so."""
    table = Verdicts.from_matrices([False], [[False] * 160], relevant=[True] * 160)
    found = sensitivity_band([table], direction="truth", false_yes=0.94, cells=["response"])
    for band in (found.relevant, found.irrelevant):
        assert band is not None
        assert band.moved_bounds == (band.low, band.high) == (0.0, 1.0)


def test_a_claim_without_weight_adds_nothing_however_large() -> None:
    """A judge that never says a false "no" leaves correct claims correct. Sixty cells of a chunk
    stand for (1 / 0.06)^60, and eight chunks for a number that no float holds."""
    right = Verdicts.from_matrices([True] * 2, [[True] * 8] * 2, [[False] * 8] * 60)
    found = sensitivity_band([right] * 2, direction="truth", draws=[(0.94, 0.0)])
    for band in (found.relevant, found.irrelevant):
        assert band is not None
        assert (band.low, band.high) == (0.0, 0.0)


def test_a_scatter_that_no_float_holds_leaves_the_truth_open() -> None:
    """Only the first chunk is irrelevant, so the estimate is a small number. For two claims
    together, the 159 others stand for 10^318 on the way to it."""
    labels = [False] + [True] * 159
    two = Verdicts.from_matrices([False] * 2, [[False] * 160] * 2, relevant=labels)
    found = sensitivity_band(
        [two] * 2, direction="truth", definition="promptfoo", draws=[(0.9, 0.0)]
    ).irrelevant
    assert found is not None
    assert (found.low, found.high) == (0.0, 1.0)


def test_a_band_holds_its_share_of_the_means() -> None:
    """Means 0, 0.005, … 0.5 of the lowest values, 0.5 more of the highest: a tenth of them lies
    beyond either end of a band of 80%."""
    means = [(i / 200, 0.5 + i / 200) for i in range(101)]
    random.Random(1).shuffle(means)
    actual = [(0.0, 0.75), (0.5, 0.5), (0.25, 0.25)]
    found = _sensitivity._band("relevant", 7, actual, (0.25, 0.5), means, 0.8)
    assert (found.low, found.high) == pytest.approx((0.05, 0.95))
    assert (found.undetermined, found.undefined, found.bounds) == (1, 7, (0.25, 0.5))
    assert found.mean is found.moved is found.shift is None
    exact = _sensitivity._band("relevant", 0, [(0.25, 0.25)], (0.75, 0.75), means, 0.8)
    assert (exact.mean, exact.moved, exact.shift) == (0.25, 0.75, 0.5)
    for moved, actual in (((0.0, 1.0), (0.5, 0.5)), ((0.5, 0.5), (0.0, 1.0))):
        assert _sensitivity._band("relevant", 0, [actual], moved, means, 0.8).shift is None


@pytest.mark.parametrize(
    "figures", [(0.0, 1e151), (-1e151, 0.0), (0.0, math.nan), (math.inf, 0.0)]
)
def test_figures_out_of_range(figures: tuple[float, ...]) -> None:
    with pytest.raises(OverflowError):
        _sensitivity._check_range(*figures)
    _sensitivity._check_range(0.0, -1e149, 1e149)


def test_the_error_is_taken_one_standard_error_higher() -> None:
    # Variances 1 and 3: their mean 2 has the standard error 1 / √2.
    expected = ((2 + 0.5**0.5) / 8) ** 0.5
    assert _sensitivity._most_error([1.0, 3.0], 8) == pytest.approx(expected)
    assert _sensitivity._most_error([-3.0, -1.0], 8) == 0.0
    assert _sensitivity._limited(((-0.5, 1.5), (0.25, 0.75))) == ((0.0, 1.0), (0.25, 0.75))
    assert _sensitivity._limited(((1.5, 2.0), (-2.0, -0.5))) == ((1.0, 1.0), (0.0, 0.0))


def test_rates_that_few_labels_leave_open_are_jeffreys() -> None:
    rng = random.Random(6)
    drawn = [_sensitivity._drawn((2, 9), rng) for _ in range(2000)]
    assert stats.kstest(drawn, stats.beta(2.5, 7.5).cdf).pvalue > 0.01
    assert _sensitivity._drawn(0.25, rng) == 0.25
    table = Verdicts.from_matrices([False], [[True]], [[True]])
    found = sensitivity_band([table], false_yes=(2, 8), false_no=(0, 5), simulations=1)
    assert (found.false_yes, found.false_no) == (0.25, 0.0)
    all_wrong = sensitivity_band([table], false_yes=(5, 5), simulations=1)
    assert all_wrong.false_yes == 1.0


def test_chunks_that_are_not_listed_have_no_labels() -> None:
    claim = {"text": "a", "correct": False, "entailed_by": [2]}
    table = Table.of(Verdicts.model_validate({"response_claims": [claim]}))
    assert table == (bytes([NO, NO, NO, YES]), (1, 0, 3), (None, None, None))


def test_groups_of_two_claims_a_reference_and_two_chunks() -> None:
    """Cells 0 and 1: is a claim correct; 2, 3 and 4, 5: its chunks; 6, 7: the reference's."""
    size = (2, 1, 2)
    assert groups_of(size, CELLS, None) == ((0, 2, 3, 1, 4, 5, 6, 7),)
    assert groups_of(size, CELLS, "claim") == ((0, 2, 3), (1, 4, 5), (6, 7))
    assert groups_of(size, CELLS, "chunk") == ((0,), (2, 4, 6), (3, 5, 7), (1,))
    assert groups_of(size, ("reference",), "chunk") == ((6,), (7,))
    # Of three chunks, too, none has anything in common with whether a claim is correct.
    three = (0,), (2, 5, 8), (3, 6, 9), (4, 7, 10), (1,)
    assert groups_of((2, 1, 3), CELLS, "chunk") == three
    assert groups_of(size, ("correct",), None) == ((0, 1),)


def test_errors_come_at_their_rates() -> None:
    """Of eight cells, four "no" and four "yes", each on its own: binomial numbers of errors."""
    table = Table.of(Verdicts.from_matrices([None], [[True, False] * 4], relevant=[True] * 8))
    groups = groups_of(table.size, ("response",), None)
    no, yes = ([k for k in range(1, 9) if table.cells[k] == state] for state in (NO, YES))
    for rates in ((0.3, 0.6), (0.5, 0.2), (1.0, 0.4), (0.0, 0.5)):
        rng, wrong_no, wrong_yes = random.Random(5), [0] * 5, [0] * 5
        for _ in range(1500):
            cells = table.flipped(rng, rates, groups).cells
            wrong_no[sum(cells[k] == YES for k in no)] += 1
            wrong_yes[sum(cells[k] == NO for k in yes)] += 1
        for rate, observed in zip(rates, (wrong_no, wrong_yes), strict=True):
            expected = stats.binom(4, rate).pmf(range(5)) * 1500
            if 0 < rate < 1:
                assert stats.chisquare(observed, expected).pvalue > 0.001
            else:
                assert observed == pytest.approx(expected)
    assert table.flipped(random.Random(0), (0.0, 0.0), groups) is table


def test_errors_are_alike_in_what_cells_share() -> None:
    """With correlation 1 a group is wrong as a whole or not at all; a claim is a row, a chunk a
    column. Two claims, two chunks, all "no"."""
    table = Table.of(Verdicts.from_matrices([None] * 2, [[False] * 2] * 2, relevant=[True] * 2))
    for within, alike, apart in (("claim", (2, 3), (2, 4)), ("chunk", (2, 4), (2, 3))):
        judge = _sensitivity._Judge(0.5, 0.0, (), ("response",), 1.0, within)  # type: ignore[arg-type]
        rng = random.Random(3)
        wrong = [judge.wrong(table, rng, judge.rates).cells for _ in range(40)]
        assert all(cells[alike[0]] == cells[alike[1]] for cells in wrong)
        assert any(cells[apart[0]] != cells[apart[1]] for cells in wrong)
    # Without a correlation `within` changes nothing.
    first, second = (
        sensitivity_band([verdicts], false_yes=0.3, within=within, simulations=30).to_dict()
        for verdicts in [Verdicts.from_matrices([False] * 3, [[False] * 3] * 3, [[False] * 3])]
        for within in ("claim", "chunk")
    )
    assert {**first, "within": ""} == {**second, "within": ""}


def test_a_lazy_plan_leaves_the_truth_a_range() -> None:
    # The claim that is called correct may be wrong, and which chunk entails it was never asked.
    table = Verdicts.from_matrices([True, False], [[None], [True]], relevant=[True])
    found = sensitivity_band(
        [table], direction="truth", false_no=0.2, cells=["correct"], definition="ragas"
    ).relevant
    assert found is not None
    # "Correct" stands for 1 / 0.8, so "incorrect" for −0.25; times 0 or 1, over two claims.
    assert found.moved_bounds == pytest.approx(((1 - 0.25) / 2, 0.5))
    assert found.moved is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_yes": 0.5, "false_no": 0.5}, "rates whose sum is below 1"),
        ({"false_yes": (3, 2)}, "false_yes: expected"),
        ({"false_no": (0, 0)}, "false_no: expected"),
        ({"false_no": (-1, 3)}, "false_no: expected"),
        ({"false_no": (1, 3, 5)}, "false_no: expected"),
        ({"within": "sample"}, "within"),
        ({"correlation": 0.1}, "each error on its own"),
        ({"direction": "back"}, "direction"),
    ],
)
def test_what_the_truth_refuses(options: dict[str, object], message: str) -> None:
    table = Verdicts.from_matrices([False], [[True]], [[True]])
    with pytest.raises(InputError, match=message):
        sensitivity_band([table], **{"direction": "truth", **options})  # type: ignore[arg-type]


def test_scores_and_results_are_read_and_open_cells_counted() -> None:
    table = Verdicts.from_matrices([True, None], [[None], [False]], [[True]])
    items: list[Verdicts | Score | Result] = [
        table,
        score(table),
        Result("a", score(table)),
        Result("b", error="no"),
    ]
    found = sensitivity_band(items, simulations=1)
    assert (found.samples, found.failed, found.open_cells) == (3, 1, 6)
    some = sensitivity_band(items, simulations=1, cells=["correct"])
    assert some.open_cells == 3
    # What has no claims is counted, and moves nothing.
    empty = sensitivity_band([table, Verdicts(response_claims=())], simulations=1).relevant
    assert empty is not None
    assert empty.undefined == 1
    assert empty.bounds == (0.0, 0.0)
    none = sensitivity_band([Verdicts(response_claims=())], simulations=1).relevant
    assert none is not None
    assert (none.undetermined, none.undefined, none.bounds, none.low) == (0, 1, None, None)


def test_a_definition_without_irrelevant_mode() -> None:
    table = Verdicts.from_matrices([True], [[True]], [[True]])
    found = sensitivity_band([table], false_no=1, definition="validmind", simulations=1)
    assert found.irrelevant is None
    assert found.relevant is not None
    assert (found.relevant.mean, found.relevant.moved) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_yes": 2}, "false_yes: expected a number from 0 to 1, got 2"),
        ({"false_no": -0.1}, "false_no"),
        ({"correlation": 1.5}, "correlation"),
        ({"confidence": 95}, "confidence"),
        ({"cells": ["chunks"]}, "cells"),
        ({"simulations": 0}, "simulations"),
    ],
)
def test_numbers_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sensitivity_band([Verdicts(response_claims=())], **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one sample"):
        sensitivity_band([])


def test_plain_data() -> None:
    table = Verdicts.from_matrices([False], [[True]], [[True]])
    found = sensitivity_band([table], false_yes=0.1, simulations=1, definition="validmind")
    data = json.loads(json.dumps(found.to_dict()))
    assert data["cells"] == ["correct", "response", "reference"]
    assert (data["relevant"]["mean"], data["relevant"]["bounds"]) == (1.0, [1.0, 1.0])
    assert data["irrelevant"] is None
