"""Summaries, with values derived by hand and by the standard library."""

from __future__ import annotations

import json
import random
import statistics
from fractions import Fraction

import numpy as np
import pytest

from noisesense import (
    InputError,
    Result,
    RiskThresholds,
    Score,
    Tally,
    Usage,
    Verdicts,
    score,
    summarize,
)
from noisesense.fixtures import ragchecker_examples
from noisesense.stats import summarize as _summarize
from noisesense.stats.ragchecker import ragchecker_aggregates
from noisesense.stats.summary import ModeSummary, run_warnings
from noisesense.stats.tally import ModeTally
from support.simulated import POPULATIONS, result_of, score_of
from support.tables import Shape, random_pairs


def relevant(results: list[Result] | list[Score], **options: object) -> ModeSummary:
    found = summarize(results, **options).relevant  # type: ignore[arg-type]
    assert found is not None
    return found


def test_figures_derived_by_hand() -> None:
    # 1/2, 0/3 and 2/2: mean 1/2, middle 1/2, deviations 0, 1/2, 1/2 → √(0.5 / 2) = 1/2;
    # claims: 3 of 7. Quarter points halfway between 0, 0.5 and 1.
    found = relevant([score_of((1, 2)), score_of((0, 3)), score_of((2, 2))])
    assert (found.determined, found.undetermined, found.undefined) == (3, 0, 0)
    assert (found.mean, found.median, found.stdev) == (0.5, 0.5, 0.5)
    assert (found.minimum, found.maximum) == (0.0, 1.0)
    assert found.quantiles == {
        0.05: pytest.approx(0.05),
        0.25: 0.25,
        0.5: 0.5,
        0.75: 0.75,
        0.95: pytest.approx(0.95),
    }
    assert found.micro == 3 / 7
    assert found.claims == (3, 7, 7)
    assert found.bounds == (0.5, 0.5)
    assert found.micro_bounds == (3 / 7, 3 / 7)
    assert found.distribution == ((0.0, 1), (0.5, 1), (1.0, 1))


def test_undetermined_verdicts_move_the_bounds() -> None:
    # Two claims from a relevant chunk, one incorrect and one nobody judged: from 1/2 to 2/2. And a
    # sample of which nothing is known: from 0 to 1. No value for either, and so no mean.
    half = score(Verdicts.from_matrices([False, None], [[True], [True]], [[True]]))
    nothing = score(Verdicts.from_matrices([None], [[None]], [[None]]))
    found = summarize([half, nothing, score_of((0, 1))])
    mode = found.relevant
    assert mode is not None
    assert (mode.determined, mode.undetermined, mode.undefined, mode.mean) == (1, 2, 0, None)
    assert mode.bounds == ((0.5 + 0 + 0) / 3, (1 + 1 + 0) / 3)
    assert mode.claims == (1, 2, 4)
    assert mode.undetermined_claims == 2
    assert (mode.micro, mode.micro_bounds) == (None, (0.25, 0.75))
    assert mode.distribution == ((0.0, 1),)
    # `half`: one cell. `nothing`: whether the claim is correct, whether the chunk entails it and
    # whether the chunk entails the reference claim.
    assert found.undetermined_cells == found.open_cells == 4
    # `half`: two of the claims, two of the chunk, one of the reference claim; `nothing`: three.
    # The determined one: whether its claim is correct.
    assert found.needed_cells == 5 + 3 + 1
    assert found.partition == (1, 1, 0, 0, 2)


def test_a_missing_verdict_on_a_chunk_known_to_be_relevant_is_not_counted() -> None:
    # Chunk 0 is relevant by the first reference claim, whatever the second one says; it is open
    # only whether it entails the response claim.
    verdicts = Verdicts.from_matrices([False], [[None]], [[True], [None]])
    assert summarize([score(verdicts)]).undetermined_cells == 1
    open_chunk = Verdicts.from_matrices([False], [[True]], [[False], [None]])
    assert summarize([score(open_chunk)]).undetermined_cells == 1


