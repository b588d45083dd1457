"""Summaries and tallies, with values derived by hand and by the standard library."""

from __future__ import annotations

import pickle
import random
from math import fsum
from operator import add

import pytest
from msgspec.structs import replace

from noisesense import InputError, Result, Score, Tally, Usage, Verdicts, score, summarize
from noisesense.judging.protocol import ClaimChange
from noisesense.stats.summarize import ModeSummary
from support.simulated import result_of, score_of
from support.tables import Shape, random_pair

EMPTY = Verdicts(response_claims=())


def relevant(results: list[Result] | list[Score]) -> ModeSummary:
    return summarize(results).relevant


def test_a_mean_counts_samples_alike_and_the_claims_are_added_up() -> None:
    # 1/2, 0/3 and 2/2: mean 1/2, middle 1/2; claims: 3 of 7.
    found = relevant([score_of((1, 2)), score_of((0, 3)), score_of((2, 2))])
    assert found.determined == 3
    assert found.undetermined == 0
    assert found.undefined == 0
    assert found.mean == (0.5, 0.5)
    assert found.claims.bounds == (3 / 7, 3 / 7)
    assert found.claims == (3, 7, 7)


RESULTS = [
    Result("a", score_of((1, 2)), usage=Usage(calls=4, cost=0.5)),
    Result("b", score(EMPTY)),
    Result("c", error="timed out", usage=Usage(calls=1)),
]


def test_empty_and_failed_samples_are_counted_and_in_no_mean() -> None:
    found = summarize(RESULTS)
    assert found.samples == 3
    assert found.scored == 2
    assert found.failed == 1
    assert found.nothing_claimed == 1
    assert found.nothing_retrieved == 0
    assert found.usage == Usage(calls=5, cost=0.5)
    assert found.relevant.determined == 1
    assert found.relevant.undefined == 1
    assert found.relevant.mean == (0.5, 0.5)
    assert found.relevant.interval is None


def test_nothing_to_measure_may_count_as_zero() -> None:
    """RAGChecker's convention, if the samples were scored under it."""
    zero = relevant([score_of((1, 2)), score(EMPTY, empty="zero")])
    assert zero.determined == 2
    assert zero.mean == (0.25, 0.25)
    assert zero.claims.bounds == (0.5, 0.5)


def test_a_summary_of_no_samples_has_no_figures_and_says_so() -> None:
    nothing = summarize([])
    assert nothing.samples == 0
    assert nothing.relevant is None
    assert nothing.definition is None
    assert nothing.warnings == ("There are no results.",)


def test_of_open_claims_some_surely_come_from_a_chunk_and_some_surely_do_not() -> None:
    claims = [
        {"text": "correct", "correct": True, "entailed_by": []},
        {"text": "from a chunk of either kind", "correct": False, "entailed_by": [0]},
        {"text": "correct or from nowhere", "correct": None, "entailed_by": []},
        {"text": "correct or from a chunk", "correct": None, "entailed_by": [0]},
        {"text": "a chunk or nowhere", "correct": False, "entailed_by": [], "undetermined": [0]},
        {"text": "from a chunk that is not relevant", "correct": False, "entailed_by": [1]},
    ]  # fmt: skip
    chunks = [{"text": "a"}, {"text": "b", "relevant": False}]
    open_ones = score(Verdicts.model_validate({"response_claims": claims, "chunks": chunks}))
    parts = [tally([Result("a", each)]) for each in (open_ones, score_of((1, 2)))]
    found = (parts[0] + parts[1]).summary()
    assert found.partition == (2, 1, 1, 0, 4)
    assert found.from_chunks == (3, 6, 8)
    assert open_ones.from_chunks == (2, 4, 6)


def test_claims_of_which_none_can_come_from_a_chunk_are_in_no_figure() -> None:
    """Nothing was retrieved: by two definitions there is nothing to measure."""
    claims = [{"text": "a", "correct": None, "entailed_by": []}]
    nothing = Verdicts.model_validate({"response_claims": claims, "chunks": []})
    for definition, empty in (("ragas", 1), ("paper", 1), ("validmind", 0), ("promptfoo", 0)):
        found = summarize([score(nothing, definition=definition)])
        counted = (found.partition.total, found.needed_cells, found.open_cells)
        assert found.relevant.undefined == empty
        assert counted == (1 - empty,) * 3
        assert found.nothing_claimed == 0
        assert found.nothing_retrieved == 1


def test_clusters_of_samples_all_alike_have_the_interval_of_one_sample_each() -> None:
    # Ten clusters of ten samples that are all alike: there are ten values, not a hundred.
    results = [result_of(f"{c}-{i}", (c % 3, 4), c) for c in range(10) for i in range(10)]
    clustered = relevant(results)
    once = relevant([result_of(c, (c % 3, 4)) for c in range(10)])
    assert clustered.interval.units == 10
    assert clustered.mean == once.mean
    assert clustered.interval[:2] == pytest.approx(once.interval[:2], abs=0.01)
    assert summarize(results).clusters == 10


def test_samples_of_a_cluster_are_one_and_each_without_a_name_is_another() -> None:
    alone = [result_of("b", (0, 2)), result_of("d", (0, 2))]
    some = [result_of("a", (1, 2), "x"), result_of("c", (1, 2), "x"), *alone]
    found = summarize(some)
    assert found.clusters == 3
    assert found.grouped == "4 samples in 3 clusters"
    assert summarize(some[1:]).clusters is None
    for none in ([], [Result("a", error="no")], [Result("a", error="no", cluster="x")]):
        assert summarize(none).clusters is None


