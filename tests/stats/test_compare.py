"""Comparisons: pairing, decisions, and what changed."""

from __future__ import annotations

import json
import random

import pytest
from scipy import stats

from noisesense import InputError, Range, Result, Sample, Verdicts, compare, score
from noisesense.scoring.definitions import Mode
from noisesense.stats.compare import ClaimChange, SampleChange
from support.simulated import POPULATIONS, Draw, result_of

Claim = tuple[str, bool, list[int]]


def run(*draws: Draw) -> list[Result]:
    return [result_of(i, draw) for i, draw in enumerate(draws)]


def told(name: str, *claims: Claim, question: str = "", reference: str = "r") -> Result:
    """A result with claims in words; chunk 0 is relevant, chunk 1 is not."""
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [
                {"text": text, "correct": correct, "entailed_by": chunks}
                for text, correct, chunks in claims
            ],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )
    sample = Sample.model_validate(
        {
            "user_input": question,
            "response": "; ".join(text for text, *_ in claims),
            "reference": reference,
            "retrieved_contexts": ["a", "b"],
        }
    )
    return Result(name, score(verdicts), sample=sample if question else None)


def test_differences_derived_by_hand() -> None:
    # A: 1/2, 0, 1; B: 1, 0, 1/2. Differences 1/2, 0, −1/2.
    found = compare(run((1, 2), (0, 3), (2, 2)), run((2, 2), (0, 1), (1, 2)))
    mode = found.relevant
    assert mode is not None
    assert (mode.pairs, mode.mean_a.value, mode.mean_b.value, mode.difference.value) == (
        3,
        0.5,
        0.5,
        0.0,
    )
    assert mode.decision == "undecided"
    assert found.worse == ()
    assert (found.definition, found.paired_by, found.pairs) == ("ragas", "id", 3)
    assert "relevant: 3 pairs; fewer than 6 decide nothing." in found.warnings


def test_a_clear_difference_is_decided() -> None:
    before, after = run(*[(0, 2), (1, 4)] * 20), run(*[(1, 2), (2, 4)] * 20)
    worse, better = compare(before, after), compare(after, before)
    assert worse.relevant is not None
    assert better.relevant is not None
    assert (worse.relevant.decision, better.relevant.decision) == ("worse", "better")
    assert worse.worse == ("relevant",)
    assert worse.relevant.interval is not None
    assert better.relevant.interval is not None
    low, high = worse.relevant.interval[:2]
    assert low < worse.relevant.difference.value == 0.375 < high  # type: ignore[operator]
    assert better.relevant.interval[:2] == pytest.approx((-high, -low), abs=0.02)
    # The irrelevant mode is 0 in both: half a pair that nobody saw is left beside 40.
    assert worse.irrelevant is not None
    assert worse.irrelevant.decision == "undecided"
    assert worse.irrelevant.interval is not None
    reach = stats.beta.ppf(0.975, 0.5, 40)
    assert worse.irrelevant.interval[:2] == pytest.approx((-reach, reach), abs=0.01)


def test_false_alarms_are_rare_where_few_samples_differ() -> None:
    """150 pairs of runs of one system, of which the bootstrap would report one in eight."""
    alarms = 0
    for seed in range(150):
        rng = random.Random(seed)
        a: list[Draw] = []
        b: list[Draw] = []
        for _ in range(60):
            odds = POPULATIONS[1].odds(rng)
            first = POPULATIONS[1].draw(rng, odds)
            a.append(first)
            b.append(first if rng.random() < 0.7 else POPULATIONS[1].draw(rng, odds))
        mode = compare(run(*a), run(*b), resamples=400).relevant
        assert mode is not None
        alarms += mode.decision != "undecided"
    assert alarms <= 9, "6%"


def test_what_cannot_be_paired_is_said() -> None:
    a = [result_of("x", (1, 2)), result_of("a", (1, 2)), Result("f", error="no")]
    b = [result_of("f", (1, 2)), result_of("x", (0, 2)), result_of("b", (1, 2))]
    found = compare(a, b, min_paired=0.6)
    assert (found.pairs, found.only_a, found.only_b, found.failed) == (2, ("a",), ("b",), ("f",))
    assert found.relevant is not None
    assert found.relevant.pairs == 1
    assert found.warnings[0].startswith("samples only in A: 1, only in B: 1")


