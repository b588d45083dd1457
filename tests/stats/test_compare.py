"""Comparisons: pairing, decisions, and what changed."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import stats

from noisesense import InputError, Result, Sample, Verdicts, compare, score
from noisesense.scoring.definitions import Mode
from noisesense.stats.compare import ClaimChange, SampleChange, _decision
from noisesense.stats.interval import Interval, Resampling, sign_flip_interval
from noisesense.stats.resampling import Unit
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
    assert (mode.pairs, mode.mean_a, mode.mean_b, mode.difference) == (3, 0.5, 0.5, 0.0)
    assert mode.decision == "undecided"
    assert found.worse == ()
    assert (found.definition, found.paired_by, found.pairs) == ("ragas", "id", 3)
    assert "relevant: 3 pairs; below 30 little can be decided." in found.warnings


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
    assert low < worse.relevant.difference == 0.375 < high  # type: ignore[operator]
    assert better.relevant.interval[:2] == pytest.approx((-high, -low), abs=0.02)
    # The irrelevant mode is 0 in both: 40 pairs cannot have missed more than 1 − 0.025^(1/40).
    assert worse.irrelevant is not None
    assert worse.irrelevant.decision == "undecided"
    assert worse.irrelevant.interval is not None
    assert worse.irrelevant.interval[:2] == pytest.approx((-0.0881, 0.0881), abs=1e-4)


@pytest.mark.parametrize("size", [6, 9, 11])
@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_that_of_all_sign_patterns(size: int, seed: int) -> None:
    """By enumeration: ``δ`` is kept unless 2.5% or less of the patterns are at least as large."""
    rng = random.Random(seed)
    differences = [round(rng.gauss(0.2, 0.3), 3) for _ in range(size)]
    units: Counter[Unit] = Counter((d, 1.0) for d in differences)
    found = sign_flip_interval(units, Resampling(0.95, 20_000, seed))
    assert found is not None

    def rejected(delta: float) -> bool:
        shifted = [d - delta for d in differences]
        flips = list(product((1, -1), repeat=size))
        sums = [sum(s * d for s, d in zip(flip, shifted, strict=True)) for flip in flips]
        above = sum(each >= sum(shifted) - 1e-12 for each in sums) / len(sums)
        below = sum(each <= sum(shifted) + 1e-12 for each in sums) / len(sums)
        return min(above, below) <= 0.025

    step = 0.03
    assert not rejected(found.low + step)
    assert not rejected(found.high - step)
    assert rejected(found.low - step)
    assert rejected(found.high + step)


def test_five_pairs_can_decide_nothing() -> None:
    # The smallest chance of any pattern is 1/32, more than 2.5%.
    units: Counter[Unit] = Counter((0.5 + i / 100, 1.0) for i in range(5))
    found = sign_flip_interval(units, Resampling())
    assert found is not None
    assert (found.low, found.high) == (-1.0, 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_zero_is_rejected_when_scipys_sign_flip_test_does(seed: int) -> None:
    rng = random.Random(seed)
    differences = [0.0] * 10 + [round(rng.gauss(0.05 * seed, 0.3), 3) for _ in range(30)]
    test = stats.permutation_test(
        (np.array(differences),),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        random_state=np.random.default_rng(seed),
    )
    found = sign_flip_interval(
        Counter((d, 1.0) for d in differences), Resampling(resamples=20_000)
    )
    assert found is not None
    assert not 0.045 < test.pvalue < 0.055, "too close to tell two random tests apart"
    assert (test.pvalue < 0.05) == (found.low > 0 or found.high < 0)


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


def test_clusters_are_flipped_whole() -> None:
    # Four documents, ten questions each, every difference the same within a document.
    a = [result_of(f"{c}/{i}", (0, 2), c) for c in range(4) for i in range(10)]
    b = [result_of(f"{c}/{i}", (1 + c % 2, 2), c) for c in range(4) for i in range(10)]
    clustered, single = compare(a, b), compare(a, b, cluster=False)
    assert clustered.relevant is not None
    assert single.relevant is not None
    assert (clustered.clusters, single.clusters) == (4, None)
    assert clustered.relevant.decision == "undecided"
    assert single.relevant.decision == "worse"
    with pytest.raises(InputError, match="a cluster for every pair"):
        compare(run((0, 1)), run((0, 1)), cluster=True)


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
    assert found.relevant.difference == 0.5


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
    assert (change.id, change.difference("relevant")) == ("a2", -1.0)
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
    assert change.a == {"relevant": 1 / 3, "irrelevant": 0.0}
    assert change.b == {"relevant": 0.0, "irrelevant": 1 / 3}
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
    assert empty.relevant.bounds_a is empty.relevant.difference_bounds is None
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
    assert data["relevant"]["interval"]["method"] == "sign-flip"
    assert data["changes"][0]["claims"][0]["before"] == "correct"
    assert {"before": "relevant", "after": "relevant", "claims": 1} in data["transitions"]


def test_warnings_name_what_was_compared() -> None:
    together = [result_of(i, (i % 2, 2), cluster="the only one") for i in range(40)]
    failed = [Result("39", error="no")]
    assert compare(together, [*together[:39], *failed]).warnings == (
        "1 sample failed in A or in B and enter no figure.",
        "relevant: 1 cluster; below 30 little can be decided.",
        "irrelevant: 1 cluster; below 30 little can be decided.",
    )


@pytest.mark.parametrize(
    ("pairs", "decision"), [(2, "undecided"), (5, "undecided"), (6, "worse"), (20, "worse")]
)
def test_pairs_that_all_differ_alike(pairs: int, decision: str) -> None:
    # Of 2ⁿ signs two give so large a sum: p = 2/2ⁿ, 0.0625 for 5 pairs and 0.03125 for 6.
    clean, noisy = run(*[(0, 5)] * pairs), run(*[(1, 5)] * pairs)
    worse, better = compare(clean, noisy).relevant, compare(noisy, clean).relevant
    assert worse is not None
    assert better is not None
    assert worse.decision == decision
    assert better.decision == decision.replace("worse", "better")
    assert worse.interval is not None
    assert better.interval is not None
    # What so many can have missed, from 0.2 towards 1, and towards −1 as far as the test allows.
    reach = 1 - 0.025 ** (1 / pairs)
    low = 0.2 - 1.2 * reach
    assert worse.interval.high == pytest.approx(0.2 + 0.8 * reach)
    expected = low if decision == "undecided" else max(low, 0.0)
    assert worse.interval.low == pytest.approx(expected, abs=1e-9)
    assert better.interval[:2] == pytest.approx((-worse.interval.high, -worse.interval.low))


def test_pairs_that_are_all_the_same_are_not_decided() -> None:
    same = compare(run(*[(1, 5)] * 20), run(*[(1, 5)] * 20)).relevant
    assert same is not None
    assert (same.difference, same.decision) == (0.0, "undecided")


@pytest.mark.parametrize("pairs", [6, 7, 9, 12])
def test_the_interval_of_few_pairs_is_what_an_exact_test_does_not_reject(pairs: int) -> None:
    rng = random.Random(pairs)
    differences = [round(rng.uniform(-0.3, 0.6), 3) for _ in range(pairs)]
    found = sign_flip_interval(Counter((d, 1.0) for d in differences), Resampling())
    assert found is not None

    def p_value(mean: float) -> float:
        shifted = [d - mean for d in differences]
        sums = [
            sum(s * d for s, d in zip(signs, shifted, strict=True))
            for signs in product((1, -1), repeat=pairs)
        ]
        at_least, at_most = (
            sum(way * each >= way * sum(shifted) - 1e-9 for each in sums) for way in (1, -1)
        )
        return 2 * min(at_least, at_most) / len(sums)

    for end, outwards in ((found.low, -1e-6), (found.high, 1e-6)):
        assert p_value(end - outwards) > 0.05
        assert p_value(end + outwards) <= 0.05


@pytest.mark.parametrize(
    ("low", "high", "margin", "decision"),
    [
        (0.0, 0.5, 0.0, "undecided"),  # what ends at the margin is not beyond it
        (0.125, 0.5, 0.125, "undecided"),
        (0.126, 0.5, 0.125, "worse"),
        (-0.5, 0.0, 0.0, "undecided"),
        (-0.5, -0.125, 0.125, "undecided"),
        (-0.5, -0.126, 0.125, "better"),
        (-0.125, 0.125, 0.125, "same"),
        (-0.126, 0.125, 0.125, "undecided"),
        (-0.125, 0.126, 0.125, "undecided"),
        (0.0, 0.0, 0.0, "undecided"),  # without a margin nothing is the same
    ],
)
def test_decisions(low: float, high: float, margin: float, decision: str) -> None:
    assert _decision(Interval(low, high, 0.95, "sign-flip", 40), margin) == decision
    assert _decision(None, margin) == "undecided"


def one(low: float, high: float) -> dict[Mode, tuple[float, float] | None]:
    return {"relevant": (low, high), "irrelevant": None}


def test_what_is_certain_to_have_changed() -> None:
    """A value from 0 to 1/2 and one of 1/2 may be the same; one of 3/4 is at least 1/4 more. What
    has something to measure in one version alone changed as well, by no number."""
    values: dict[Mode, float | None] = {"relevant": 0.5, "irrelevant": None}
    nothing: dict[Mode, tuple[float, float] | None] = {"relevant": None, "irrelevant": None}
    for before, after, changed, largest in (
        (one(0.0, 0.5), one(0.5, 0.5), False, 0.0),
        (one(0.5, 0.5), one(0.0, 0.5), False, 0.0),
        (one(0.0, 0.5), one(0.75, 0.75), True, 0.25),
        (one(0.75, 0.75), one(0.0, 0.5), True, 0.25),
        (nothing, one(0.0, 1.0), True, 0.0),
        (one(0.0, 1.0), nothing, True, 0.0),
        (nothing, nothing, False, 0.0),
    ):
        change = SampleChange("a", values, values, before, after, ())
        assert (change.changed("relevant"), change.largest) == (changed, largest)
        assert not change.changed("irrelevant")
    # Of two modes, the one that moved further.
    still: dict[Mode, tuple[float, float] | None] = {"relevant": (0, 0), "irrelevant": (0, 0)}
    for ends in ((0.25, 0.5), (0.5, 0.25)):
        moved: dict[Mode, tuple[float, float] | None]
        moved = {"relevant": (ends[0], 1.0), "irrelevant": (ends[1], 1.0)}
        assert SampleChange("a", values, values, still, moved, ()).largest == 0.5
    assert (change.difference("relevant"), change.difference("irrelevant")) == (0.0, None)
    for a, b in ((values, dict.fromkeys(values)), (dict.fromkeys(values), values)):
        assert SampleChange("a", a, b, nothing, nothing, ()).difference("relevant") is None


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


def test_what_is_meant_without_a_word() -> None:
    rng = random.Random(4)
    a, b = (run(*((rng.randint(0, 97), 97) for _ in range(30))) for _ in range(2))
    said = {"min_paired": 0.9, "margin": 0.0, "confidence": 0.95, "seed": 0, "resamples": 2000}
    assert compare(a, b) == compare(a, b, **said)  # type: ignore[arg-type]
    # Where 40% lie within, one sign pattern more moves an end.
    wide = compare(a, b, confidence=0.4)
    assert wide == compare(a, b, confidence=0.4, resamples=2000)
    assert wide != compare(a, b, confidence=0.4, resamples=2001)


def test_differences_that_only_rounding_tells_apart_are_one() -> None:
    # 3/10 - 2/10 as floats is less than 1/10.
    assert 0.3 - 0.2 < 0.1 - 0.0
    rest: list[Draw] = [(5, 10)] * 5
    clean: list[Draw] = [(0, 10)] * 5
    two_ways = compare(run(*[(2, 10), (0, 10)] * 10, *rest), run(*[(3, 10), (1, 10)] * 10, *clean))
    one_way = compare(run(*[(0, 10)] * 20, *rest), run(*[(1, 10)] * 20, *clean))
    assert two_ways.relevant is not None
    assert one_way.relevant is not None
    assert two_ways.relevant.interval == one_way.relevant.interval


def test_an_interval_of_what_is_all_open_reaches_to_both_sides() -> None:
    # A is 0, B from 0 to 1: 20 differences of 0 can have missed 1 − 0.025^(1/20) either way.
    clean = [Result(str(i), score(Verdicts.from_matrices([True], [[True]]))) for i in range(20)]
    verdicts = Verdicts.from_matrices([None], [[True]], relevant=[True])
    unclear = [Result(str(i), score(verdicts)) for i in range(20)]
    reach = 1 - 0.025 ** (1 / 20)
    for a, b, ends in ((clean, unclear, (-reach, 1.0)), (unclear, clean, (-1.0, reach))):
        mode = compare(a, b).relevant
        assert mode is not None
        assert mode.interval is not None
        assert mode.interval[:2] == pytest.approx(ends)
        assert (mode.interval.method, mode.decision) == ("sign-flip-range", "undecided")


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
    assert (change.difference("relevant"), change.difference("irrelevant")) == (0.0, 1.0)


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
    few = "relevant: 29 pairs; below 30 little can be decided."
    assert few in compare(whole[:29], whole[:29]).warnings
    left = "samples only in A: 1, only in B: 0; they are in no figure."
    assert compare(whole, whole[:30]).warnings == (left,)
    right = "samples only in A: 0, only in B: 1; they are in no figure."
    assert compare(whole[:30], whole).warnings == (right,)
    unclear = score(Verdicts.from_matrices([None], [[True]], relevant=[True]))
    found = compare(whole[:30], [Result("0", unclear), *whole[1:30]])
    assert found.warnings[0].startswith("relevant: 1 of 30 pairs is undetermined; the difference")
    assert found.relevant is not None
    assert (found.relevant.undetermined, found.relevant.difference) == (1, None)
    assert found.relevant.mean_a is not None
    assert found.relevant.mean_b is None
    assert found.relevant.difference_bounds == pytest.approx((0, 1 / 30))
    turned = compare([Result("0", unclear), *whole[1:30]], whole[:30]).relevant
    assert turned is not None
    assert (turned.undetermined, turned.mean_a, turned.difference) == (1, None, None)
