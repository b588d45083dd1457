"""The same samples judged several times."""

from __future__ import annotations

import json
import random

import pytest
from msgspec.structs import replace

from noisesense import InputError, PairingError, Result, Sample, Verdicts, score, stability
from noisesense.stats.stability import ModeStability, SampleStability
from support.simulated import result_of

# Noisy claims of four, in three repeats.
RUNS = [[0, 2, 4, 1], [0, 2, 4, 3], [0, 2, 4, 2]]
SAMPLE = Sample(user_input="q", response="a", reference="r", retrieved_contexts=["c"])


def run(noisy: list[int]) -> list[Result]:
    return [result_of(f"q{i}", (count, 4)) for i, count in enumerate(noisy)]


def test_variance_by_hand() -> None:
    found = stability(map(run, RUNS), limit=0.5)
    assert found.repeats == 3
    assert found.samples == 4
    mode = found.relevant
    assert mode.samples == 4
    assert mode.left_out == 0
    assert mode.means == pytest.approx((7 / 16, 9 / 16, 8 / 16))
    # Only q3 changes: 1/4, 3/4, 1/2 have the variance 1/16; a quarter of it is the mean of four.
    # The samples' means 0, 1/2, 1, 1/2 have the variance 1/6; less 1/64 / 3.
    (judge,) = mode.shares.values()
    assert judge.value == pytest.approx((1 / 64) / (1 / 64 + 1 / 6 - 1 / 192))
    assert mode.mean_error == pytest.approx((1 / 64 / 4) ** 0.5)
    assert judge.interval.low <= judge.value <= judge.interval.high
    assert mode.changed == (SampleStability("q3", (0.25, 0.75, 0.5), True),)


def test_a_mode_in_which_nothing_changes() -> None:
    irrelevant = stability(map(run, RUNS), limit=0.5).irrelevant
    assert irrelevant.mean_error == 0
    assert irrelevant.changed == ()
    assert irrelevant.shares == {"judge": (None, None)}


def test_stability_as_plain_data() -> None:
    data = json.loads(json.dumps(stability(map(run, RUNS), limit=0.5).to_dict()))
    assert data["relevant"]["changed"] == [
        {"id": "q3", "values": [0.25, 0.75, 0.5], "crosses": True}
    ]


def test_samples_without_a_value_are_counted() -> None:
    open_one = score(Verdicts.from_matrices([None], [[True]], relevant=[True]))
    second = [*run(RUNS[1])[:2], Result("q2", open_one), Result("q3", error="no")]
    mode = stability([run(RUNS[0]), second]).relevant
    assert mode.samples == 2
    assert mode.left_out == 2
    failed = [Result("q0", error="no"), Result("q1", error="no")]
    nothing = ModeStability("relevant", 0, 2, (), {}, None, ())
    assert stability([failed, failed]).relevant == nothing


def test_a_sample_that_the_dataset_holds_twice_counts_twice() -> None:
    """Without ids of their own both have the id of their content. Values 0, 1/4, then 1/2, 1/4:
    of each the variance is 1/8 or 0."""

    def twice(*noisy: int) -> list[Result]:
        return [replace(result_of(SAMPLE.key, (count, 4)), sample=SAMPLE) for count in noisy]

    found = stability([twice(0, 1), twice(2, 1)])
    assert found.samples == 2
    assert found.relevant.samples == 2
    assert found.relevant.mean_error == pytest.approx((1 / 16 / 2) ** 0.5)
    assert found.relevant.means == (1 / 8, 3 / 8)


def test_one_object_twice_in_a_run() -> None:
    """As `random.choices` draws it; and what the third run lacks is no sample."""
    results = [sampled(i, 1) for i in range(40)]
    twice = [*results, results[0]]
    found = stability([twice, twice])
    assert (found.samples, found.unpaired) == (41, 0)
    second = [sampled(0, 2), sampled(0, 2), *results[1:]]
    found = stability([twice, second, results[1:]])
    assert (found.samples, found.unpaired) == (39, 2)
    assert found.relevant.means == (1 / 4, 1 / 4, 1 / 4)


def sampled(number: int, noisy: int) -> Result:
    """With an id that is made from its texts."""
    sample = Sample(user_input=f"q{number}", response="a", reference="r", retrieved_contexts=["c"])
    return replace(result_of(sample.key, (noisy, 4)), sample=sample)


def answers(*rows: tuple[str, str, int]) -> list[Result]:
    """By question and answer: noisy claims of four."""
    found: list[Result] = []
    for question, answer, noisy in rows:
        sample = SAMPLE.model_copy(update={"user_input": question, "response": answer})
        found.append(replace(result_of(sample.key, (noisy, 4)), sample=sample))
    return found


