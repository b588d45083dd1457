"""Tallies add up: parts of a run, merged in any order, are the run to the last bit."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from dataclasses import replace
from math import fsum
from operator import add

import pytest

from noisesense import InputError, Result, Tally, Usage, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS
from noisesense.stats.tally import ModeTally, cells_of, sums
from support.tables import Shape, random_pair


def results(count: int = 240, *, clusters: bool = False) -> list[Result]:
    """Scores with open verdicts, empty responses, costs that do not add up in binary, failures."""
    rng = random.Random(7)
    made: list[Result] = []
    for i in range(count):
        _, verdicts = random_pair(i, Shape(undetermined=0.1))
        cost = rng.choice([None, 0.1, 0.7, 1e-9, 123.456])
        usage = Usage(calls=rng.randrange(9), cached_calls=1, input_tokens=i, cost=cost)
        one = Result(str(i), score(verdicts, empty="zero"), usage=usage, unanswered=i % 3)
        if clusters:
            one = replace(one, cluster=f"document {rng.randrange(30)}")
        elif i % 17 == 0:
            one = Result(str(i), error="no answer", usage=usage)
        made.append(one)
    return made


def tally(some: list[Result]) -> Tally:
    made = Tally()
    for each in some:
        made.add(each)
    return made


def merged(parts: list[Tally], rng: random.Random) -> Tally:
    """Two of them at a time, in any grouping."""
    while len(parts) > 1:
        rng.shuffle(parts)
        parts.append(parts.pop() + parts.pop())
    return parts[0]


@pytest.mark.parametrize("clusters", [False, True])
def test_parts_in_any_order_and_grouping_are_the_whole(clusters: bool) -> None:
    whole = results(clusters=clusters)
    expected = tally(whole).summary(resamples=200).to_dict()
    for seed in range(6):
        rng = random.Random(seed)
        shuffled = rng.sample(whole, len(whole))
        cuts = sorted(rng.sample(range(1, len(whole)), rng.randint(1, 40)))
        parts = [tally(shuffled[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        found = merged([*parts, Tally()], rng)
        assert found == tally(whole)
        assert found.to_json() == tally(whole).to_json()
        assert found.summary(resamples=200).to_dict() == expected


def test_figures_are_those_of_the_whole_by_another_way() -> None:
    whole = results(60)
    both = tally(whole[:20]) + tally(whole[20:])
    mode = both.summary(resamples=100).relevant
    lows = [
        bounds[0] for each in whole if each.score and (bounds := each.score.bounds("relevant"))
    ]
    assert mode is not None
    assert mode.mean is not None
    assert mode.mean[0] == pytest.approx(fsum(lows) / len(lows), abs=1e-15)
    assert mode.determined + mode.undetermined == len(lows)


def test_costs_add_up_without_rounding() -> None:
    # In floats 0.1 + 0.2 + 0.3 is 0.6000000000000001 from the left and 0.6 from the right.
    def of(*costs: float | None) -> float | None:
        return (
            tally([Result("a", error="no", usage=Usage(calls=1, cost=cost)) for cost in costs])
            .summary()
            .usage.cost
        )

    assert of(0.1, 0.2, 0.3) == of(0.3, 0.2, 0.1) == fsum([0.1, 0.2, 0.3])
    assert of(1e16, 1.0, -1e16) == 1.0
    half = tally([Result("a", error="no", usage=Usage(calls=3, cost=0.5))])
    assert (half + half).summary().usage == Usage(calls=6, cost=1.0)
    assert of(None) is None
    assert of(None, 0.5, float("nan"), float("inf")) == 0.5  # nobody knows what those cost


def test_a_merge_changes_only_the_left_and_a_sum_neither() -> None:
    left, right = tally(results(20)), tally(results(10))
    before = left.to_json(), right.to_json()
    both = left + right
    assert (left.to_json(), right.to_json()) == before
    both.add(results(1)[0])
    left.merge(right)
    assert right.to_json() == before[1]
    assert left.samples == 30
    left += right
    assert left.samples == 40
    assert sum([right, right], Tally()) == right + right
    right.merge(right)
    assert right.samples == 20


def test_it_pickles_and_has_a_json_form() -> None:
    for some in ([], results(40), results(40, clusters=True)):
        one = tally(some)
        assert pickle.loads(pickle.dumps(one)) == one
        again = Tally.from_json(one.to_json())
        assert again == one
        assert again.to_json() == one.to_json()
        again.add(results(1)[0])  # and goes on counting


@pytest.mark.parametrize("name", DEFINITIONS)
def test_it_has_the_modes_of_its_definition(name: str) -> None:
    one = tally([Result("a", score(Verdicts.from_matrices([True], [[True]]), definition=name))])  # type: ignore[arg-type]
    assert Tally.from_json(one.to_json()) == one
    assert (one.summary().irrelevant is None) == (name == "validmind")


def test_a_tally_starts_with_nothing() -> None:
    with pytest.raises(TypeError):
        Tally(0)  # type: ignore[call-arg]


def test_two_definitions_do_not_merge_and_nothing_is_counted() -> None:
    verdicts = Verdicts.from_matrices([False, None], [[True], [True]], [[True]])
    ragas, paper, high = Tally(), Tally(), Tally()
    ragas.add(score(verdicts))
    paper.add(score(verdicts, definition="paper"))
    high.add(score(verdicts, undetermined="high"))
    before = ragas.to_json()
    with pytest.raises(InputError, match="one definition, 'ragas', got 'paper'"):
        ragas.merge(paper)
    assert (ragas + high).summary().relevant is not None  # the same ranges, whatever a host shows
    with pytest.raises(InputError, match="expected a Tally, got 5"):
        ragas.merge(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        add(ragas, 5)
    with pytest.raises(InputError, match="one definition"):
        ragas.add(score(verdicts, definition="paper"))
    assert ragas.to_json() == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"noisesense_tally": 2}, "noisesense_tally"),
        ({"samples": 9}, "a tally that adds up, got 9 samples, 3 scored, 1 failed"),
        ({"scored": -1}, "a position of 0 or more|0 or more"),
        ({"definition": None}, "adds up"),
        ({"definition": None, "modes": {}}, "adds up"),
        ({"in_clusters": 4}, "adds up"),
        ({"definition": "rags"}, "definition"),
        ({"rows": 1}, "only known fields, got the field 'rows'"),
        ({"cost": [1, 0]}, "cost"),
        ({"modes": {"relevant": {}}}, "adds up"),
        ({"modes": {"relevant": {}, "irrelevant": {}}}, "3 samples, as were scored, got 0"),
        (
            {"modes": {"relevant": {"times": [[2, 1, 3, 3]]}, "irrelevant": {}}},
            "noisy <= determined <= total claims, got 2, 1 and 3",
        ),
    ],
)
def test_a_form_that_is_none_or_does_not_add_up(change: dict[str, object], problem: str) -> None:
    data = tally(results(4)).to_dict()
    data = json.loads(json.dumps(data))
    assert Tally.from_dict(data).scored == 3
    with pytest.raises(InputError, match=problem):
        Tally.from_dict({**data, **change})


def test_a_form_may_leave_out_what_is_zero() -> None:
    assert Tally.from_dict({"noisesense_tally": 1}) == Tally()


def test_units_of_clusters() -> None:
    """Three samples with 1 of 10 claims add up to 0.30000000000000004; one with 3 of 10 beside two
    clean ones is the same unit. They come in ascending order, whatever was added first."""
    counted = ModeTally("relevant")
    for cluster, noisy, claims in (
        ("c", 9, 9),
        *[("a", 1, 10)] * 3,
        *[("b", n, 10) for n in (3, 0, 0)],
    ):
        cells = [[True]] * noisy + [[False]] * (claims - noisy)
        verdicts = Verdicts.from_matrices([False] * claims, cells, relevant=[True])
        counted.add(score(verdicts), cluster)
    assert list(counted.mean_units(1, clustered=True).items()) == [((0.3, 3), 2), ((1, 1), 1)]
    assert list(counted.claim_units(1, clustered=True).items()) == [((3, 30), 2), ((9, 9), 1)]
    assert list(counted.claim_units(0, clustered=False)) == [(0, 10), (1, 10), (3, 10), (9, 9)]


def test_a_sum_of_clusters_and_of_samples_without_claims_by_hand() -> None:
    """Written in ascending order, whatever came first."""
    noisy = score(Verdicts.from_matrices([False], [[True]], relevant=[True]))
    clean = score(Verdicts.from_matrices([True], [[True]], relevant=[True]))
    empty = score(Verdicts(response_claims=()))
    one = tally([Result("1", noisy, cluster="b"), Result("2", empty, cluster="a")])
    other = tally([Result("3", clean, cluster="b"), Result("4", noisy, cluster="a")])
    mode = (one + other + one).to_dict()["modes"]["relevant"]
    assert mode["undefined"] == 2
    assert mode["times"] == [(0, 1, 1, 1), (1, 1, 1, 3)]
    assert [*mode["clusters"].items()] == [
        ("a", [(1, 1, 1, 1)]),
        ("b", [(0, 1, 1, 1), (1, 1, 1, 2)]),
    ]


def test_cells_of_chunks_with_and_without_labels() -> None:
    """Is the claim correct, does each chunk entail it, and does the one without a label entail
    either claim of the reference? Open: a chunk of the first kind, and one of the second."""
    verdicts = Verdicts.from_matrices(
        [False], [[True, None]], [[True, None], [None, False]], [None, True]
    )
    assert cells_of(score(verdicts)) == (1 + 2 + 2, 1 + 1)


def test_nothing_counted() -> None:
    assert sums(Counter()) == (0, 0, 0)
    assert ModeTally("relevant").mean() is None


def test_cells_of_verdicts_that_list_no_chunks() -> None:
    """A claim that the third chunk entails: there are three chunks. One question on the reference,
    three on the claim, three on relevance, which nobody answered."""
    claim = {"text": "a", "correct": False, "entailed_by": [2]}
    scored = score(Verdicts.model_validate({"response_claims": [claim]}))
    assert cells_of(scored) == (1 + 3 + 3, 3)


def test_text_that_is_no_tally() -> None:
    for text in ("", "{", "[]", "null", '{"samples": 3}'):
        with pytest.raises(InputError):
            Tally.from_json(text)
