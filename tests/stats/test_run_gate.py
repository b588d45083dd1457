"""The gate of a run. What each case ends as follows from the counts written beside it."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import InputError, Result, Score, Verdicts, gate_run, score, summarize
from noisesense.stats.gate import RunOutcome
from support.simulated import score_of

SILENT = score(Verdicts(response_claims=()))
LOST = score(Verdicts(response_claims=(), chunks=()))
FAILED = Result("f", error="timed out")
OPEN = score(Verdicts.from_matrices([None], [[True]], [[True]]))
ECHO = score(Verdicts.from_matrices(
    [True], [[True]], [[True]], response_claims=["a"], reference_claims=["a"]
))  # fmt: skip
HALF = score_of((1, 2))
NONE = score_of((0, 2))
ALL = score_of((2, 2))
ALL_AS_ZERO = score(ALL.verdicts, empty="zero")
SILENT_AS_ZERO = score(Verdicts(response_claims=(), chunks=({"text": "c"},)), empty="zero")

# By name: results, options beside the limit of 0.5, the outcome and what the reason says.
CASES: dict[str, tuple[list[Result | Score], dict[str, Any], RunOutcome, str]] = {
    "at the limit": ([HALF] * 10, {}, "pass", ""),
    "above": ([ALL, HALF], {}, "fail", "the relevant mean, 0.7500, is above 0.5"),
    # (0 + 9 × 0.5) / 9; one of ten has nothing to measure, and 1 / 10 is not above 0.1.
    "as many as may be": ([HALF] * 9 + [SILENT], {}, "pass", "1 of 10 answers claims nothing"),
    "one more": (
        *([HALF] * 8 + [SILENT, LOST], {}, "not measured"),
        "2 of 10 samples have no figure (1 of 10 answers claims nothing, for 1 of 10 "
        "questions nothing was retrieved); at most 10% may do so (noisesense gate "
        "--max-undefined, in Python max_undefined=, allows more)",
    ),
    "what failed was not measured": (
        *([NONE] * 8 + [FAILED, SILENT], {}, "not measured"),
        "2 of 10 samples have no figure (1 of 10 answers claims nothing, 1 of 10 samples failed)",
    ),
    "more may be": ([NONE] * 8 + [SILENT] * 2, {"max_undefined": 0.2}, "pass", "2 of 10"),
    "nothing measured": (
        [LOST] * 3,
        {"max_undefined": 1},
        "not measured",
        "nothing was measured: for 3",
    ),
    "no results": ([], {}, "not measured", "nothing was measured: there are no results"),
    "all failed": (
        [FAILED] * 3,
        {},
        "not measured",
        "nothing was measured: 3 of 3 samples failed",
    ),
    "stopped early": (
        *([NONE] * 8, {"min_samples": 60}, "not measured"),
        "only 8 samples, and at least 60 were expected",
    ),
    "enough": ([NONE] * 60, {"min_samples": 60}, "pass", ""),
    # With the open one as noise (4 × 0.5 + 1) / 5 = 0.6, else 0.4.
    "open": (
        [HALF] * 4 + [OPEN],
        {"max_unanswered": 1},
        "undecided",
        "lies between 0.4000 and 0.6000",
    ),
    # Needed: of two correct claims that they are, 4 times; of the open one, its chunk and whether
    # that is relevant, too. One of 11 is open: 9.1%.
    "too much is open": (
        *([NONE] * 4 + [OPEN], {}, "not measured"),
        "too many verdicts have no answer: 1 of 11 that the score needs; at most 5% may have ",
    ),
    "a fail is graver than too little": ([ALL, LOST], {}, "fail", "is above 0.5; 1 of 2 samples "),
    # Zero for a refusal is a figure, and no measurement: of 40 answers 39 refused, and it passed.
    "zero by convention": (
        *([ALL_AS_ZERO] + [SILENT_AS_ZERO] * 9, {}, "not measured"),
        "9 of 10 samples have no figure (9 of 10 answers claim nothing)",
    ),
    "no interval": ([HALF], {"by_interval": True}, "undecided", "has no interval"),
    "near": (
        *([NONE, ALL] * 20, {"by_interval": True}, "warn"),
        "40 samples are too few to tell whether the relevant mean is above 0.5: here it is 0.5000",
    ),
    "too few may not pass": (
        *([NONE, ALL] * 20, {"by_interval": True, "fail_undecided": True}, "undecided"),
        "40 samples are too few to tell whether the relevant mean is above 0.5",
    ),
    "an echo is no matter of numbers": (
        [ECHO] * 10,
        {"by_interval": True, "fail_undecided": True},
        "warn",
        "the response is the reference, word for word, in 10 of 10",
    ),
    "far below": ([NONE] * 40, {"by_interval": True}, "pass", ""),
    "of the other mode": ([ALL], {"mode": "irrelevant"}, "pass", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_ends_as_its_case_says_and_gives_the_reason(name: str) -> None:
    results, options, outcome, said = CASES[name]
    found = gate_run(summarize(results), 0.5, **options)
    assert found.outcome == outcome, found
    assert bool(found) == found.passed == (outcome in ("pass", "warn")), found
    assert said in found.reason
    assert bool(said) == bool(found.reason)


@pytest.mark.parametrize("count", [float("nan"), "60", None, -1])
def test_a_least_number_of_samples_that_is_no_whole_number_is_an_error(count: int) -> None:
    with pytest.raises(InputError, match="min_samples: expected a whole number"):
        gate_run(summarize([NONE]), 0.5, min_samples=count)


def test_a_mode_that_the_definition_does_not_have_is_not_measured() -> None:
    run = summarize([score(HALF.verdicts, definition="validmind")])
    assert gate_run(run, 0.5).outcome == "pass"
    asked = gate_run(run, 0.5, mode="irrelevant")
    assert asked.outcome == "not measured"
    assert asked.reason == "the irrelevant mean is undefined"


def test_nothing_retrieved_is_measured_where_the_definition_counts_claims_from_nowhere() -> None:
    claims = [{"text": "a", "correct": True, "entailed_by": []}]
    made_up = Verdicts.model_validate({"response_claims": claims, "chunks": []})
    run = summarize([score(made_up, definition="validmind")] * 10)
    found = gate_run(run, 0.5)
    said = "for 10 of 10 questions nothing was retrieved"
    assert found.outcome == "pass"
    assert found.reason == said


@pytest.mark.parametrize("option", ["limit", "max_undefined", "max_unanswered", "min_correct"])
def test_an_option_that_is_no_share_is_an_error_also_of_an_empty_run(option: str) -> None:
    with pytest.raises(InputError, match=f"{option}: expected a number from 0 to 1"):
        gate_run(summarize([]), **{"limit": None, option: 20})
