"""``noisesense compare``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import Result, Sample, Verdicts, compare, score, write_results
from support.command_here import Done, run_here

Capsys = pytest.CaptureFixture[str]
SAMPLES = 40
BEFORE = [0] * SAMPLES
WORSE = [1] * (SAMPLES // 2) + [0] * (SAMPLES // 2)  # a quarter more in every second sample


def verdicts(number: int, wrong: int, *, gap: bool = False) -> Verdicts:
    """Four claims from one relevant chunk: the first ``wrong`` are incorrect, or it is open."""
    claims = [{"text": f"claim {i}", "correct": i >= wrong, "entailed_by": [0]} for i in range(4)]
    if gap:
        claims[0]["correct"] = None
    chunk = {"text": f"The guide {number}.", "relevant": True, "id": "guide.md"}
    return Verdicts.model_validate({"response_claims": claims, "chunks": [chunk]})


def sample(number: int, response: str = "An answer.") -> Sample:
    return Sample(
        user_input=f"Question {number}?",
        response=response,
        reference="The answer.",
        retrieved_contexts=[f"The guide {number}."],
    )


def run_of(wrong: list[int], gaps: int = 0, response: str = "An answer.") -> Iterator[Result]:
    """Of the last ``gaps`` samples it is open whether the first claim is correct."""
    for i, count in enumerate(wrong):
        known = verdicts(i, count, gap=i >= len(wrong) - gaps)
        yield Result(f"q{i}", score(known), sample=sample(i, response))


def write(folder: Path, a: list[Result], b: list[Result]) -> tuple[Path, Path]:
    paths = folder / "a.jsonl", folder / "b.jsonl"
    for path, results in zip(paths, (a, b), strict=True):
        write_results(path, results)
    return paths


def row(done: Done, figure: str = "relevant") -> dict[str, str]:
    """What the table says of a figure."""
    table = done.out.split("\n\n")[1]
    _, head, *lines = [re.split("  +", line.strip()) for line in table.splitlines()]
    (cells,) = [line[1:] for line in lines if line[0] == figure]
    return dict(zip(head[1:], cells, strict=True))


def test_the_table_says_worse_and_json_is_the_comparison(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, [*run_of(BEFORE)], [*run_of(WORSE, response="Another answer.")])
    done = run_here(capsys, "compare", a, b)
    assert done.status == 0
    assert done.err == ""
    # 20 of 40 answers lost one correct claim of four: it is noise now, of which they had none.
    found = row(done)
    assert (found["A"], found["B"], found["difference"]) == ("0.000", "0.125", "+0.125")
    assert found["B against A"] == "worse"
    assert row(done, "any") == found
    data = json.loads(run_here(capsys, "compare", a, b, "--json").out)
    compared = compare(run_of(BEFORE), run_of(WORSE, response="Another answer."))
    assert data == json.loads(json.dumps({"a": str(a), "b": str(b), **compared.to_dict()}))


# By name: how many claims of B are wrong, gaps in A and in B (each may move a mean by 0.25 / 40),
# options, exit status, and what stderr says; "" for none of what a check says.
ANY = "--max-unanswered 1"
FAIL = "--fail-if-worse"
WORSE_IN = "check failed: b.jsonl is worse in the relevant mode"
ABOVE = "check failed: b.jsonl: the relevant mean, 0.1250"
OPEN = "cannot be decided: whether b.jsonl is worse in the relevant mode depends on verdicts that"
CHECKS: dict[str, tuple[list[int], int, int, str, int, str]] = {
    "worse": (WORSE, 0, 0, FAIL, 1, WORSE_IN),
    "worse, the other mode": (WORSE, 0, 0, f"{FAIL} --mode irrelevant", 0, ""),
    "the same": (BEFORE, 0, 0, f"{FAIL} --fail-above 0", 0, ""),
    "above": (WORSE, 0, 0, "--fail-above 0.1", 1, f"{ABOVE}, is above 0.1"),
    # B's mean is 0.125 with an interval of about 0.09 to 0.16.
    "too near to say": (WORSE, 0, 0, "--fail-above 0.12 --confidence 0.95", 0, "warning: "),
    "too near to say, and may not pass": (
        *(WORSE, 0, 0, "--fail-above 0.12 --confidence 0.95 --fail-if-undecided", 4),
        "cannot be decided: ",
    ),
    "worse by more": (WORSE, 0, 0, f"{FAIL} --margin 0.05 --mode relevant", 1, "worse by more"),
    "too few to say": (WORSE, 0, 0, f"{FAIL} --margin 0.12", 0, "warning: 40 pairs are too few"),
    "too few, and may not pass": (
        *(WORSE, 0, 0, f"{FAIL} --margin 0.12 --fail-if-undecided", 4),
        "cannot be decided: ",
    ),
    "without a margin, and may not pass": (
        # No pair differs, but a rare one may.
        *(BEFORE, 0, 0, f"{FAIL} any --fail-if-undecided", 4),
        "cannot be decided: 40 pairs are too few",
    ),
    "surely within the margin": (
        *(BEFORE, 0, 0, f"{FAIL} any,correct --margin 0.3 --fail-if-undecided", 0),
        "",
    ),
    "of several figures": (WORSE, 0, 0, f"{FAIL} relevant,any", 1, "in all claims from documents"),
    "of correct claims": (WORSE, 0, 0, f"{FAIL} correct", 1, "in correct claims"),
    # B has 3.5 correct claims of A's 4, an interval of about 0.34 to 0.66 fewer; 10% of 4 is 0.4.
    "what the margin of correct claims is": (
        *(WORSE, 0, 0, f"{FAIL} correct --margin 0.1", 0),
        "worse by more than 0.4 in correct claims",
    ),
    "the limit is in B's range": (
        *(BEFORE, 0, 2, "--fail-above 0.01", 4),
        "cannot be decided: b.jsonl: the relevant mean lies between 0.0000 and 0.0125",
    ),
    "too many to know": (BEFORE, 0, 30, f"{FAIL} {ANY}", 4, OPEN),
    # With all of A's gaps noise B would be better; with none of them the two are the same.
    "gaps of A": (BEFORE, 30, 0, f"{FAIL} {ANY}", 0, ""),
    "nothing asked, and too many": (
        BEFORE,
        0,
        30,
        "",
        5,
        "b.jsonl: too many verdicts have no answer: 30 of 190",
    ),
    "undecided comes first": (BEFORE, 0, 30, FAIL, 4, "b.jsonl: too many verdicts have no answer"),
    # Half of B is worse for certain, and one sample is open: the range does not reach 0.
    "worse in spite of one": (WORSE, 0, 1, FAIL, 1, WORSE_IN),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_end_with_their_status_and_say_why(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    wrong, gaps_a, gaps_b, options, status, said = CHECKS[name]
    a, b = write(tmp_path, [*run_of(BEFORE, gaps_a)], [*run_of(wrong, gaps_b)])
    done = run_here(capsys, "compare", a, b, *options.split())
    assert done.status == status, done.err
    assert said in done.err, done.err
    begins = ("check failed: ", "cannot be decided: ", "warning: ", "not measured: ")
    checks = [line for line in done.err.splitlines() if line.startswith(begins)]
    assert bool(checks) is bool(said)


def test_a_check_looks_at_all_of_b_and_not_only_at_pairs(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, [*run_of(BEFORE[:20])], [*run_of([0] * 20 + [4] * 20)])
    done = run_here(capsys, "compare", a, b, "--fail-above", "0.3")
    assert done.status == 1
    assert "b.jsonl: the relevant mean, 0.5000, is above 0.3" in done.err
    assert "note: samples only in A: 0, only in B: 20" in done.err


def test_what_is_too_little_to_compare_passes_no_check(tmp_path: Path, capsys: Capsys) -> None:
    """Five pairs; and samples that all failed."""
    few = write(tmp_path, [*run_of([0] * 5)], [*run_of([4] * 5)])
    done = run_here(capsys, "compare", *few, "--fail-if-worse")
    assert done.status == 4
    assert "fewer than 6" in done.err
    failed = [Result(f"q{i}", error="no reply") for i in range(8)]
    done = run_here(capsys, "compare", *write(tmp_path, failed, failed), "--fail-if-worse")
    assert done.status == 4
    assert "nothing to compare" in done.err


def test_what_failed_or_cannot_be_read_is_named_and_the_status_is_3(
    tmp_path: Path, capsys: Capsys
) -> None:
    b = [Result("q0", error="no reply"), *[*run_of(WORSE)][1:]]
    paths = write(tmp_path, [*run_of(BEFORE)], b)
    done = run_here(capsys, "compare", *paths)
    assert done.status == 3
    assert "\n  q0\n" in done.out
    assert run_here(capsys, "compare", *paths, "--fail-if-worse").status == 1
    lines = paths[1].read_text("utf-8").splitlines()
    lines[0] = lines[0][:-30]
    paths[1].write_text("\n".join(lines), "utf-8")
    done = run_here(capsys, "compare", *paths)
    assert done.status == 3
    assert done.err.startswith("failed: b.jsonl, line 1: expected one JSON object")
    assert run_here(capsys, "compare", *paths, "--fail-above", "0.1").status == 1


def test_runs_with_too_little_in_common_end_with_6(tmp_path: Path, capsys: Capsys) -> None:
    """80 of 100 samples are in both."""
    a, b = write(tmp_path, [*run_of([0] * 100)], [*run_of([0] * 120)][20:])
    done = run_here(capsys, "compare", a, b)
    assert done.status == 6
    assert done.out == ""
    assert "got 80 of 100" in done.err
    fewer = run_here(capsys, "compare", a, b, "--min-paired", "0.8", "--fail-if-worse")
    assert fewer.status == 0
    assert fewer.out.startswith("80 samples in both")
    # A run that stopped after 8 of 60, and a baseline that is a part of the new run.
    stopped = write(tmp_path, [*run_of([0] * 60)], [*run_of([0] * 8)])
    assert run_here(capsys, "compare", *stopped, "--fail-if-worse").status == 6
    assert run_here(capsys, "compare", *stopped[::-1], "--fail-if-worse").status == 0
    nothing = write(tmp_path, [*run_of([0] * 5)], [*run_of([0] * 15)][10:])
    for options in ((), ("--min-paired", "0"), ("--fail-if-worse",), ("--fail-above", "1")):
        assert run_here(capsys, "compare", *nothing, *options).status == 6


def test_a_check_that_looks_at_nothing_does_not_pass(tmp_path: Path, capsys: Capsys) -> None:
    """A figure that the definition lacks. One that is named is checked whatever ``--mode`` is."""
    a, b = write(tmp_path, [*run_of(BEFORE)], [*run_of(WORSE)])
    named = ("--fail-if-worse=relevant", "--mode", "irrelevant")
    assert run_here(capsys, "compare", a, b, *named).status == 1
    validmind = ("--definition", "validmind")
    for named in (("--fail-if-worse=irrelevant",), ("--fail-if-worse", "--mode", "irrelevant")):
        done = run_here(capsys, "compare", a, b, *validmind, *named)
        assert done.status == 5
        assert "validmind has no such figure" in done.err
    both = run_here(capsys, "compare", a, a, *validmind, "--fail-if-worse")
    assert both.status == 0
    assert "not measured" not in both.err


def test_new_refusals_of_more_than_a_tenth_end_with_5(tmp_path: Path, capsys: Capsys) -> None:
    """Of 40 answers 5 became refusals."""
    b = [*run_of(BEFORE)]
    for i in range(5):
        claims_nothing = Verdicts(response_claims=()).with_sample(sample(i))
        b[i] = Result(f"q{i}", score(claims_nothing), sample=sample(i))
    paths = write(tmp_path, [*run_of(BEFORE)], b)
    done = run_here(capsys, "compare", *paths, "--fail-if-worse")
    assert done.status == 5
    assert "0 in A, 5 in B) or failed (0), of 40; " in done.err
    assert "\n  q0, q1, q2, q3, q4\n" in done.out
    allowed = ("--fail-if-worse", "any", "--max-undefined", "0.125")
    assert run_here(capsys, "compare", *paths, *allowed).status == 0
    # 20 correct claims of 160 are gone, too: that is graver.
    assert run_here(capsys, "compare", *paths, "--fail-if-worse", "correct").status == 1


def test_a_run_with_a_sign_that_it_is_broken_is_not_good_enough(
    tmp_path: Path, capsys: Capsys
) -> None:
    """All answers of B are HTML, and no claim is wrong: B is not worse, but not measured."""
    a, b = write(tmp_path, [*run_of(BEFORE)], [*run_of(BEFORE, response="<html>Error 503")])
    assert run_here(capsys, "compare", a, b).status == 0
    done = run_here(capsys, "compare", a, b, "--fail-if-worse")
    assert done.status == 5
    said = " ".join(done.err.split())
    assert "b.jsonl: a sign that the run is broken: 40 of 40 answers are JSON or HTML" in said
    waived = run_here(capsys, "compare", a, b, "--fail-if-worse", "--waive", "no-answers")
    assert waived.status == 0
