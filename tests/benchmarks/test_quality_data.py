"""What `judge_quality.py` measures with: the facts by hand and their rules."""

from __future__ import annotations

import pytest

from benchmarks.claims_quality import Answer, Fact, answers, read, states

ANSWERS = answers()


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.question for answer in ANSWERS])
def test_a_rule_holds_for_its_own_fact_alone(answer: Answer) -> None:
    for fact in answer.facts:
        stated = [other for other in answer.facts if states(fact.claim, other.holds)]
        assert stated == [fact]


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.question for answer in ANSWERS])
def test_the_list_by_hand_is_without_fault(answer: Answer) -> None:
    reading = read(answer, [fact.claim for fact in answer.facts])
    assert reading.is_clean
    assert reading.compound == []
    assert reading.error == 0


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.question for answer in ANSWERS])
def test_the_rule_of_an_idle_sentence_holds_for_no_fact(answer: Answer) -> None:
    for rule in answer.idle:
        assert states(answer.text, rule)
        assert not any(states(fact.claim, rule) for fact in answer.facts)


MUSEUM = Answer(
    "negation",
    "tune",
    "Is the museum open on Mondays?",
    "The museum is not open on Mondays. It costs 3.5 euros. I hope this helps.",
    (
        Fact("The museum is not open on Mondays.", "museum ~|closed monday"),
        Fact("The museum costs 3.5 euros.", "3.5", wrong=True),
    ),
    ("hope|help",),
)


@pytest.mark.parametrize(
    ("claims", "faults", "error"),
    [
        # The list by hand has one wrong claim of two: 1/2.
        (["The museum is closed on Mondays.", "The entry costs 3.5 euros."], {}, 0),
        # The negation is lost: the claim says no fact, and the fact is missed. 1/2 as well.
        (
            ["The museum is open on Mondays.", "The museum costs 3.5 euros."],
            {"invented": 1, "missed": 1},
            0,
        ),
        # 35, 3.55 and 13.5 are other numbers; of no claim but one that is right, 0 are wrong.
        (["The museum isn't open on Mondays."], {"missed": 1}, 1 / 2),
        (
            ["It costs 35, 3.55 or 13.5 euros."],
            {"invented": 1, "missed": 2, "not_alone": 1},
            1 / 2,
        ),
        # The second claim holds both, and says more than the first; the third does not: 3/3 wrong.
        (
            [
                "Entry is 3.5 euros.",
                "The museum, not open on Mondays, costs 3.5 euros.",
                "The entry costs 3.5 euros.",
            ],
            {"compound": 1, "repeated": 1},
            1 / 2,
        ),
        # 1/3 are wrong.
        (
            ["The museum is never open on Mondays.", "Entry is 3.5 euros.", "I hope this helps."],
            {"invented": 1, "idle": 1},
            1 / 6,
        ),
    ],
)
def test_the_faults_of_a_list_of_claims_are_counted_by_kind(
    claims: list[str], faults: dict[str, int], error: float
) -> None:
    reading = read(MUSEUM, claims)
    names = ("invented", "idle", "repeated", "compound", "not_alone", "missed")
    assert {
        name: len(getattr(reading, name)) for name in names if getattr(reading, name)
    } == faults
    assert reading.error == pytest.approx(error)
    assert reading.vanished == (reading.wrong == 0)