def test_cells_that_change_nothing_are_not_counted_as_missing() -> None:
    # A correct claim, of which a lazy plan never asks the chunks.
    lazy = score(Verdicts.from_matrices([True], [[None]], [[None]]))
    assert summarize([lazy]).undetermined_cells == 0


def test_empty_failed_and_unanswered_samples() -> None:
    empty = Verdicts(response_claims=())
    found = summarize(
        [
            Result("a", score_of((1, 2)), unanswered=3, usage=Usage(calls=4, cost=0.5)),
            Result("b", score(empty)),
            Result("c", error="timed out", usage=Usage(calls=1)),
        ]
    )
    assert (found.samples, found.scored, found.failed, found.empty) == (3, 2, 1, 1)
    assert found.unanswered == 3
    assert found.usage == Usage(calls=5, cost=0.5)
    assert found.relevant is not None
    assert (found.relevant.determined, found.relevant.undefined) == (1, 1)
    assert found.relevant.mean == 0.5
    assert found.relevant.interval is None
    assert found.relevant.stdev is None
    assert any("1 of 3 samples failed" in warning for warning in found.warnings)
    assert any("3 verdicts unanswered" in warning for warning in found.warnings)
    # RAGChecker's convention, if the samples were scored under it.
    zero = relevant([score_of((1, 2)), score(empty, empty="zero")])
    assert (zero.determined, zero.mean, zero.micro) == (2, 0.25, 0.5)


def test_nothing_at_all() -> None:
    found = summarize([])
    assert (found.samples, found.relevant, found.irrelevant, found.definition) == (
        0,
        None,
        None,
        None,
    )
    assert found.warnings == ("There are no results.",)
    failed = summarize([Result("a", error="no")])
    assert (failed.failed, failed.relevant) == (1, None)


@pytest.mark.parametrize("undetermined", [0.0, 0.1])
def test_random_tables_against_the_standard_library(undetermined: float) -> None:
    scores = [
        score(verdicts.beside(sample))
        for sample, verdicts in random_pairs(300, shape=Shape(undetermined=undetermined))
    ]
    found = summarize(scores)
    for mode in ("relevant", "irrelevant"):
        ours = found.mode(mode)
        assert ours is not None
        bounds = [b for each in scores if (b := each.bounds(mode)) is not None]
        values = [value for each in scores if (value := each.value(mode)) is not None]
        assert ours.determined == len(values)
        assert ours.undetermined == len(bounds) - len(values)
        assert (ours.undetermined >= 100) == (undetermined > 0)
        for end, column in enumerate(zip(*bounds, strict=True)):
            assert ours.bounds is not None
            assert ours.bounds[end] == pytest.approx(statistics.fmean(column), abs=1e-14)
            cuts = statistics.quantiles(column, n=20, method="inclusive")
            for p, expected in ((0.05, cuts[0]), (0.5, cuts[9]), (0.95, cuts[-1])):
                assert ours.quantile_bounds[p][end] == pytest.approx(expected, abs=1e-14)
        counts = [c for each in scores if (c := each.counts(mode)) is not None]
        noisy, claims = sum(c.noisy for c in counts), sum(c.total for c in counts)
        assert ours.micro_bounds == (noisy / claims, sum(c.highest for c in counts) / claims)
        if undetermined:
            assert ours.mean is ours.stdev is ours.micro is None
        else:
            assert ours.mean == pytest.approx(statistics.fmean(values), abs=1e-14)
            assert ours.median == pytest.approx(statistics.median(values), abs=1e-14)
            assert ours.stdev == pytest.approx(statistics.stdev(values), abs=1e-14)
            assert ours.micro == noisy / claims
    totals = zip(*(each.partition for each in scores), strict=True)
    assert found.partition == tuple(map(sum, totals))


def test_order_changes_nothing() -> None:
    rng = random.Random(3)
    results = [result_of(i, POPULATIONS[0].draw(rng), rng.randrange(20)) for i in range(200)]
    shuffled = random.Random(4).sample(results, len(results))
    assert summarize(results) == summarize(shuffled)


