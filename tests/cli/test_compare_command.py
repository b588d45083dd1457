"""``noisesense compare``, ``offenders`` and ``sensitivity``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    Result,
    Sample,
    Verdicts,
    compare,
    offenders,
    score,
    write_recording,
    write_results,
)
from noisesense_adapters.datasets.score import score_dataset
from noisesense_adapters.report import write_report
from support.command_here import Done, run_here
from support.tables import random_pairs

Capsys = pytest.CaptureFixture[str]
SAMPLES = 40


def verdicts(wrong: int, text: str = "claim") -> Verdicts:
    """Four claims; the first ``wrong`` are incorrect and come from the one, relevant chunk."""
    return Verdicts.model_validate(
        {
            "response_claims": [
                {"text": f"{text} {i}", "correct": i >= wrong, "entailed_by": [0]}
                for i in range(4)
            ],
            "chunks": [{"text": "The guide.", "relevant": True, "id": "guide.md"}],
        }
    )


def sample(number: int, response: str = "An answer.") -> Sample:
    return Sample.model_validate(
        {
            "user_input": f"Question {number}?",
            "response": response,
            "reference": "The answer.",
            "retrieved_contexts": ["The guide."],
        }
    )


def run_of(wrong: list[int], response: str = "An answer.", ids: str = "q") -> Iterator[Result]:
    for i, count in enumerate(wrong):
        name = f"{ids}{i}" if ids else sample(i, response).key
        yield Result(name, score(verdicts(count)), sample=sample(i, response))


def write(folder: Path, a: list[Result], b: list[Result]) -> tuple[Path, Path]:
    paths = folder / "a.jsonl", folder / "b.jsonl"
    for path, results in zip(paths, (a, b), strict=True):
        write_results(path, results)
    return paths


BEFORE = [0] * SAMPLES
WORSE = [1] * (SAMPLES // 2) + [0] * (SAMPLES // 2)  # a quarter more in every second sample


def test_worse_is_told_with_its_samples_and_claims(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, list(run_of(BEFORE)), list(run_of(WORSE, "Another answer.")))
    done = run_here(capsys, "compare", a, b, "--top", "1")

    found = compare(run_of(BEFORE), run_of(WORSE))
    assert found.relevant is not None
    assert found.relevant.interval is not None
    low, high = found.relevant.interval[:2]
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "40 samples in both, paired by id; definition ragas, lower is better\n\n"
    )
    assert column(done, "relevant") == {
        "pairs": "40",
        "mean of A": "0.0000",
        "mean of B": "0.1250",
        "difference": "+0.1250",
        "its interval": f"{low:.4f} to {high:.4f}",
        "B is": "worse",
    }
    assert done.out.endswith(
        "\nclaims whose kind changed (absent: not among that version's claims):\n"
        "  20 correct → relevant noise\n"
        "\nsamples that changed, largest change first (1 of 20):\n"
        "  q0: relevant 0.0000 → 0.2500\n"
        '    correct → relevant noise: "claim 0"\n'
    )
    assert max(map(len, done.out.splitlines())) <= 80
    assert low > 0


def column(done: Done, mode: str) -> dict[str, str]:
    """What the table says of a mode."""
    _, table, *_ = done.out.split("\n\n")
    head, *lines = table.splitlines()
    at = {"relevant": 1, "irrelevant": 2}[mode]
    assert head.split() == ["relevant", "irrelevant"]
    rows = [re.split("  +", line.strip()) for line in lines]
    return {row[0]: row[at] for row in rows}


def test_json_is_the_comparison(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, list(run_of(BEFORE)), list(run_of(WORSE)))
    done = run_here(capsys, "compare", a, b, "--json")
    found = json.loads(done.out)
    expected = compare(run_of(BEFORE), run_of(WORSE)).to_dict()
    assert found == json.loads(json.dumps({"a": str(a), "b": str(b), **expected}))


CHECKS: dict[str, tuple[list[int], tuple[str, ...], int, tuple[str, ...]]] = {
    "worse": (WORSE, ("--fail-if-worse",), 1, ("b.jsonl is worse in the relevant mode",)),
    "worse, the other mode": (WORSE, ("--fail-if-worse", "--mode", "irrelevant"), 0, ()),
    "worse, not asked": (WORSE, (), 0, ()),
    "the same": (BEFORE, ("--fail-if-worse", "--fail-above", "0"), 0, ()),
    "one sample": ([4, *BEFORE[1:]], ("--fail-if-worse",), 0, ()),
    "above": (WORSE, ("--fail-above", "0.1"), 1, ("the relevant mean of b.jsonl, 0.1250, is",)),
    "below": (WORSE, ("--fail-above", "0.2"), 0, ()),
    # B's mean is 0.125 with an interval of about 0.09 to 0.16.
    "too near to say": (WORSE, ("--fail-above", "0.12", "--confidence", "0.95"), 0, ()),
    "above for certain": (
        WORSE,
        ("--fail-above", "0.05", "--confidence", "0.95", "--mode", "relevant"),
        1,
        ("is above 0.05", "(interval 0.0"),
    ),
    "worse by more": (
        WORSE,
        ("--fail-if-worse", "--margin", "0.05", "--mode", "relevant"),
        1,
        ("is worse by more than 0.05 in the relevant mode",),
    ),
    "too few to say": (WORSE, ("--fail-if-worse", "--margin", "0.12"), 0, ()),
    "the same within the margin": (WORSE, ("--fail-if-worse", "--margin", "0.3"), 0, ()),
}
WARNED = {
    "too near to say": "warning: the relevant mean of b.jsonl, 0.1250 (interval 0.0",
    "too few to say": "warning: too few pairs to say whether b.jsonl is worse by more than 0.12",
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks(name: str, tmp_path: Path, capsys: Capsys) -> None:
    wrong, options, status, told = CHECKS[name]
    a, b = write(tmp_path, list(run_of(BEFORE)), list(run_of(wrong)))
    done = run_here(capsys, "compare", a, b, *options)
    assert done.status == status
    lines = [line for line in done.err.splitlines() if line.startswith("check failed: ")]
    assert len(lines) == bool(told)
    assert [part for part in told if part not in done.err] == []
    assert WARNED.get(name, "") in done.err
    assert ("warning: " in done.err) == (name in WARNED)


def test_the_same_and_too_few_to_say_are_two_answers(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, list(run_of(BEFORE)), list(run_of(WORSE)))
    answers = {
        margin: column(run_here(capsys, "compare", a, b, "--margin", margin), "relevant")
        for margin in ("0.05", "0.12", "0.3")
    }
    assert [each["B is"] for each in answers.values()] == [
        "worse", "too few to say", "the same within 0.3",
    ]  # fmt: skip
    found = json.loads(run_here(capsys, "compare", a, b, "--margin", "0.3", "--json").out)
    assert (found["margin"], found["relevant"]["decision"]) == (0.3, "same")


def test_a_check_looks_at_all_of_b_and_not_only_at_pairs(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, list(run_of(BEFORE[:20])), list(run_of([0] * 20 + [4] * 20)))
    done = run_here(capsys, "compare", a, b, "--fail-above", "0.3")
    assert done.status == 1
    assert "mean of b.jsonl, 0.5000, is above 0.3" in done.err
    assert "only in B: q20, q21, q22, q23, q24 and 15 more" in done.out
    assert "note: samples only in A: 0, only in B: 20" in done.err


def test_failed_samples_are_named(tmp_path: Path, capsys: Capsys) -> None:
    b = [*list(run_of(WORSE))[1:], Result("q0", error="no reply")]
    paths = write(tmp_path, list(run_of(BEFORE)), b)
    done = run_here(capsys, "compare", *paths)
    assert done.status == 3
    assert "failed in one or both: q0" in done.out
    assert run_here(capsys, "compare", *paths, "--fail-if-worse").status == 1


def with_gaps(wrong: list[int], gaps: int, *, response: str = "An answer.") -> Iterator[Result]:
    """The last ``gaps`` samples have a claim of which it is open whether it is correct."""
    for i, result in enumerate(run_of(wrong, response)):
        if i < len(wrong) - gaps:
            yield result
            continue
        claims = [{"text": f"claim {n}", "correct": True, "entailed_by": [0]} for n in range(4)]
        claims[0]["correct"] = None
        data = verdicts(0).model_dump(exclude_defaults=True) | {"response_claims": claims}
        yield Result(result.id, score(Verdicts.model_validate(data)), sample=result.sample)


ANY = ("--max-unanswered", "1")
OPEN_CHECKS: dict[str, tuple[int, int, tuple[str, ...], int, tuple[str, ...]]] = {
    # name: gaps in A, gaps in B, options, status, what is said. Each gap may move B by 0.25 / 40.
    "few": (0, 2, ("--fail-if-worse",), 0, ()),
    "a few": (0, 2, ("--fail-if-worse", "--fail-above", "0.02"), 0, ()),
    "the limit is in B's range": (
        *(0, 2, ("--fail-above", "0.01"), 4),
        ("the relevant mean of b.jsonl lies between 0.0000 and 0.0125",),
    ),
    "too many to know": (
        *(0, 30, ("--fail-if-worse", *ANY), 4),
        ("whether b.jsonl is worse in the relevant mode depends on verdicts that the judge",),
    ),
    # With all of A's gaps noise B would be better; with none of them the two are the same.
    "gaps of A": (30, 0, ("--fail-if-worse", *ANY), 0, ()),
    "not looked at": (0, 30, ("--fail-if-worse", "--mode", "irrelevant", *ANY), 0, ()),
    "nothing asked": (0, 30, ANY, 0, ()),
    "nothing asked, and too many": (0, 30, (), 5, ("no answer of b.jsonl: 30 of 190",)),
    "undecided first": (0, 30, ("--fail-if-worse",), 4, ("no answer of b.jsonl",)),
}


@pytest.mark.parametrize("name", OPEN_CHECKS)
def test_what_open_verdicts_could_undo_is_not_decided(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    """The answers are the same in both."""
    gaps_a, gaps_b, options, status, told = OPEN_CHECKS[name]
    runs = [list(with_gaps(BEFORE, gaps)) for gaps in (gaps_a, gaps_b)]
    done = run_here(capsys, "compare", *write(tmp_path, *runs), *options)
    assert done.status == status
    assert [part for part in told if part not in done.err] == []
    found = column(done, "relevant")
    open_pairs = str(max(gaps_a, gaps_b))
    assert (found["undetermined"], found["B is"]) == (open_pairs, "not clearly different")
    most = max(gaps_a, gaps_b) / 4 / SAMPLES
    shown = f"-{most:.4f} to +0.0000" if gaps_a else f"+0.0000 to +{most:.4f}"
    assert found["difference"] == shown


def test_worse_in_spite_of_open_verdicts(tmp_path: Path, capsys: Capsys) -> None:
    """Half of B is worse for certain, and one sample is open: the range does not reach 0."""
    a, b = write(tmp_path, list(run_of(BEFORE)), list(with_gaps(WORSE, 1)))
    done = run_here(capsys, "compare", a, b, "--fail-if-worse")
    assert done.status == 1
    assert "0.1250 to 0.1313" in done.out
    data = json.loads(run_here(capsys, "compare", a, b, "--json").out)
    difference = data["relevant"]["difference"]
    assert (difference["low"], difference["high"]) == pytest.approx((0.125, 0.13125))
    assert (data["relevant"]["undetermined"], difference["value"]) == (1, None)


def regression(folder: Path, *, ids: bool) -> tuple[Path, Path]:
    """300 samples as texts with verdicts; half of the answers became wrong, and so are others."""
    paths = folder / "before.jsonl", folder / "after.jsonl"
    for path, wrong in zip(paths, (False, True), strict=True):
        rows: list[str] = []
        for i in range(300):
            changed = wrong and i % 2 == 0
            given = sample(i, "A wrong answer." if changed else "An answer.")
            row = given.model_dump(mode="json", exclude_defaults=True)
            row["verdicts"] = verdicts(2 if changed else 0).model_dump(exclude_defaults=True)
            rows.append(json.dumps({"id": f"q{i}", **row} if ids else row))
        path.write_text("\n".join(rows), encoding="utf-8")
    return paths


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("results", [False, True])
def test_a_regression_is_worse_with_and_without_ids(
    ids: bool, results: bool, tmp_path: Path, capsys: Capsys
) -> None:
    """Ids made from the content are others for the changed samples: they pair nothing."""
    paths = regression(tmp_path, ids=ids)
    if results:
        scored = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
        for path, out in zip(paths, scored, strict=True):
            score_dataset(path, out=out)
        paths = scored
    done = run_here(capsys, "compare", *paths, "--fail-if-worse")
    assert done.status == 1
    by = "id" if ids else "question and reference"
    assert done.out.startswith(f"300 samples in both, paired by {by};")
    found = column(done, "relevant")
    assert [*found.values()][:4] == ["300", "0.0000", "0.2500", "+0.2500"]


def test_runs_with_too_little_in_common(tmp_path: Path, capsys: Capsys) -> None:
    """80 of 100 samples are in both."""
    a, b = write(tmp_path, list(run_of([0] * 100)), list(run_of([0] * 120))[20:])
    done = run_here(capsys, "compare", a, b)
    assert (done.status, done.out) == (6, "")
    assert done.err.startswith("error: paired by id: expected at least 90% of the smaller run")
    assert "80 of 100" in done.err
    fewer = run_here(capsys, "compare", a, b, "--min-paired", "0.8", "--fail-if-worse")
    assert fewer.status == 0
    assert fewer.out.startswith("80 samples in both")
    assert "samples only in A: 20, only in B: 20" in fewer.err
    nothing = write(tmp_path, list(run_of([0] * 5)), list(run_of([0] * 15))[10:])
    for options in ((), ("--min-paired", "0"), ("--fail-if-worse",), ("--fail-above", "1")):
        assert run_here(capsys, "compare", *nothing, *options).status == 6


def test_versions_without_ids_are_paired_by_their_questions(
    tmp_path: Path, capsys: Capsys
) -> None:
    """The content of a sample is then its id, and no response is the same."""
    a, b = write(tmp_path, list(run_of(BEFORE, ids="")), list(run_of(WORSE, "Another.", "")))
    done = run_here(capsys, "compare", a, b)
    assert done.out.startswith("40 samples in both, paired by question and reference")
    assert f"  {sample(0).user_input}: relevant" in done.out


def test_every_kind_of_file_with_verdicts(tmp_path: Path, capsys: Capsys) -> None:
    """A recording beside results; samples are named by their content in both."""
    recording, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_recording(recording, ((sample(i), verdicts(0)) for i in range(SAMPLES)))
    score_dataset(recording, out=out)
    done = run_here(capsys, "compare", recording, out, "--definition", "paper")
    assert done.status == 0
    assert done.out.startswith(
        "40 samples in both, paired by question and reference; definition paper"
    )


def test_broken_lines_are_told_and_the_rest_compared(tmp_path: Path, capsys: Capsys) -> None:
    a, b = write(tmp_path, list(run_of(BEFORE)), list(run_of(WORSE)))
    b.write_text(b.read_text(encoding="utf-8")[:-30], encoding="utf-8")
    done = run_here(capsys, "compare", a, b)
    assert done.status == 3
    assert done.err.startswith("cannot be read: b.jsonl, line 40: expected one JSON object")
    assert "only in A: q39" in done.out
    failing = run_here(capsys, "compare", a, b, "--fail-above", "0.1")
    assert failing.status == 1


ERRORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nothing to pair": (("compare", "a.jsonl", "other.jsonl"), ("samples that both runs have",)),
    "a way of pairing": (
        ("compare", "a.jsonl", "a.jsonl", "--pair-by", "row"),
        ("'question'", "'row'"),
    ),
    "several definitions": (
        ("compare", "a.jsonl", "paper.jsonl"),
        ("'ragas'", "'paper'", "definition=…"),
    ),
    "no such file": (("offenders", "none.jsonl"), ("none.jsonl", "no such file")),
    "no such grouping": (("offenders", "a.jsonl", "--by", "name"), ("'id'", "'name'")),
    "only texts": (("offenders", "texts.jsonl"), ("texts.jsonl, line 1", "verdicts")),
    "no sample of both": (
        ("trust", "--for", "a.jsonl", "--on", "other.jsonl"),
        ("paired by", "samples that both runs have"),
    ),
    "no such rate": (("sensitivity", "a.jsonl", "--false-yes", "2"), ("false_yes", "0 to 1")),
    "no such cells": (("sensitivity", "a.jsonl", "--cells", "all"), ("'correct'", "'all'")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, list(run_of([0, 1])), [])
    others = (Result(f"x{i}", score(verdicts(1)), sample=sample(100 + i)) for i in range(2))
    write_results("other.jsonl", others)
    score_dataset("a.jsonl", out="paper.jsonl", definition="paper")
    Path("texts.jsonl").write_text(json.dumps({"sample": sample(0).model_dump(mode="json")}))
    arguments, named = ERRORS[name]
    done = run_here(capsys, *arguments)

    unpaired = name in ("nothing to pair", "no sample of both")
    assert (done.status, done.out) == (6 if unpaired else 2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert [part for part in named if part not in done.err] == []


def one_document(document: str, number: int, wrong: bool = True) -> Result:
    """One claim, from one document."""
    chunk = {"text": f"What {document} says.", "id": document}
    claim = {"text": f"Claim {number}.", "correct": not wrong, "entailed_by": [0]}
    known = Verdicts.model_validate({"response_claims": [claim], "chunks": [chunk]})
    texts = sample(number).model_copy(update={"retrieved_contexts": known.chunks})
    return Result(f"q{number}", score(known), sample=texts)


def test_a_planted_culprit_stands_first_wherever_it_is_shown(
    tmp_path: Path, capsys: Capsys
) -> None:
    """7 of 11 wrong claims come from one document of 12 uses, one each from four of one use."""
    uses = [("once-0.md", True), *(("culprit.md", i < 7) for i in range(12))]
    uses += [(f"once-{i}.md", True) for i in (1, 2, 3)]
    results = [one_document(name, i, wrong) for i, (name, wrong) in enumerate(uses)]
    path, _ = write(tmp_path, results, [])
    told = run_here(capsys, "offenders", path).out.splitlines()
    assert told[0].startswith("look first at culprit.md: 7 of 11 claims from a retrieved chunk")
    assert told[3].split()[0] == "7"
    assert told[3].endswith("culprit.md")
    first, *_ = json.loads(run_here(capsys, "offenders", path, "--json").out)
    assert (first["document"], first["claims"]) == ("culprit.md", 7)
    page = write_report(results, tmp_path / "report.html").read_text("utf-8")
    assert "<bdi>culprit.md</bdi>: 7 of these claims come from it." in page
    assert 0 < page.index("culprit.md") < page.index("once-0.md")


def test_what_is_the_judges_and_not_the_versions(tmp_path: Path, capsys: Capsys) -> None:
    """The same answers, of which every second is judged otherwise, by another judge."""
    named = [
        [replace(each, judge=judge) for each in run_of(wrong)]
        for judge, wrong in (("m, check=list", BEFORE), ("m, check=each", WORSE))
    ]
    told = run_here(capsys, "compare", *write(tmp_path, *named)).err
    assert "note: 20 samples that changed have the same texts in both, judged otherwise" in told
    assert "note: A and B were not judged alike" in told
    named[1] = [replace(each, judge="m, check=list") for each in run_of(WORSE, "Another answer.")]
    told = run_here(capsys, "compare", *write(tmp_path, *named)).err
    assert "judged" not in told


def test_offenders_of_a_run_that_failed(tmp_path: Path, capsys: Capsys) -> None:
    path, _ = write(tmp_path, [Result("q", error="no reply")], [])
    assert run_here(capsys, "offenders", path).out == "no sample has a score; no reply\n"
    compared = run_here(capsys, "compare", path, path)
    assert compared.out.startswith("1 sample in both, paired by id; none has a score\n")


def test_offenders(tmp_path: Path, capsys: Capsys) -> None:
    a, _ = write(tmp_path, list(run_of([2, 1, 0])), [])
    done = run_here(capsys, "offenders", a, "--examples", "2")
    assert done.status == 0
    assert done.out.splitlines() == [
        "look first at guide.md: 3 of 3 claims from a retrieved chunk and not from the reference",
        "",
        "claims  open  only  samples  rate  interval    document",
        "     3     0     3   2 of 3   67%  21% to 94%  guide.md",
        "",
        "guide.md:",
        '  "claim 0" (q0)',
        '  "claim 1" (q0)',
    ]
    found = json.loads(run_here(capsys, "offenders", a, "--json", "--by", "text").out)
    (expected,) = offenders(run_of([2, 1, 0]), group_by="text", top=10, examples=3)
    assert found == [json.loads(json.dumps(expected.to_dict()))]


def test_no_document_is_named_first_where_two_explain_as_much(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Two documents, one claim each; then the second has another one."""
    results = [one_document("a.md", 0), one_document("b.md", 1), one_document("b.md", 2)]
    two, three = write(tmp_path, results[:2], results)
    for top in ("10", "1"):
        first, *_ = run_here(capsys, "offenders", two, "--top", top).out.splitlines()
        assert first.startswith("no document stands out: each of several has 1 of 2 claims from a")
    page = " ".join(write_report(two, tmp_path / "two.html").read_text("utf-8").split())
    assert "No document stands out: 1 of these claims comes from each of several." in page
    assert "Look first" not in page
    assert run_here(capsys, "offenders", three).out.startswith("look first at b.md: 2 of 3 ")
    page = " ".join(write_report(three, tmp_path / "three.html").read_text("utf-8").split())
    assert "Look first at the document <bdi>b.md</bdi>: 2 of these claims come" in page