def test_undefined_samples_are_in_no_figure() -> None:
    nothing = Result("0", score(Verdicts(response_claims=())))
    found = compare([nothing, result_of("1", (1, 2))], run((1, 2), (2, 2)))
    assert found.relevant is not None
    assert (found.relevant.pairs, found.relevant.undefined) == (1, 1)
    assert found.relevant.difference.value == 0.5


def test_pairing_by_question() -> None:
    a = [
        told("a1", ("c", True, []), question="Who?"),
        told("a2", ("d", False, [0]), question="When?"),
    ]
    b = [
        told("b2", ("e", True, []), question="When?"),
        told("b1", ("c", True, []), question="Who?"),
    ]
    found = compare(a, b)
    assert (found.paired_by, found.pairs, found.only_a) == ("question", 2, ())
    (change,) = found.changes
    assert (change.id, change.difference("relevant")) == ("a2", (-1.0, -1.0))
    with pytest.raises(InputError, match="paired by id: expected samples that both runs have"):
        compare(a, b, pair_by="id")
    # The same question with another reference is another sample.
    other = [told("b1", ("c", True, []), question="Who?", reference="another")]
    with pytest.raises(InputError, match="paired by question"):
        compare(a, other)


def test_claims_that_changed() -> None:
    before = told("q", ("It is Old.", False, [0]), ("It is red.", True, []), ("Gone.", False, []))
    after = told("q", ("it is  old.", True, []), ("It is red.", True, []), ("New.", False, [1]))
    found = compare([before], [after])
    (change,) = found.changes
    assert change.claims == (
        ClaimChange("It is Old.", "relevant", "correct"),
        ClaimChange("Gone.", "hallucination", None),
        ClaimChange("New.", None, "irrelevant"),
    )
    assert change.a == {"relevant": (1 / 3, 1 / 3), "irrelevant": (0.0, 0.0)}
    assert change.b == {"relevant": (0.0, 0.0), "irrelevant": (1 / 3, 1 / 3)}
    assert change.largest == 1 / 3
    assert found.transitions == {
        ("relevant", "correct"): 1,
        ("correct", "correct"): 1,
        ("hallucination", None): 1,
        (None, "irrelevant"): 1,
    }


def test_a_claim_said_twice_is_matched_in_order() -> None:
    before = told("q", ("c", True, []), ("c", False, [0]))
    after = told("q", ("c", True, []), ("c", False, [0]), ("c", False, []))
    (change,) = compare([before], [after]).changes
    assert change.claims == (ClaimChange("c", None, "hallucination"),)