def test_clusters_widen_the_interval() -> None:
    # Ten clusters of ten samples that are all alike: there are ten values, not a hundred.
    results = [result_of(f"{c}-{i}", (c % 3, 4), c) for c in range(10) for i in range(10)]
    clustered, single = relevant(results), relevant(results, cluster=False)
    once = relevant([result_of(c, (c % 3, 4)) for c in range(10)])
    assert clustered.interval is not None
    assert single.interval is not None
    assert once.interval is not None
    assert (clustered.interval.units, single.interval.units) == (10, 100)
    assert clustered.interval[:2] == pytest.approx(once.interval[:2], abs=0.01)
    assert clustered.mean == single.mean
    assert summarize(results).clusters == 10
    assert summarize(results, cluster=False).clusters is None


def test_undetermined_claims_of_clusters_count_for_both_sides() -> None:
    # Each cluster: one noisy claim of three, and one open claim. All alike: 1/3 to 2/3.
    verdicts = Verdicts.from_matrices([False, True, None], [[True]] * 3, [[True]])
    results = [Result(str(i), score(verdicts), cluster=str(i % 3)) for i in range(9)]
    found = relevant(results)
    assert (found.micro, found.micro_bounds) == (None, (1 / 3, 2 / 3))
    assert found.micro_interval is not None
    assert found.micro_interval.method == "dirichlet-range"
    # Three clusters of the same value, and half a one of 0 and of 1.
    seen, _, one = np.random.default_rng(1).dirichlet([3, 0.5, 0.5], 100_000).T
    expected = np.quantile(seen / 3 + one, 0.025), np.quantile(seen * 2 / 3 + one, 0.975)
    assert found.micro_interval[:2] == pytest.approx(expected, abs=0.03)


def test_clusters_of_some_samples_only() -> None:
    results = [result_of("a", (1, 2), "x"), result_of("b", (0, 2))]
    found = summarize(results)
    assert found.clusters is None
    assert any("Only some samples name a cluster" in warning for warning in found.warnings)
    with pytest.raises(InputError, match="a cluster for every scored sample, got 1 of 2"):
        summarize(results, cluster=True)
    # Who asks for single samples is not warned of them.
    asked = summarize(results, cluster=False)
    assert not any("Only some samples" in warning for warning in asked.warnings)


def test_clusters_of_one_sample_and_of_none() -> None:
    one = [result_of("a", (1, 2), "x")]
    assert summarize(one).clusters == summarize(one, cluster=True).clusters == 1
    for none in ([], [Result("a", error="no")], [Result("a", error="no", cluster="x")]):
        assert summarize(none).clusters is summarize(none, cluster=True).clusters is None


def test_single_figures_of_a_choice() -> None:
    # From 1/3 to 2/3, and 0: the choice's end of the first, over two samples or four claims.
    table = Verdicts.from_matrices([False, None, True], [[True]] * 3, [[True]])
    for choice, part in (("none", None), ("low", 1), ("high", 2)):
        first = score(table, undetermined=choice)  # type: ignore[arg-type]
        clean = score(Verdicts.from_matrices([True], [[True]], [[True]]), undetermined=choice)  # type: ignore[arg-type]
        found = relevant([first, clean], resamples=100)
        assert found.mean == (None if part is None else pytest.approx(part / 6))
        assert found.stdev == (None if part is None else pytest.approx(part / 3 / 2**0.5))
        assert found.micro == (None if part is None else part / 4)


def test_quantiles_from_the_lowest_to_the_highest() -> None:
    scores = [score_of((1, 4)), score_of((1, 2)), score_of((1, 1))]
    assert relevant(scores, quantiles=(0, 1), resamples=100).quantiles == {0: 0.25, 1: 1.0}
    for p in (-0.01, 1.01):
        with pytest.raises(InputError, match="quantiles: expected numbers from 0 to 1"):
            summarize(scores, quantiles=[p])