def test_offenders_of_which_the_judge_left_something_open(tmp_path: Path, capsys: Capsys) -> None:
    """Of two samples one claim each is open: the guide may have misled to it."""
    a, _ = write(tmp_path, list(with_gaps([2, 0, 0], 2)), [])
    done = run_here(capsys, "offenders", a, "--examples", "0")
    *_, figures = done.out.split("\n\n")[1].splitlines()
    # claims, open, only, samples, rate
    assert figures.split()[:7] == ["2", "2", "2", "1", "of", "3", "33%"]
    assert figures.endswith("  guide.md")
    assert "for 2 claims the judge left open whether the reference supports it" in done.out
    found = json.loads(run_here(capsys, "offenders", a, "--json").out)
    assert (found[0]["claims"], found[0]["undetermined"]) == (2, 2)
    only_open, _ = write(tmp_path, list(with_gaps([0], 1)), [])
    done = run_here(capsys, "offenders", only_open)
    assert "look first" not in done.out
    assert done.out.splitlines()[1].split()[:2] == ["0", "1"]


def test_no_offenders(tmp_path: Path, capsys: Capsys) -> None:
    a, _ = write(tmp_path, list(run_of([0])), [])
    done = run_here(capsys, "offenders", a)
    assert (done.status, done.out) == (
        0,
        "no claim comes from a retrieved chunk and not from the reference\n",
    )


