"""What a comparison says beside its table, and that both say the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisesense import Comparison, Result, Verdicts, compare, score
from noisesense_adapters.evaluate.compare_wording import (
    comparison_sentences,
    standing,
    undecided_sentence,
)

RELEVANT, IRRELEVANT = (0, 1)


def run_of(wrong: Sequence[int], chunk: int = RELEVANT, *, claims: int = 4) -> list[Result]:
    """Each with so many wrong claims, entailed by that chunk; the rest are correct."""
    found: list[Result] = []
    for i, count in enumerate(wrong):
        stated = [
            {"text": str(j), "correct": j >= count, "entailed_by": [chunk]} for j in range(claims)
        ]
        chunks = [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}]
        known = Verdicts.model_validate({"response_claims": stated, "chunks": chunks})
        found.append(Result(f"q{i}", score(known)))
    return found


NONE = [0] * 40
SOME = [0, 1] * 20
"""Half of the samples with one wrong claim of four: a mean of 0.125 and, beside none, an interval
of 0.125 ± t · s / √40 with s = 0.1266, t = 2.0227: 0.0845 to 0.1655."""


def beside(comparison: Comparison) -> list[str]:
    """The sentences on noise, without the figures behind them."""
    said = [each for each in comparison_sentences(comparison) if "nois" in each]
    return [f"{each.partition(':')[0]}{each.rpartition(')')[2]}" for each in said]


@pytest.mark.parametrize(
    ("margin", "worse", "better", "cells"),
    [
        (0.0, "B is noisier.", "B is less noisy.", ("worse", "better")),
        (
            0.05,
            "B is noisier by more than 0.05.",
            "B is less noisy by more than 0.05.",
            ("worse", "better"),
        ),
        (
            0.12,
            "B is noisier; whether by more than 0.12, these 40 pairs do not tell.",
            "B is less noisy; whether by more than 0.12, these 40 pairs do not tell.",
            ("worse, perhaps within 0.12", "better, perhaps within 0.12"),
        ),
        (
            0.3,
            "B is noisier, but not by more than 0.3.",
            "B is less noisy, but not by more than 0.3.",
            ("the same within 0.3", "the same within 0.3"),
        ),
    ],
)
def test_the_sentence_says_what_the_table_says(
    margin: float, worse: str, better: str, cells: tuple[str, str]
) -> None:
    up = compare(run_of(NONE), run_of(SOME), margin=margin)
    down = compare(run_of(SOME), run_of(NONE), margin=margin)
    assert up.any is not None
    assert down.any is not None
    assert beside(up) == [worse]
    assert beside(down) == [better]
    assert (standing(up.any), standing(down.any)) == cells


def test_figures_and_correct_claims_stand_in_the_sentences() -> None:
    """B has 4 correct claims an answer, A 3.5; a margin of 0.1 is 0.35 of those."""
    down = compare(run_of(SOME), run_of(NONE), margin=0.1)
    noise, correct = comparison_sentences(down, "the earlier run", "This run")
    assert noise.startswith(
        "This run is less noisy: in all claims from chunks its mean is 0.00, that of the earlier "
        "run 0.12 (difference -0.1"
    )
    assert correct.startswith(
        "This run has more correct claims: 4.00 an answer, the earlier run has 3.50 (difference 0."
    )
    assert correct.endswith(
        "; whether by more than 0.35 (0.1 of the earlier run's 3.5000), these 40 pairs do not "
        "tell."
    )
    up = compare(run_of(NONE), run_of(SOME))
    assert [*comparison_sentences(up)][1].startswith("B has fewer correct claims: 3.50 an answer")
    assert list(comparison_sentences(compare(run_of(SOME), run_of(SOME)))) == []


def test_noise_that_moves_to_the_other_mode_is_said_of_both() -> None:
    """All wrong claims come from the irrelevant chunk before, from the relevant one after."""
    moved = compare(run_of(SOME, IRRELEVANT), run_of(SOME, RELEVANT))
    assert beside(moved) == ["B is noisier in the relevant mode.",
                             "B is less noisy in the irrelevant mode."]  # fmt: skip


def test_a_mode_that_is_worse_is_said_beside_a_whole_that_may_be_within_the_margin() -> None:
    """All noise moves to the relevant mode, a sixth of each sample's claims. In half of them it is
    a twelfth more than it was: 0.042 with an interval of about 0.028 to 0.055."""
    before = run_of([1, 2] * 20, IRRELEVANT, claims=12)
    after = run_of([2] * 40, RELEVANT, claims=12)
    assert beside(compare(before, after, margin=0.05)) == [
        "B is noisier; whether by more than 0.05, these 40 pairs do not tell.",
        "B is noisier by more than 0.05 in the relevant mode.",
        "B is less noisy by more than 0.05 in the irrelevant mode.",
    ]


def mixed(up: int, down: int, same: int) -> Comparison:
    """So many samples with a wrong claim more of four, so many with one less; margin 0.05."""
    before = [0] * up + [1] * down + [0] * same
    after = [1] * up + [0] * down + [0] * same
    return compare(run_of(before), run_of(after), margin=0.05)


@pytest.mark.parametrize(
    ("up", "down", "same", "cell", "said"),
    [
        # Ten differences of ±0.25: s = 0.264, and 0 ± 2.3 · 0.264 / √10 is about ±0.19.
        (5, 5, 0, "too few to say", "80 of 100 comparisons find that a difference of 0."),
        # 3 of 30 lower by 0.25: s = 0.0763, -0.025 ± 2.05 · 0.0763 / √30 is -0.053 to 0.004.
        (0, 3, 27, "not worse", "whether B is better by more than 0.05, these 30 pairs do not"),
        (3, 0, 27, "not better", " is more than 0.05"),
    ],
)
def test_what_is_known_of_what_is_not_decided(
    up: int, down: int, same: int, cell: str, said: str
) -> None:
    found = mixed(up, down, same).any
    assert found is not None
    assert found.decision == "undecided"
    assert standing(found) == cell
    assert said in (undecided_sentence(found) or "")


def test_within_the_margin_but_for_a_rare_pair_is_too_few_to_say() -> None:
    """Differences of ±0.025: 0 ± 0.008. Half a pair more that differs by 1 is 0.5 / 40.5 alone."""
    found = compare(run_of([0, 1] * 20, claims=40), run_of([1, 0] * 20, claims=40), margin=0.02)
    assert found.any is not None
    assert found.any.decision == "undecided"
    assert standing(found.any) == "too few to say"


def test_without_a_margin_the_difference_that_is_found_stands_alone() -> None:
    found = compare(run_of([0] * 5 + [1] * 5), run_of([1] * 5 + [0] * 5)).any
    assert found is not None
    assert found.seen is not None
    assert undecided_sentence(found) == (
        f"with as many pairs, 80 of 100 comparisons find a difference of {found.seen:.2g}"
    )


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_no_pair_differs(margin: float) -> None:
    """A beta distribution of half a pair beside 14 is below 0.17 with 97.5%."""
    found = compare(run_of([0, 1] * 7), run_of([0, 1] * 7), margin=margin).any
    assert found is not None
    assert undecided_sentence(found) == (
        "no pair differs, but 14 pairs do not rule out a difference of up to 0.17"
    )
    lone = compare(run_of([0]), run_of([0])).any
    assert lone is not None
    assert undecided_sentence(lone) is None  # no interval


def test_pairs_that_differ_are_counted() -> None:
    """Two of four; they cancel out, in the mean and in their cluster."""
    names = "aabb"
    before, after = (
        [Result(each.id, each.score, cluster=name) for name, each in zip(names, run, strict=True)]
        for run in (run_of([0, 1, 2, 2]), run_of([1, 0, 2, 2]))
    )
    found = compare(before, after).any
    assert found is not None
    assert found.differing == 2
    assert found.difference == (0.0, 0.0)


def test_fewer_than_six_pairs_are_too_few_to_say() -> None:
    few = compare(run_of([0] * 5), run_of([4] * 5)).any
    assert few is not None
    assert standing(few) == "too few to say"
    assert undecided_sentence(few) is None