def test_a_warning_where_intervals_mean_little() -> None:
    def warned(values: list[tuple[int, int]]) -> str:
        found = summarize(map(score_of, values)).warnings
        return " ".join(each for each in found if each.startswith("relevant"))

    assert "relevant: 29 samples; below 30" in warned([(i % 2, 2) for i in range(29)])
    assert "relevant: 1 sample; below 30" in warned([(1, 2)])
    assert not warned([(i % 2, 2) for i in range(30)])
    assert "relevant: all 40 samples have the same value" in warned([(1, 2)] * 40)
    assert "relevant: only 3 of 40 samples differ" in warned([(0, 2)] * 37 + [(1, 2)] * 3)


def test_warnings_where_there_is_no_interval() -> None:
    together = [result_of(i, (i % 2, 2), cluster="the only one") for i in range(40)]
    assert summarize(together).warnings == tuple(
        f"{mode}: 1 cluster; below 30 an interval means little."
        for mode in ("relevant", "irrelevant")
    )
    empty = [Result(str(i), score(Verdicts(response_claims=()))) for i in range(40)]
    assert summarize(empty).warnings == (
        "relevant: no sample has response claims: there is nothing to measure.",
        "irrelevant: no sample has response claims: there is nothing to measure.",
    )


def test_one_definition_at_a_time() -> None:
    other = score(Verdicts(response_claims=()), definition="paper")
    with pytest.raises(InputError, match="result 'b': expected results of one definition"):
        summarize([Result("a", score_of((1, 2))), Result("b", other)])


def test_a_definition_without_irrelevant_mode() -> None:
    verdicts = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    found = summarize([score(verdicts, definition="validmind")])
    assert found.irrelevant is None
    assert found.relevant is not None
    assert found.relevant.mean == 0.5


def test_signs_of_high_risk() -> None:
    # Values 0 × 7, 1 × 3: 30% are 0.5 or more; mean 0.3, median 0; deviation √(2.1 / 9) = 0.483.
    scores = [score_of((0, 1))] * 7 + [score_of((1, 1))] * 3
    high, gap, spread = relevant(scores).signs
    assert (high.present, high.figure, high.threshold) == (True, 0.3, 0.1)
    assert (gap.present, gap.figure, gap.threshold) == (True, 0.3, 0.1)
    assert (spread.present, spread.threshold) == (True, 0.25)
    assert spread.figure == pytest.approx((2.1 / 9) ** 0.5)
    assert high.sentence == ("high scores: yes (share of samples at 0.5 up 0.3, threshold 0.1)")
    exactly = RiskThresholds(high=1.0, many=0.3, gap=0.3, spread=0.48)
    assert [sign.present for sign in relevant(scores, risk=exactly).signs] == [True] * 3
    lenient = RiskThresholds(high=1.0, many=0.4, gap=0.5, spread=0.5)
    assert [sign.present for sign in relevant(scores, risk=lenient).signs] == [False] * 3
    alone = relevant([score_of((1, 1))])
    assert [sign.present for sign in alone.signs] == [True, False, None]


def test_memory_does_not_grow_with_the_number_of_samples() -> None:
    rng = random.Random(0)
    kinds = list({POPULATIONS[0].draw(rng) for _ in range(5000)})
    tally = Tally()
    kept: list[int] = []
    for size in (5_000, 20_000):
        for _ in range(size):
            tally.add(score_of(rng.choice(kinds)))
        kept.append(sum(len(each.times) for each in tally._modes.values()))
    # One entry for each (noisy, claims) of the relevant mode and (0, claims) of the other.
    assert kept == [len(kinds) + len({claims for _, claims in kinds})] * 2
    assert tally.summary(resamples=100).samples == 25_000


def test_a_tally_can_be_asked_at_any_time() -> None:
    tally = Tally()
    tally.add(score_of((1, 2)))
    first = tally.summary()
    tally.add(score_of((0, 2)))
    assert first == summarize([score_of((1, 2))])
    assert tally.summary() == summarize([score_of((1, 2)), score_of((0, 2))])