def test_samples_that_changed_most_come_first() -> None:
    found = compare(run((0, 4), (0, 4), (0, 4), (1, 4)), run((1, 4), (4, 4), (0, 4), (0, 4)))
    assert [change.id for change in found.changes] == ["1", "0", "3"]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (run((0, 1)), [], "B: expected at least one result, got none"),
        ([result_of("a", (0, 1))] * 2, run((0, 1)), "A: expected each sample once"),
        (
            run((0, 1)),
            [Result("0", score(Verdicts(response_claims=()), definition="paper"))],
            "B, result '0': expected results scored alike",
        ),
        (
            run((0, 1)),
            [Result("0", score(Verdicts(response_claims=()), empty="zero"))],
            "read both with one definition",
        ),
    ],
)
def test_runs_that_cannot_be_compared(a: list[Result], b: list[Result], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(a, b)


def test_a_definition_without_irrelevant_mode_and_a_sample_without_claims() -> None:
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    one = Result("a", score(table, definition="validmind"))
    assert compare([one], [one]).worse == ()
    empty = compare([Result("a", score(Verdicts(response_claims=())))], [result_of("a", (1, 2))])
    assert empty.relevant is not None
    assert (empty.relevant.pairs, empty.relevant.undefined) == (0, 1)
    assert empty.relevant.mean_a is empty.relevant.difference is None
    with pytest.raises(InputError, match="margin"):
        compare([one], [one], margin=2)


def test_an_unknown_way_to_pair() -> None:
    with pytest.raises(InputError, match="pair_by: expected 'id' or 'question'"):
        compare(run((0, 1)), run((0, 1)), pair_by="text")  # type: ignore[arg-type]


def test_all_failed() -> None:
    found = compare([Result("a", error="no")], [Result("a", error="no")])
    assert (found.pairs, found.failed, found.relevant, found.clusters) == (1, ("a",), None, None)


def test_plain_data() -> None:
    found = compare(run((0, 4), (1, 4)), run((1, 4), (1, 4)))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["relevant"]["interval"]["method"] == "t"
    assert data["changes"][0]["claims"][0]["before"] == "correct"
    assert {"before": "relevant", "after": "relevant", "claims": 1} in data["transitions"]


def test_warnings_name_what_was_compared() -> None:
    together = [result_of(i, (i % 2, 2), cluster="the only one") for i in range(40)]
    failed = [Result("39", error="no")]
    assert compare(together, [*together[:39], *failed]).warnings == (
        "1 sample failed in A or in B and enter no figure.",
        "relevant: 1 cluster; fewer than 6 decide nothing.",
        "irrelevant: 1 cluster; fewer than 6 decide nothing.",
    )


def test_pairs_that_are_all_the_same_are_not_decided() -> None:
    same = compare(run(*[(1, 5)] * 20), run(*[(1, 5)] * 20)).relevant
    assert same is not None
    assert (same.difference.value, same.decision) == (0.0, "undecided")


def one(low: float, high: float) -> dict[Mode, tuple[float, float] | None]:
    return {"relevant": (low, high), "irrelevant": None}


def test_what_is_certain_to_have_changed() -> None:
    """A value from 0 to 1/2 and one of 1/2 may be the same; one of 3/4 is at least 1/4 more. What
    has something to measure in one version alone changed as well, by no number."""
    for before, after, changed, largest in (
        (Range(0.0, 0.5), Range(0.5, 0.5), False, 0.0),
        (Range(0.5, 0.5), Range(0.0, 0.5), False, 0.0),
        (Range(0.0, 0.5), Range(0.75, 0.75), True, 0.25),
        (Range(0.75, 0.75), Range(0.0, 0.5), True, 0.25),
        (None, Range(0.0, 1.0), True, 0.0),
        (Range(0.0, 1.0), None, True, 0.0),
        (None, None, False, 0.0),
    ):
        a: dict[Mode, Range | None] = {"relevant": before, "irrelevant": None}
        b: dict[Mode, Range | None] = {"relevant": after, "irrelevant": None}
        change = SampleChange("a", a, b, ())
        assert (change.changed("relevant"), change.largest) == (changed, largest)
        assert not change.changed("irrelevant")


def test_changes_of_one_size_come_by_their_claims_and_then_by_their_names() -> None:
    """The values are the same: a wrong claim was replaced by another, or by two others of four."""
    before = ("x", False, [0])
    rest: list[Claim] = [("c", True, []), ("d", True, [])]
    a = [told(name, before, *rest, question=name) for name in ("3", "1", "2")]
    b = [
        told("3", ("y", False, [0]), *rest, question="3"),
        told("1", ("y", False, [0]), *rest, question="1"),
        told("2", ("y", False, [0]), ("c", True, []), ("e", True, []), question="2"),
    ]
    assert [change.id for change in compare(a, b).changes] == ["2", "1", "3"]


def test_an_interval_of_what_is_all_open_reaches_to_both_sides() -> None:
    # A is 0, B from 0 to 1: half a pair that nobody saw is left beside 20 differences of 0.
    clean = [Result(str(i), score(Verdicts.from_matrices([True], [[True]]))) for i in range(20)]
    verdicts = Verdicts.from_matrices([None], [[True]], relevant=[True])
    unclear = [Result(str(i), score(verdicts)) for i in range(20)]
    reach = stats.beta.ppf(0.975, 0.5, 20)
    for a, b, ends in ((clean, unclear, (-reach, 1.0)), (unclear, clean, (-1.0, reach))):
        mode = compare(a, b).relevant
        assert mode is not None
        assert mode.interval is not None
        assert mode.interval[:2] == pytest.approx(ends, abs=0.02)
        assert (mode.interval.method, mode.decision) == ("dirichlet-range", "undecided")


def test_a_value_that_changed_though_no_claim_became_of_another_kind() -> None:
    """By the paper's definition a claim from a relevant chunk counts in the other mode, too, as
    soon as an irrelevant one entails it."""
    tables = (
        Verdicts.from_matrices([False], [[True, other]], None, [True, False])
        for other in (False, True)
    )
    a, b = (Result("q", score(table, definition="paper")) for table in tables)
    (change,) = compare([a], [b]).changes
    assert (change.claims, change.largest) == ((), 1.0)
    assert change.difference("relevant") == (0.0, 0.0)
    assert change.difference("irrelevant") == (1.0, 1.0)


def test_clusters_where_some_are_missing() -> None:
    named = [result_of(i, (i % 2, 2), cluster=i % 3) for i in range(6)]
    mixed = [*named[:5], result_of(5, (1, 2))]
    assert compare(named, named).clusters == compare(named, named, cluster=True).clusters == 3
    assert compare(named, named, cluster=False).clusters is None
    assert compare(mixed, mixed).clusters is None
    with pytest.raises(InputError, match="A, cluster: expected a cluster for every pair"):
        compare(mixed, mixed, cluster=True)


def test_warnings_count_what_is_missing() -> None:
    whole = [result_of(i, (i % 2, 2)) for i in range(31)]
    assert compare(whole[:30], whole[:30]).warnings == ()
    few = "relevant: 29 pairs; only large differences can be decided."
    assert few in compare(whole[:29], whole[:29]).warnings
    left = "samples only in A: 1, only in B: 0; they are in no figure."
    assert compare(whole, whole[:30]).warnings == (left,)
    right = "samples only in A: 0, only in B: 1; they are in no figure."
    assert compare(whole[:30], whole).warnings == (right,)
    unclear = score(Verdicts.from_matrices([None], [[True]], relevant=[True]))
    found = compare(whole[:30], [Result("0", unclear), *whole[1:30]])
    assert found.warnings[0].startswith("relevant: 1 of 30 pairs is undetermined; the difference")
    assert found.relevant is not None
    assert found.relevant.undetermined == 1
    assert found.relevant.difference == pytest.approx((0, 1 / 30))
    turned = compare([Result("0", unclear), *whole[1:30]], whole[:30]).relevant
    assert turned is not None
    assert (turned.undetermined, turned.difference) == (1, pytest.approx((-1 / 30, 0)))


def _versions(a: list[int], b: list[int]) -> tuple[list[Result], list[Result]]:
    """Noisy claims, of eight, of the same samples in two versions."""
    first, second = ([result_of(i, (n, 8)) for i, n in enumerate(run)] for run in (a, b))
    return first, second


@pytest.mark.parametrize("pairs", [1, 2, 5, 6, 7])
def test_fewer_than_six_pairs_decide_nothing_and_say_so(pairs: int) -> None:
    """0.125 became 1.000 in all of them."""
    found = compare(*_versions([1] * pairs, [8] * pairs))
    assert found.relevant is not None
    assert found.relevant.decision == ("worse" if pairs >= 6 else "undecided")
    assert found.relevant.too_few == found.too_few == (pairs < 6)
    assert any("fewer than 6 decide nothing" in each for each in found.warnings) == (pairs < 6)


def test_the_same_is_not_said_where_one_sample_in_fourteen_became_a_catastrophe() -> None:
    """Wanted: at most 2.5% of runs. The true difference is 1/14, the margin 0.05."""
    for size in (10, 20, 40, 70, 100, 150):
        wrong = 0.0
        for hits in range(size + 1):
            chance = float(stats.binom.pmf(hits, size, 1 / 14))
            if chance > 1e-6 and hits / size <= 0.05:
                versions = _versions([0] * size, [8] * hits + [0] * (size - hits))
                found = compare(*versions, margin=0.05, resamples=500).relevant
                assert found is not None
                wrong += chance * (found.decision == "same")
        assert wrong <= 0.025, size


def test_the_same_is_monotone_in_the_margin_and_in_the_difference() -> None:
    decisions = [
        compare(*_versions([2] * 60, [2 + (i < hits) for i in range(60)]), margin=margin).relevant
        for hits, margin in ((0, 0.1), (1, 0.1), (8, 0.1), (40, 0.1), (8, 0.2), (8, 0.5))
    ]
    assert [each and each.decision for each in decisions] == [
        *("same", "same", "same", "undecided", "same", "same")
    ]
