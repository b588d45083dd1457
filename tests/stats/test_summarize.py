"""Summaries and tallies, with values derived by hand and by the standard library."""

from __future__ import annotations

import json
import pickle
import random
from math import fsum
from operator import add

import pytest
from msgspec.structs import replace

from noisesense import InputError, Result, Score, Tally, Usage, Verdicts, score, summarize
from noisesense.stats.summarize import ModeSummary
from support.simulated import result_of, score_of
from support.tables import Shape, random_pair

EMPTY = Verdicts(response_claims=())


def relevant(results: list[Result] | list[Score]) -> ModeSummary:
    return summarize(results).relevant


def test_figures_derived_by_hand() -> None:
    # 1/2, 0/3 and 2/2: mean 1/2, middle 1/2; claims: 3 of 7.
    found = relevant([score_of((1, 2)), score_of((0, 3)), score_of((2, 2))])
    assert (found.determined, found.undetermined, found.undefined) == (3, 0, 0)
    assert (found.mean, found.median, found.maximum) == ((0.5, 0.5), (0.5, 0.5), (1.0, 1.0))
    assert (found.micro, found.claims) == ((3 / 7, 3 / 7), (3, 7, 7))
    assert found.distribution == ((0.0, 1), (0.5, 1), (1.0, 1))


def test_empty_and_failed_samples() -> None:
    found = summarize(
        [
            Result("a", score_of((1, 2)), usage=Usage(calls=4, cost=0.5)),
            Result("b", score(EMPTY)),
            Result("c", error="timed out", usage=Usage(calls=1)),
        ]
    )
    assert (found.samples, found.scored, found.failed) == (3, 2, 1)
    assert (found.nothing_claimed, found.nothing_retrieved) == (1, 0)
    assert found.usage == Usage(calls=5, cost=0.5)
    assert (found.relevant.determined, found.relevant.undefined) == (1, 1)
    assert (found.relevant.mean, found.relevant.interval) == ((0.5, 0.5), None)
    # RAGChecker's convention, if the samples were scored under it.
    zero = relevant([score_of((1, 2)), score(EMPTY, empty="zero")])
    assert (zero.determined, zero.mean, zero.micro) == (2, (0.25, 0.25), (0.5, 0.5))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["relevant"]["median"] == {"value": 0.5, "low": 0.5, "high": 0.5}
    assert data["relevant"]["claims"] == {"noisy": 1, "determined": 2, "total": 2}
    assert (data["unanswered_share"], len(data["warnings"])) == (0, 3)
    assert data["unmeasured"] == "1 of 3 answers claims nothing, 1 failed"
    nothing = summarize([])
    assert (nothing.samples, nothing.relevant, nothing.definition) == (0, None, None)
    assert nothing.unanswered_share is None


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
        assert (found.relevant.undefined, counted) == (empty, (1 - empty,) * 3)
        assert (found.nothing_claimed, found.nothing_retrieved) == (0, 1)


def test_given_verdicts_that_repeat_a_claim_by_words_are_counted_with_a_warning() -> None:
    """Three claims of one answer say the same, two of which are repetitions; others' do not."""

    def of(*texts: str) -> Score:
        claims = [{"text": text, "correct": False, "entailed_by": [0]} for text in texts]
        chunks = [{"text": "c", "relevant": True}]
        return score(Verdicts.model_validate({"response_claims": claims, "chunks": chunks}))

    thrice = of("It sails at noon.", "It is red.", "it sails at “noon”", "It sails at Noon !")
    once = of("It sails at noon.", "It was at sea at noon.")
    without_texts = score_of((1, 2))
    found = summarize([thrice, once, without_texts])
    assert (found.repeated_claims, found.partition.total) == (2, 4 + 2 + 2)
    said = "The given verdicts repeat 2 claims of the same answer by words; each counts."
    assert found.warnings[0] == said
    assert summarize([once, without_texts]).repeated_claims == 0


def test_what_was_not_measured_in_words() -> None:
    claim = {"text": "a", "correct": False, "entailed_by": []}
    lost = score(Verdicts.model_validate({"response_claims": [claim], "chunks": []}))
    silent = score(EMPTY)
    failed = Result("f", error="no")
    # Nothing retrieved is why, whatever is claimed: nobody asked what it claims.
    unasked = score(Verdicts(response_claims=(), chunks=()))
    known = [score_of((1, 2))] * 30

    def said(*rest: Result | Score) -> str:
        return summarize([*known, *rest]).unmeasured

    assert said() == ""
    assert said(silent, silent) == "2 of 32 answers claim nothing"
    assert said(silent) == "1 of 31 answers claims nothing"
    assert said(lost, unasked) == "for 2 of 32 questions nothing was retrieved"
    assert said(failed) == "1 of 31 samples failed"
    every = "2 of 35 answers claim nothing, for 2 nothing was retrieved, 1 failed"
    assert said(silent, silent, lost, unasked, failed) == every
    # By convention they count as 0: they are named all the same, and are in the figures.
    zero = summarize([*known, score(EMPTY, empty="zero")])
    assert (zero.unmeasured, zero.relevant.undefined) == ("1 of 31 answers claims nothing", 0)
    assert zero.warnings == ("1 of 31 answers claims nothing.",)


def test_clusters_widen_the_interval() -> None:
    # Ten clusters of ten samples that are all alike: there are ten values, not a hundred.
    results = [result_of(f"{c}-{i}", (c % 3, 4), c) for c in range(10) for i in range(10)]
    clustered = relevant(results)
    once = relevant([result_of(c, (c % 3, 4)) for c in range(10)])
    assert (clustered.interval.units, clustered.mean) == (10, once.mean)
    assert clustered.interval[:2] == pytest.approx(once.interval[:2], abs=0.01)
    assert summarize(results).clusters == 10