def labelled(folder: Path) -> tuple[Path, Path, list[Any]]:
    """A judge that is wrong in every third sample, over 30 of which people labelled 12."""
    pairs = [pair for pair in random_pairs(60, seed=70) if pair[1].response_claims][:30]
    judged: list[Result] = []
    for i, (each, truth) in enumerate(pairs):
        table = truth.to_matrices()
        if i % 3 == 0:
            table["reference_to_response"] = [False] * len(table["reference_to_response"])
        said = Verdicts.from_matrices(
            **table,
            response_claims=[claim.text for claim in truth.response_claims],
            reference_claims=[claim.text for claim in truth.reference_claims],
        )
        judged.append(Result(f"r{i}", score(said.beside(each)), sample=each))
    judge, human = folder / "judge.jsonl", folder / "human.jsonl"
    write_results(judge, judged)
    write_recording(human, pairs[:12])
    return judge, human, [judged, pairs[:12]]


def test_a_report_of_what_changed(tmp_path: Path, capsys: Capsys) -> None:
    """One sample of one claim: correct before, and from a relevant chunk after: 0 and 1."""
    pytest.importorskip("matplotlib", reason="the report's plots")
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, correct in ((a, True), (b, False)):
        table = Verdicts.from_matrices([correct], [[True]], [[True]])
        write_results(path, [Result("one", score(table))])
    page = tmp_path / "r.html"
    assert run_here(capsys, "compare", a, b, "--report", page).status == 0
    assert (
        "Since the earlier run: relevant 0.000 → 1.000 (+1.000, which may be chance)"
        in page.read_text("utf-8")
    )
    assert ".html" in run_here(capsys, "compare", a, b, "--report", tmp_path / "r.png").err