def test_question_generator_and_judge_by_hand() -> None:
    """Two questions with two answers each, judged twice. Of the answers' variances 0, 1/32, 0, 0
    the mean is 1/128: the judge's. Their means are 0, 3/8 and 3/4, 1: around those of the
    questions, 3/16 and 7/8, their squares add up to 2 (3/16)² + 2 (1/8)² = 13/128; over 4 − 2 and
    less 1/128 / 2 that is 12/256: the generator's. The questions' sums 3/8 and 7/4 give
    (9/64 + 49/16) / 2 − (17/8)² / 4 = 121/256, less 13/256, over two answers each: 108/512."""
    first = answers(("p", "a", 0), ("p", "b", 1), ("q", "a", 3), ("q", "b", 4))
    again = answers(("q", "b", 4), ("q", "a", 3), ("p", "b", 2), ("p", "a", 0))
    shares = stability([first, again]).relevant.shares
    parts = {"question": 108 / 512, "generator": 12 / 256, "judge": 1 / 128}
    whole = sum(parts.values())
    assert {source: share.value for source, share in shares.items()} == {
        source: pytest.approx(part / whole) for source, part in parts.items()
    }


def test_answers_whose_question_is_not_known_are_not_those_of_one_question() -> None:
    """Four answers with the reference "r" and no question: what the generator adds is unknown."""
    first = answers(("", "a", 0), ("", "b", 1), (" ", "c", 3), ("", "d", 4))
    again = answers(("", "a", 0), ("", "b", 2), (" ", "c", 3), ("", "d", 4))
    assert [*stability([first, again]).relevant.shares] == ["judge"]


def test_unequal_numbers_of_answers_in_simulation() -> None:
    """Questions scatter by 0.2, answers by 0.1, the judge by 0.05: 76, 19 and 5%. Of 20 claims
    some are noisy, which is round to a twentieth."""
    rng = random.Random(3)
    runs: list[list[Result]] = [[], []]
    for question in range(150):
        level = rng.gauss(0.5, 0.2)
        for number in range(rng.randint(1, 4)):
            answer = level + rng.gauss(0, 0.1)
            sample = SAMPLE.model_copy(
                update={"user_input": f"{question}", "response": f"{question}.{number}"}
            )
            for run in runs:
                noisy = min(max(round(20 * (answer + rng.gauss(0, 0.05))), 0), 20)
                run.append(replace(result_of(sample.key, (noisy, 20)), sample=sample))
    shares = stability(runs).relevant.shares
    for source, share in (("question", 0.76), ("generator", 0.19), ("judge", 0.05)):
        assert shares[source].value == pytest.approx(share, abs=0.06)
        assert shares[source].interval.low < shares[source].value < shares[source].interval.high


def test_other_answers_are_no_judging_of_the_same() -> None:
    first = answers(("p", "a", 0), ("q", "a", 3))
    second = answers(("p", "b", 1), ("q", "a", 3))
    with pytest.raises(PairingError, match=r"the same answers in at least 90% .* got 1 of 2"):
        stability([first, second])


def test_one_sample_and_two() -> None:
    """Of one, nothing is known of others: no share. Two have means 1/4 and 1, whose variance is
    9/32, less 1/8 / 2 / 2."""
    one = stability([run([0]), run([2])]).relevant
    assert stability([run([0] * 20), run([2] * 19)]).unpaired == 1
    assert one.mean_error == (1 / 8) ** 0.5
    assert one.shares["judge"].value is None
    two = stability([run([0, 4]), run([2, 4])]).relevant
    assert two.shares["judge"].value == pytest.approx((1 / 16) / (1 / 16 + 9 / 32 - 1 / 32))


def test_a_mode_that_some_repeats_lack() -> None:
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    runs = [[Result("a", score(table, definition=name))] for name in ("ragas", "validmind")]
    assert stability(runs[1:] * 2).irrelevant is None
    # Several definitions are no repeats, nor are several conventions for nothing to measure.
    with pytest.raises(
        InputError, match=r"runs: expected results scored alike, got .*'validmind'"
    ):
        stability(runs)
    zero = [Result("a", score(table, empty="zero"))]
    with pytest.raises(InputError, match="'zero'"):
        stability([runs[0], zero])


def test_a_sample_has_its_name_of_the_first_repeat() -> None:
    runs = [
        [replace(result_of(name, (noisy, 4)), sample=SAMPLE)]
        for name, noisy in (("first", 0), ("second", 2))
    ]
    found = stability(runs, pair_by="question").relevant
    assert [each.id for each in found.changed] == ["first"]


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="two runs or more, got 1"):
        stability([run([0])])
    for no_runs in (run([0, 1]), [None, None]):
        with pytest.raises(InputError, match="runs: expected results of a run, got"):
            stability(no_runs)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="limit"):
        stability([run([0]), run([0])], limit=2)
    with pytest.raises(PairingError):
        stability([run([0, 0]), [result_of("other", (0, 4))]])


def test_what_crosses_the_limit_is_first() -> None:
    """Then who scatters more, then by id."""
    rows = [[1, 0, 2, 2, 0, 2], [1, 1, 3, 4, 2, 3], [1, 0, 3, 2, 0, 2]]
    mode = stability(map(run, rows), limit=0.5).relevant
    # q1 and q4 stay at or below 1/2; q2 and q5 scatter as much as each other, q3 more.
    assert [(each.id, each.crosses) for each in mode.changed] == [
        ("q3", True), ("q2", True), ("q5", True), ("q4", False), ("q1", False),
    ]  # fmt: skip