def test_clusters_of_some_samples_of_one_and_of_none() -> None:
    some = [result_of("a", (1, 2), "x"), result_of("b", (0, 2))]
    assert summarize(some).clusters is None
    assert "Only some samples name a cluster" in summarize(some).warnings[0]
    assert summarize(some[:1]).clusters == 1
    nothing = Result("n", score(EMPTY), cluster="n")  # nor is a cluster of what is undefined one
    assert summarize([*some[:1], nothing]).clusters == 1
    for none in ([], [Result("a", error="no")], [Result("a", error="no", cluster="x")]):
        assert summarize(none).clusters is None


def test_warnings() -> None:
    def said(*draws: tuple[int, int], clusters: int = 0) -> tuple[str, ...]:
        named = [result_of(i, d, i % clusters if clusters else None) for i, d in enumerate(draws)]
        return tuple(each for each in summarize(named).warnings if each.startswith("relevant"))

    assert said(*[(1, 2)] * 30) == ()
    few = "only; read the interval, not the mean."
    assert said(*[(1, 2)] * 29) == (f"relevant: 29 samples {few}",)
    assert said((1, 2)) == (f"relevant: 1 sample {few}",)
    assert said(*[(1, 2)] * 40, clusters=1) == (f"relevant: 1 cluster {few}",)
    assert summarize([]).warnings == ("There are no results.",)
    failed = Result("f", error="no")
    assert summarize([failed]).warnings == ("The only sample failed: there are no figures.",)
    assert summarize([failed, *map(score_of, [(1, 2)] * 30)]).warnings == (
        "1 of 31 samples failed: they are in no figure; if they are the hard ones, every figure "
        "is too good.",
    )
    assert summarize([Result("e", score(EMPTY))]).warnings == (
        "1 of 1 answers claims nothing: they are in no figure; if they are the hard ones, every "
        "figure is too good.",
        "relevant: no sample has anything to measure.",
        "irrelevant: no sample has anything to measure.",
    )
    # Two claims that nobody judged, beside 38 answers on claims and for 4 suspects two chunks.
    half = score(Verdicts.from_matrices([False, None], [[True, False]] * 2, None, [True, False]))
    clean = score(Verdicts.from_matrices([True], [[True, False]], None, [True, False]))
    assert summarize([*[half] * 2, *[clean] * 38]).warnings == (
        "2 of the 50 verdicts that the scores need (4.0%) have no answer: where they decide a "
        "score, it is a range.",
    )
    assert not any(each.startswith("relevant") for each in summarize([half] * 30).warnings)
    rare = summarize([half, *[clean] * 1994]).warnings  # needed: 2 + 4, and one each
    assert [("less than 0.1%" in each, "1 of the 2,000" in each) for each in rare] == [
        (True, True)
    ]


def test_a_definition_without_irrelevant_mode() -> None:
    verdicts = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    found = summarize([score(verdicts, definition="validmind")])
    assert found.irrelevant is None
    assert found.relevant.mean == (0.5, 0.5)


# ------------------------------------------------------------------ tallies


def made(count: int = 240, *, clusters: bool = False) -> list[Result]:
    """Scores with open verdicts, empty responses, costs that do not add up in binary, failures."""
    rng = random.Random(7)
    results: list[Result] = []
    for i in range(count):
        _, verdicts = random_pair(i, Shape(undetermined=0.1))
        cost = rng.choice([None, 0.1, 0.7, 1e-9, 123.456])
        usage = Usage(calls=rng.randrange(9), cached_calls=1, input_tokens=i, cost=cost)
        one = Result(str(i), score(verdicts, empty="zero"), usage=usage)
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


def test_in_which_order_claims_come_is_not_kept() -> None:
    tallies = [Tally(), Tally()]
    for counted, correct in zip(tallies, ([True, False], [False, True]), strict=True):
        counted.add(score(Verdicts.from_matrices(correct, [[True], [True]], [[True]])))
    assert tallies[0] == tallies[1]


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


def test_a_sum_changes_neither_part_and_a_merge_only_the_left() -> None:
    left = tally(made(20))
    right = tally(made(10))
    both = left + right
    both.add(made(1)[0])
    assert (left, right) == (tally(made(20)), tally(made(10)))
    left += right
    assert (left.summary().samples, right) == (30, tally(made(10)))
    assert sum([right, right], Tally()) == right + right
    both = tally(made(10))
    both.merge(right)
    assert (both, right) == (right + right, tally(made(10)))
    with pytest.raises(InputError, match="merge: expected a Tally, got 5"):
        both.merge(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Tally("ragas")  # it starts with nothing


def test_two_definitions_do_not_add_up_and_nothing_is_counted() -> None:
    verdicts = Verdicts.from_matrices([False, None], [[True], [True]], [[True]])
    ragas = Tally()
    paper = Tally()
    high = Tally()
    ragas.add(score(verdicts))
    paper.add(score(verdicts, definition="paper"))
    high.add(score(verdicts, undetermined="high"))
    before = pickle.dumps(ragas)
    with pytest.raises(InputError, match="one definition, 'ragas', got 'paper'"):
        add(ragas, paper)
    assert (ragas + high).summary().relevant is not None  # the same ranges, whatever a host shows
    with pytest.raises(TypeError):
        add(ragas, 5)
    with pytest.raises(InputError, match="result 'b': expected results of one definition"):
        ragas.add(Result("b", score(verdicts, definition="paper")))
    assert pickle.dumps(ragas) == before