@pytest.mark.parametrize("samples", [3, 6, 7, 10, 12, 24, 30])
def test_a_mean_is_the_exact_one(samples: int) -> None:
    """Three times 0.1 is 0.30000000000000004, and its mean was above a limit of 0.1."""
    found = relevant([score_of((1, 10))] * samples)
    assert found.mean == (0.1, 0.1)
    mixed = relevant([score_of((1, 10))] * samples + [score_of((3, 10))] * samples)
    assert mixed.mean == (0.2, 0.2)


def test_a_definition_without_irrelevant_mode_has_no_irrelevant_figures() -> None:
    verdicts = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    found = summarize([score(verdicts, definition="validmind")])
    assert found.irrelevant is None
    assert found.relevant.mean == (0.5, 0.5)


# ------------------------------------------------------------------ tallies


def made(count: int = 240, *, clusters: bool = False) -> list[Result]:
    """Open verdicts, empty responses, changes, costs that do not add up in binary, failures."""
    rng = random.Random(7)
    results: list[Result] = []
    for i in range(count):
        _, verdicts = random_pair(i, Shape(undetermined=0.1))
        cost = rng.choice([None, 0.1, 0.7, 1e-9, 123.456])
        usage = Usage(calls=rng.randrange(9), cached_calls=1, input_tokens=i, cost=cost)
        changes = (ClaimChange("a", "response", "stray"),) * (i % 3)
        one = Result(str(i), score(verdicts, empty="zero"), usage=usage, changes=changes)
        if clusters:
            one = replace(one, cluster=f"document {rng.randrange(30)}")
        elif i % 17 == 0:
            one = Result(str(i), error="no answer", usage=usage)
        results.append(one)
    return results


def tally(some: list[Result]) -> Tally:
    counted = Tally()
    for each in some:
        counted.add(each)
    return counted


@pytest.mark.parametrize("clusters", [False, True])
def test_parts_in_any_order_and_grouping_are_the_whole(clusters: bool) -> None:
    whole = made(clusters=clusters)
    expected = tally(whole).summary()
    for seed in range(6):
        rng = random.Random(seed)
        shuffled = rng.sample(whole, len(whole))
        cuts = sorted(rng.sample(range(1, len(whole)), rng.randint(1, 40)))
        parts = [tally(shuffled[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        parts.append(Tally())
        while len(parts) > 1:  # two of them at a time
            rng.shuffle(parts)
            parts.append(parts.pop() + pickle.loads(pickle.dumps(parts.pop())))
        assert parts[0] == tally(whole)
        assert parts[0].summary() == expected


def test_costs_add_up_without_rounding() -> None:
    # In floats 0.1 + 0.2 + 0.3 is 0.6000000000000001 from the left and 0.6 from the right.
    def of(*costs: float | None) -> float | None:
        spent = [Result("a", error="no", usage=Usage(calls=1, cost=cost)) for cost in costs]
        return tally(spent).summary().usage.cost

    assert of(0.1, 0.2, 0.3) == of(0.3, 0.2, 0.1) == fsum([0.1, 0.2, 0.3])
    assert of(1e16, 1.0, -1e16) == 1.0
    assert of(None) is None
    assert of(None, 0.5, float("nan"), float("inf")) == 0.5  # nobody knows what those cost
    half = tally([Result("a", error="no", usage=Usage(calls=3, cost=0.5))])
    assert (half + half).summary().usage == Usage(calls=6, cost=1.0)


def test_two_definitions_do_not_add_up_and_nothing_is_counted() -> None:
    verdicts = Verdicts.from_matrices([False, None], [[True], [True]], [[True]])
    ragas = tally([Result("a", score(verdicts))])
    other = Result("b", score(verdicts, definition="paper"))
    with pytest.raises(InputError, match="one definition, 'ragas', got 'paper'"):
        add(ragas, tally([other]))
    with pytest.raises(InputError, match="result 'b': expected results of one definition"):
        ragas.add(other)
    assert ragas == tally([Result("a", score(verdicts))])
    # The same ranges, whatever a host shows.
    high = tally([Result("c", score(verdicts, undetermined="high"))])
    assert (ragas + high).summary().samples == 2


def test_the_cells_that_scores_need_by_the_rule() -> None:
    """Each claim's correctness; each chunk under each claim that may be wrong; and the relevance
    of each chunk without a label: of each reference claim, or as such where there is none."""
    shape = Shape((0, 5), (0, 3), (1, 4), undetermined=0.08, labeled=0.3)
    for seed in range(300):
        _, verdicts = random_pair(seed, shape)
        found = summarize([score(verdicts)])
        cells = needed_cells(verdicts)
        assert found.needed_cells == len(cells)
        assert found.open_cells == cells.count(None)


def needed_cells(verdicts: Verdicts) -> list[bool | None]:
    table = verdicts.to_matrices()
    labels = table["relevant"] or []
    cells: list[bool | None] = list(table["reference_to_response"])
    suspects = [i for i, correct in enumerate(cells) if correct is not True]
    if not suspects:
        return cells
    for i in suspects:
        cells += table["chunks_to_response"][i]
    for row in table["chunks_to_reference"] or [[None] * len(labels)]:
        cells += [cell for cell, label in zip(row, labels, strict=True) if label is None]
    return cells
