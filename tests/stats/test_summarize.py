"""Summaries, with values derived by hand and by the standard library."""

from __future__ import annotations

import json
import random
import statistics

import numpy as np
import pytest

from noisesense import (
    InputError,
    Result,
    Score,
    Tally,
    Usage,
    Verdicts,
    score,
    summarize,
)
from noisesense.stats import summarize as _summarize
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
    assert (found.mean.value, found.median.value, found.stdev) == (0.5, 0.5, 0.5)
    assert (found.minimum.value, found.maximum.value) == (0.0, 1.0)
    for p in (0.05, 0.25, 0.5, 0.75, 0.95):
        assert found.quantiles[p] == pytest.approx((p, p))
    assert found.micro.value == 3 / 7
    assert found.claims == (3, 7, 7)
    assert found.mean == (0.5, 0.5)
    assert found.micro == (3 / 7, 3 / 7)
    assert found.distribution == ((0.0, 1), (0.5, 1), (1.0, 1))


def test_undetermined_verdicts_move_the_bounds() -> None:
    # Two claims from a relevant chunk, one incorrect and one nobody judged: from 1/2 to 2/2. And a
    # sample of which nothing is known: from 0 to 1. No value for either, and so no mean.
    half = score(Verdicts.from_matrices([False, None], [[True], [True]], [[True]]))
    nothing = score(Verdicts.from_matrices([None], [[None]], [[None]]))
    found = summarize([half, nothing, score_of((0, 1))])
    mode = found.relevant
    assert mode is not None
    assert (mode.determined, mode.undetermined, mode.undefined, mode.mean.value) == (1, 2, 0, None)
    assert mode.mean == ((0.5 + 0 + 0) / 3, (1 + 1 + 0) / 3)
    assert mode.claims == (1, 2, 4)
    assert mode.undetermined_claims == 2
    assert (mode.micro.value, mode.micro) == (None, (0.25, 0.75))
    assert mode.distribution == ((0.0, 1),)
    # `half`: one cell. `nothing`: whether the claim is correct, whether the chunk entails it and
    # whether the chunk entails the reference claim.
    assert found.open_cells == 4
    # `half`: two of the claims, two of the chunk, one of the reference claim; `nothing`: three.
    # The determined one: whether its claim is correct.
    assert found.needed_cells == 5 + 3 + 1
    assert found.partition == (1, 1, 0, 0, 2)


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
    assert found.relevant.mean.value == 0.5
    assert found.relevant.interval is None
    assert found.relevant.stdev is None
    assert any("1 of 3 samples failed" in warning for warning in found.warnings)
    assert any("3 verdicts unanswered" in warning for warning in found.warnings)
    # RAGChecker's convention, if the samples were scored under it.
    zero = relevant([score_of((1, 2)), score(empty, empty="zero")])
    assert (zero.determined, zero.mean.value, zero.micro.value) == (2, 0.25, 0.5)


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
            assert ours.mean is not None
            assert ours.mean[end] == pytest.approx(statistics.fmean(column), abs=1e-14)
            cuts = statistics.quantiles(column, n=20, method="inclusive")
            for p, expected in ((0.05, cuts[0]), (0.5, cuts[9]), (0.95, cuts[-1])):
                assert ours.quantiles[p][end] == pytest.approx(expected, abs=1e-14)
        counts = [c for each in scores if (c := each.counts(mode)) is not None]
        noisy, claims = sum(c.noisy for c in counts), sum(c.total for c in counts)
        assert ours.micro == (noisy / claims, sum(c.highest for c in counts) / claims)
        if undetermined:
            assert ours.mean.value is ours.stdev is ours.micro.value is None
        else:
            assert ours.mean.value == pytest.approx(statistics.fmean(values), abs=1e-14)
            assert ours.median.value == pytest.approx(statistics.median(values), abs=1e-14)
            assert ours.stdev == pytest.approx(statistics.stdev(values), abs=1e-14)
            assert ours.micro.value == noisy / claims
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
    assert clustered.mean.value == single.mean.value
    assert summarize(results).clusters == 10
    assert summarize(results, cluster=False).clusters is None