def test_plain_data() -> None:
    found = summarize([score_of((1, 2)), score_of((0, 2))] * 25)
    data = json.loads(json.dumps(found.to_dict()))
    assert data["relevant"]["interval"]["method"] == "bca"
    assert data["relevant"]["quantiles"]["0.5"] == 0.25
    assert data["relevant"]["claims"] == {"noisy": 25, "determined": 100, "total": 100}
    assert data["partition"]["relevant"] == 25
    assert data["irrelevant"]["interval"]["method"] == "exact"
    assert summarize([]).to_dict()["relevant"] is None


def test_ragcheckers_aggregates_are_the_published_ones() -> None:
    examples = ragchecker_examples()
    scores = [score(example.verdicts, empty="zero") for example in examples]
    # Printed by RAGChecker for its example outputs, and by hand: (8/11 + 4/5) / 2 = 0.7636, …
    assert ragchecker_aggregates(scores) == {
        "precision": 76.4,
        "hallucination": 4.5,
        "noise_sensitivity_in_relevant": 19.1,
        "noise_sensitivity_in_irrelevant": 0.0,
    }


def test_ragchecker_counts_undefined_samples_as_zero() -> None:
    empty = Verdicts(response_claims=())
    for convention in ("zero", "undefined"):
        scores = [score_of((1, 3)), score(empty, empty=convention)]  # type: ignore[arg-type]
        found = ragchecker_aggregates([*scores])
        assert found["noise_sensitivity_in_relevant"] == float(round(Fraction(100, 6), 1))
    # Percent first, then rounded: the other way round gives 33.300000000000004.
    third = ragchecker_aggregates([score_of((1, 3))])["noise_sensitivity_in_relevant"]
    assert str(third) == "33.3"
    failed = Result("a", error="no")
    assert ragchecker_aggregates([failed, Result("b", score_of((1, 1)))])["precision"] == 0.0
    with pytest.raises(InputError, match="at least one scored sample"):
        ragchecker_aggregates([failed])
    with pytest.raises(InputError, match="definition='ragas'"):
        ragchecker_aggregates([score(empty, definition="paper")])


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"confidence": 0}, "confidence"),
        ({"resamples": 1}, "resamples"),
        ({"quantiles": (0.5, 50)}, "quantiles"),
    ],
)
def test_numbers_out_of_range(options: dict[str, object], where: str) -> None:
    with pytest.raises(InputError, match=f"^{where}: expected"):
        summarize([score_of((1, 2))], **options)  # type: ignore[arg-type]


def mode_warnings(*draws: tuple[int, int], clusters: int = 0) -> tuple[str, ...]:
    """Of the relevant mode; with ``clusters``, the n-th sample is in cluster ``n % clusters``."""
    results = [result_of(i, d, i % clusters if clusters else None) for i, d in enumerate(draws)]
    return tuple(each for each in summarize(results).warnings if each.startswith("relevant"))


def test_when_an_interval_rests_on_few_samples() -> None:
    # Five samples of 40 that differ are enough, four are not; nor 30 samples with three.
    assert mode_warnings(*[(0, 2)] * 35, *[(1, 2)] * 5) == ()
    words = "samples differ from the commonest value; the interval depends on those few samples."
    assert mode_warnings(*[(0, 2)] * 36, *[(1, 2)] * 4) == (f"relevant: only 4 of 40 {words}",)
    assert mode_warnings(*[(0, 2)] * 27, *[(1, 2)] * 3) == (f"relevant: only 3 of 30 {words}",)
    # Of fewer samples it is said that they are few, and nothing of an interval there is not.
    few = "relevant: 29 samples; below 30 an interval means little."
    assert mode_warnings(*[(0, 2)] * 26, *[(1, 2)] * 3) == (few,)
    one = "relevant: 1 cluster; below 30 an interval means little."
    assert mode_warnings(*[(0, 2)] * 37, *[(1, 2)] * 3, clusters=1) == (one,)
    # Each of 60 clusters has a sample of 0 and one of 1/2: clusters alike, samples not.
    alike = mode_warnings(*[(0, 2)] * 60, *[(1, 2)] * 60, clusters=60)
    assert [each.partition(";")[0] for each in alike] == [
        "relevant: all 60 clusters have the same value"
    ]


