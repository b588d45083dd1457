"""``noisesense trust``: a judge beside people's labels, and sheets of them."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    Result,
    Sample,
    Verdicts,
    score,
    trust_results,
    write_recording,
    write_results,
)
from noisesense_adapters.datasets.sheets import read_labels, write_labels
from noisesense_adapters.evaluate.tables import shown
from support.command_here import Done, run_here
from support.simulated import misjudged
from support.tables import Shape, random_pairs

Capsys = pytest.CaptureFixture[str]
Row = dict[str, str]

LABELS = [
    (sample, verdicts.with_sample(sample))
    for sample, verdicts in random_pairs(28, shape=Shape(chunks=(1, 5)))
    if verdicts.response_claims
]


def judged_otherwise(seed: int, labels: Verdicts) -> Verdicts:
    """What the judge thinks of the same claims."""
    wrong = misjudged(random.Random(seed), labels, (0.1, 0.2))
    texts = {
        name: [each.text for each in getattr(labels, name) or ()]
        for name in ("response_claims", "reference_claims", "chunks")
    }
    return Verdicts.from_matrices(**wrong.to_matrices(), **texts)


SAID = [(sample, judged_otherwise(i, labels)) for i, (sample, labels) in enumerate(LABELS)]


def test_labels_of_every_second_result_give_what_trust_results_gives(
    tmp_path: Path, capsys: Capsys
) -> None:
    labels = tmp_path / "labels.jsonl"
    results = tmp_path / "own.jsonl"
    page = tmp_path / "report.html"
    write_recording(labels, LABELS[::2])
    own = [
        Result(f"r{i}", score(said), sample=sample, judge="scripted, plan=full")
        for i, (sample, said) in enumerate(SAID)
    ]
    write_results(results, own)
    arguments = ("trust", "--for", results, "--on", labels)
    assert run_here(capsys, *arguments, "--report", page).status == 0
    people = [Result(s.key, score(verdicts), sample=s) for s, verdicts in LABELS[::2]]
    expected = trust_results(own, people, judge="scripted, plan=full")
    found = json.loads(run_here(capsys, *arguments, "--json").out)
    assert {**found, **json.loads(json.dumps(expected.to_dict()))} == found
    interval = shown(expected.means["relevant"].interval)
    assert f'<td class="n">{interval}</td>' in page.read_text("utf-8")


def result(name: str, *, wrong: bool = True, text: str = "claim") -> Result:
    """Two claims, one reference claim, two chunks. The second claim comes from chunk 1, which
    is irrelevant; it is incorrect if ``wrong``."""
    verdicts = Verdicts.from_matrices(
        [True, not wrong],
        [[True, False], [False, True]],
        [[True, False]],
        response_claims=[f"{text} 1", f"{text} 2"],
        reference_claims=["fact"],
    )
    sample = Sample(
        user_input=f"Question {name}?",
        response="An answer.",
        reference="The truth.",
        retrieved_contexts=["First chunk.", "Second chunk."],
    )
    return Result(name, score(verdicts.with_sample(sample)), sample=sample)


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, answer: Callable[[Row], str], delimiter: str = ",") -> None:
    """As a spreadsheet saves it, which may choose another delimiter."""
    rows = rows_of(path)
    for row in rows:
        row |= {"entailed": answer(row), "source": row["source"].replace("  ", " ")}
    save(path, rows, delimiter)


def save(path: Path, rows: list[Row], delimiter: str = ",") -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def read(sheet: Path, judged: list[Result]) -> list[Result]:
    """The labels of a sheet in which nothing is wrong."""
    errors: list[InputError] = []
    labeled = read_labels(sheet, judged, errors.append)
    assert errors == []
    return labeled.results


def exported(folder: Path, capsys: Capsys, *results: Result) -> tuple[Path, Path, Done]:
    judged = folder / "judged.jsonl"
    sheet = folder / "labels.csv"
    write_results(judged, results)
    return judged, sheet, run_here(capsys, "trust", "export-labels", judged, sheet)


def test_the_sheet_has_each_question_and_not_what_the_judge_said(
    tmp_path: Path, capsys: Capsys
) -> None:
    failed = Result("b", error="no reply")
    _, sheet, done = exported(tmp_path, capsys, result("a"), failed)
    assert done.status == 0
    rows = [tuple(row.values()) for row in rows_of(sheet)]
    # Each ends with an empty cell for the label, and what the judge said is not in it.
    assert rows == [
        ("a", "Question a?", "reference", "claim 1", "The truth.", ""),
        ("a", "Question a?", "reference", "claim 2", "The truth.", ""),
        ("a", "Question a?", "chunk", "claim 1", "First chunk.", ""),
        ("a", "Question a?", "chunk", "claim 2", "First chunk.", ""),
        ("a", "Question a?", "chunk", "fact", "First chunk.", ""),
        ("a", "Question a?", "chunk", "claim 1", "Second chunk.", ""),
        ("a", "Question a?", "chunk", "claim 2", "Second chunk.", ""),
        ("a", "Question a?", "chunk", "fact", "Second chunk.", ""),
    ]


def test_a_claim_of_both_texts_is_asked_about_once(tmp_path: Path) -> None:
    """And its label is that of both. Line ends and spaces may change on the way."""
    verdicts = Verdicts.from_matrices(
        *([True, True], [[False]] * 2, [[False]] * 2),
        response_claims=["a\rb", "c"],
        reference_claims=["a\nb", "c"],
    )
    texts = {"response": "r", "reference": "g", "retrieved_contexts": ["'c'  d"]}
    sample = Sample.model_validate(texts)
    judged = Result("x", score(verdicts.with_sample(sample)), sample=sample)
    sheet = tmp_path / "labels.csv"
    assert write_labels([judged], sheet).questions == 5
    fill(sheet, lambda row: "no" if row["kind"] == "reference" else "yes")
    (labeled,) = read(sheet, [judged])
    matrices = labeled.score.verdicts.to_matrices()
    assert matrices["reference_to_response"] == [False] * 2
    assert matrices["chunks_to_response"] == matrices["chunks_to_reference"] == [[True]] * 2


def test_labels_come_back_as_they_were_given(tmp_path: Path) -> None:
    """Through the sheet, labels are what they are in the verdicts themselves."""
    truths = {f"s{i}": truth for i, (_, truth) in enumerate(LABELS)}
    judged: list[Result] = []
    for i, (sample, said) in enumerate(SAID):
        judged.append(Result(f"s{i}", score(said.with_sample(sample)), sample=sample))
    sheet = tmp_path / "labels.csv"
    write_labels(judged, sheet)
    words = {True: "Yes", False: " NO ", None: ""}
    samples = {each.id: each.sample for each in judged}
    fill(
        sheet,
        lambda row: words[cell_of(truths[row["sample"]], samples[row["sample"]], row)],
        delimiter=";",
    )
    labeled = read(sheet, judged)
    assert len(labeled) == len(LABELS)
    for each in labeled:
        found = each.score.verdicts
        truth = truths[each.id]
        assert cells(found.response_claims) == cells(truth.response_claims)
        # Where each chunk has a label, it wins: no claim of the reference is asked about.
        if None in [chunk.relevant for chunk in each.sample.retrieved_contexts]:
            assert cells(found.reference_claims) == cells(truth.reference_claims)


def cell_of(truth: Verdicts, sample: Any, row: Row) -> bool | None:
    """What the truth says to a question of the sheet."""
    claims: Any = (*truth.response_claims, *truth.reference_claims)
    claim = next(claim for claim in claims if claim.text == row["statement"])
    if row["kind"] == "reference":
        return claim.correct
    chunk = [each.text for each in sample.retrieved_contexts].index(row["source"])
    return None if chunk in claim.undetermined else chunk in claim.entailed_by


def cells(claims: Any) -> list[Any]:
    return [claim.model_dump(exclude={"text"}) for claim in claims]


def test_what_a_sheet_leaves_empty_is_open_and_counted(tmp_path: Path, capsys: Capsys) -> None:
    """People say that both claims of one are correct, and nothing of the chunks."""
    judged, sheet, _ = exported(tmp_path, capsys, *map(result, "abc"))
    fill(sheet, lambda row: "yes" if (row["kind"], row["sample"]) == ("reference", "b") else "")
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert "22 of the sheet's 24 questions have no label" in done.err
    found = json.loads(done.out)
    assert found["samples"] == 1
    # both yes, missed, false yes, both no, judge open, people open, not asked
    assert list(found["cells"]["correct"]["counts"].values()) == [1, 1, 0, 0, 0, 0]
    assert list(found["cells"]["response"]["counts"].values()) == [0, 0, 0, 0, 0, 4]
    assert run_here(capsys, "trust", "--on", sheet).status == 2


def test_wrong_values_name_their_row(tmp_path: Path, capsys: Capsys) -> None:
    judged, sheet, _ = exported(tmp_path, capsys, result("a"))
    rows = [{**row, "entailed": "no"} for row in rows_of(sheet)]
    changes = [{"sample": "z"}, {"kind": "2"}, {"statement": "other"}, {"source": "other"}]
    changes.append({"entailed": "yes"})
    rows += [{**rows[0], **change} for change in changes]
    rows[1]["entailed"] = "perhaps"
    save(sheet, rows)
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert done.status == 3
    for line in (3, 10, 11, 12, 13, 14):
        assert f"labels.csv, line {line}" in done.err
    # Both labels stay open: one was no label, the other two contradict each other.
    assert json.loads(done.out)["cells"]["correct"]["counts"]["human_open"] == 2


def test_a_sheet_without_a_column_or_without_labels(tmp_path: Path) -> None:
    judged = [result("a")]
    sheet = tmp_path / "labels.csv"
    write_labels(judged, sheet)
    errors: list[InputError] = []
    with pytest.raises(InputError, match="at least one label"):
        read_labels(sheet, judged, errors.append)
    sheet.write_text(sheet.read_text("utf-8").replace(",entailed", ",answer"), "utf-8")
    with pytest.raises(InputError, match="at least one label"):
        read_labels(sheet, judged, errors.append)
    assert errors == []


FORTY = [result(f"s{i}") for i in range(40)]


def drawn(path: Path, samples: int) -> list[str]:
    """The samples of a sheet, in its order. Each has eight questions."""
    path.unlink(missing_ok=True)
    written = write_labels(FORTY, path, samples=samples)
    with pytest.raises(InputError, match="expected a new file"):
        write_labels(FORTY, path)
    assert written.questions == 8 * min(samples, 40)
    return list(dict.fromkeys(row["sample"] for row in rows_of(path)))


def test_where_none_are_left_out_the_first_ones_are_a_random_choice(tmp_path: Path) -> None:
    sheet = tmp_path / "labels.csv"
    in_order = [each.id for each in FORTY]
    all_of_them = drawn(sheet, 40)
    assert sorted(all_of_them) == sorted(in_order)
    assert all_of_them != in_order
    assert all_of_them[:8] == drawn(sheet, 8)
    assert len(drawn(sheet, 99)) == 40


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    judged = [result("=1+1", text="@SUM(A1)"), result("-2", text="+a\n\0b")]
    judged += [result("＋", text="\n=1"), result("－", text="＝1"), result("＠", text=";,=1")]
    judged += [result("d", text=' "=1'), result("e", text="half \ud83d")]
    sheet = tmp_path / "labels.csv"
    write_labels(judged, sheet)
    cells = [cell for row in rows_of(sheet) for cell in row.values()]
    assert "'=1+1" in cells
    assert not any(cell.lstrip('\n;," ').startswith(tuple("=+-@＝＋－＠")) for cell in cells)
    fill(sheet, lambda _: "no", delimiter="\t")
    assert {each.id for each in read(sheet, judged)} == {"=1+1", "-2", *"＋－＠de"}