def test_undetermined_claims_of_clusters_count_for_both_sides() -> None:
    # Each cluster: one noisy claim of three, and one open claim. All alike: 1/3 to 2/3.
    verdicts = Verdicts.from_matrices([False, True, None], [[True]] * 3, [[True]])
    results = [Result(str(i), score(verdicts), cluster=str(i % 3)) for i in range(9)]
    found = relevant(results)
    assert found.micro == (1 / 3, 2 / 3)
    assert found.micro_interval is not None
    assert found.micro_interval.method == "dirichlet-range"
    # Three clusters of the same value, and half a one of 0, or of 1.
    seen, one = np.random.default_rng(1).dirichlet([3, 0.5], 100_000).T
    expected = np.quantile(seen / 3, 0.025), np.quantile(seen * 2 / 3 + one, 0.975)
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


def test_quantiles_from_the_lowest_to_the_highest() -> None:
    scores = [score_of((1, 4)), score_of((1, 2)), score_of((1, 1))]
    assert relevant(scores, quantiles=(0, 1), resamples=100).quantiles == {
        0: (0.25, 0.25),
        1: (1.0, 1.0),
    }
    for p in (-0.01, 1.01):
        with pytest.raises(InputError, match="quantiles: expected numbers from 0 to 1"):
            summarize(scores, quantiles=[p])


def test_a_warning_where_intervals_mean_little() -> None:
    def warned(values: list[tuple[int, int]]) -> str:
        found = summarize(map(score_of, values)).warnings
        return " ".join(each for each in found if each.startswith("relevant"))

    assert "relevant: 29 samples only" in warned([(i % 2, 2) for i in range(29)])
    assert "relevant: 1 sample only" in warned([(1, 2)])
    assert not warned([(i % 2, 2) for i in range(30)])
    assert "relevant: all 40 samples have the same value" in warned([(1, 2)] * 40)
    assert "relevant: only 3 of 40 samples differ" in warned([(0, 2)] * 37 + [(1, 2)] * 3)


def test_warnings_where_there_is_no_interval() -> None:
    together = [result_of(i, (i % 2, 2), cluster="the only one") for i in range(40)]
    assert summarize(together).warnings == tuple(
        f"{mode}: 1 cluster only; read the interval, not the mean."
        for mode in ("relevant", "irrelevant")
    )
    empty = [Result(str(i), score(Verdicts(response_claims=()))) for i in range(40)]
    assert summarize(empty).warnings == (
        "relevant: no sample has anything to measure.",
        "irrelevant: no sample has anything to measure.",
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
    assert found.relevant.mean.value == 0.5


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
    assert data["relevant"]["quantiles"]["0.5"]["value"] == 0.25
    assert data["relevant"]["claims"] == {"noisy": 25, "determined": 100, "total": 100}
    assert data["partition"]["relevant"] == 25
    assert data["irrelevant"]["interval"]["method"] == "dirichlet"
    assert summarize([]).to_dict()["relevant"] is None


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
    few = "relevant: 29 samples only; read the interval, not the mean."
    assert mode_warnings(*[(0, 2)] * 26, *[(1, 2)] * 3) == (few,)
    one = "relevant: 1 cluster only; read the interval, not the mean."
    assert mode_warnings(*[(0, 2)] * 37, *[(1, 2)] * 3, clusters=1) == (one,)


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
    assert _summarize._differing(ModeTally("relevant")) == 0


def test_a_share_of_exactly_a_thousandth() -> None:
    def said(missing: int, needed: int) -> str:
        (warning,) = run_warnings(
            samples=1, failed=0, unanswered=0, cells=(missing, needed), partly_clustered=False
        )
        return warning.partition("(")[2].partition(")")[0]

    assert said(1, 1000) == "0.1%"
    assert said(1, 1001) == "less than 0.1%"
    assert said(1, 3) == "33.3%"