def test_how_far_open_verdicts_move_a_standard_deviation() -> None:
    # Middles 0, 1/2 and 1: 1/2; moves of at most 1/6 of one of three: √(1/36 / 2).
    third = score(Verdicts.from_matrices([False, None, True], [[True]] * 3, [[True]]))
    scores = [score_of((0, 1)), third, score_of((1, 1))]
    deviation = relevant(scores, resamples=100).signs[2]
    reach = (1 / 72) ** 0.5
    assert deviation.bounds == pytest.approx((0.5 - reach, 0.5 + reach))
    # Two from 1/3 to 2/3: at most 1/3 apart, which is √(1/18); at least not at all.
    deviation = relevant([third] * 2, resamples=100).signs[2]
    assert deviation.bounds == pytest.approx((0.0, (1 / 18) ** 0.5))


def test_the_end_at_which_fewer_samples_differ() -> None:
    """Of the lowest values three of 40 differ from 0, of the highest 20 from 1/2."""
    perhaps = score(Verdicts.from_matrices([None, True], [[True]] * 2, [[True]]))
    found = summarize(
        [score_of((0, 2))] * 20 + [perhaps] * 17 + [score_of((1, 2))] * 3, resamples=100
    )
    assert any(each.startswith("relevant: only 3 of 40 samples") for each in found.warnings)
    # And the other way round: of the lowest 20, of the highest three.
    surely = score(Verdicts.from_matrices([None, False], [[True]] * 2, [[True]]))
    found = summarize(
        [score_of((1, 1))] * 20 + [surely] * 17 + [score_of((1, 2))] * 3, resamples=100
    )
    assert any(each.startswith("relevant: only 3 of 40 samples") for each in found.warnings)
    assert _summarize._differing(ModeTally("relevant", "none")) == 0


def test_samples_whose_every_figure_is_open_have_no_value_in_common() -> None:
    # 0 to 1 in 30 samples, 0 to 1/2 in 30 more: lowest and highest value are both open.
    unknown = score(Verdicts.from_matrices([None], [[True]], [[True]]))
    other = score(Verdicts.from_matrices([None, True], [[True]] * 2, [[True]]))
    found = summarize([unknown] * 30 + [other] * 30)
    assert found.relevant is not None
    assert (found.relevant.minimum, found.relevant.maximum) == (None, None)
    # All lowest values are 0, and so is the lower end of what covers the range.
    for interval in (found.relevant.interval, found.relevant.micro_interval):
        assert interval is not None
        assert interval.low == 0.0
        assert interval.high > 0.5
    both_open = [
        score(Verdicts.from_matrices([None, False], [[True]] * 2, [[True]])) for _ in range(60)
    ]
    mode = summarize(both_open[:30] + [score_of((1, 1))] * 30).relevant
    assert mode is not None
    assert (mode.minimum, mode.maximum, mode.median) == (None, 1.0, None)
    alone = summarize(both_open)
    assert alone.relevant is not None
    assert (alone.relevant.minimum, alone.relevant.maximum) == (None, None)
    assert not any("same value" in each for each in alone.warnings if "irr" not in each)


def test_a_share_of_exactly_a_thousandth() -> None:
    def said(missing: int, needed: int) -> str:
        (warning,) = run_warnings(
            samples=1, failed=0, unanswered=0, cells=(missing, needed), partly_clustered=False
        )
        return warning.partition("(")[2].partition(")")[0]

    assert said(1, 1000) == "0.1%"
    assert said(1, 1001) == "less than 0.1%"
    assert said(1, 3) == "33.3%"
