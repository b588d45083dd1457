"""``noisesense trust import-labels``; ``trust export-labels`` and back through ``trust``."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import InputError, Result, Sample, Verdicts, score, write_results
from noisesense_adapters.datasets.sheets import read_labels, write_labels
from support.command_here import run_here
from support.datasets import write_jsonl
from support.tables import random_pairs

Capsys = pytest.CaptureFixture[str]
Cells = list[dict[str, str]]


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
    return Result(name, score(verdicts.beside(sample)), sample=sample)


def rows_of(path: Path, delimiter: str = ",") -> Cells:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def fill(path: Path, answer: Callable[[dict[str, str]], str], delimiter: str = ",") -> None:
    """As a spreadsheet saves it, which may choose another delimiter."""
    rows = rows_of(path, "\t" if path.suffix == ".tsv" else ",")
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=delimiter)
        writer.writeheader()
        writer.writerows({**row, "entailed": answer(row)} for row in rows)


def test_the_sheet_by_hand(tmp_path: Path, capsys: Capsys) -> None:
    judged, sheet = tmp_path / "judged.jsonl", tmp_path / "labels.csv"
    write_results(judged, [result("a"), Result("b", error="no reply")])
    done = run_here(capsys, "trust", "export-labels", judged, sheet)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"wrote 8 questions on 1 sample to {sheet}\n")
    rows = rows_of(sheet)
    assert [(row["kind"], row["claim"], row["chunk"]) for row in rows] == [
        ("correct", "0", ""),
        ("correct", "1", ""),
        *(("response", i, j) for j in "01" for i in "01"),
        ("reference", "0", "0"),
        ("reference", "0", "1"),
    ]
    assert rows[5] == {
        "sample": "a",
        "kind": "response",
        "claim": "1",
        "chunk": "1",
        "question": "Question a?",
        "statement": "claim 2",
        "source": "Second chunk.",
        "entailed": "",
    }
    assert {row["entailed"] for row in rows} == {""}  # blind
    assert run_here(capsys, "trust", "export-labels", judged, sheet).status == 2


def test_labels_come_back_as_they_were_given(tmp_path: Path) -> None:
    """Through the sheet, agreement is what it is between the verdicts themselves."""
    pairs = [pair for pair in random_pairs(40) if pair[1].response_claims]
    truths, judged = {}, []
    for i, (sample, truth) in enumerate(pairs):
        said = [claim.correct is False for claim in truth.response_claims]
        tables = truth.to_matrices()
        wrong = Verdicts.from_matrices(
            said,
            tables["chunks_to_response"],
            tables["chunks_to_reference"],
            response_claims=[f"r{i} {k}" for k in range(len(said))],
            reference_claims=[f"f{i} {k}" for k in range(len(truth.reference_claims))],
        ).beside(sample)
        judged.append(Result(f"s{i}", score(wrong), sample=sample))
        truths[f"s{i}"] = truth

    def answer(row: dict[str, str]) -> str:
        truth, i = truths[row["sample"]], int(row["claim"])
        if row["kind"] == "correct":
            cell = truth.response_claims[i].correct
        else:
            side = truth.response_claims if row["kind"] == "response" else truth.reference_claims
            j = int(row["chunk"])
            cell = None if j in side[i].undetermined else j in side[i].entailed_by
        return {True: "Yes", False: " NO ", None: "?"}[cell]

    sheet = tmp_path / "labels.csv"
    write_labels(judged, sheet)
    fill(sheet, answer, delimiter=";")
    errors: list[InputError] = []
    labeled = read_labels(sheet, judged, errors.append)
    assert errors == []
    assert len(labeled) > 30
    for each in labeled:
        assert each.score is not None
        found, truth = each.score.verdicts, truths[each.id]
        assert [claim.correct for claim in found.response_claims] == [
            claim.correct for claim in truth.response_claims
        ]
        for side in ("response_claims", "reference_claims"):
            cells = [
                [(claim.entailed_by, claim.undetermined) for claim in getattr(verdicts, side)]
                for verdicts in (found, truth)
            ]
            assert cells[0] == cells[1] or (side == "reference_claims" and _all_labeled(each))


def _all_labeled(result: Result) -> bool:
    """Then no claim of the reference is asked about: labels win."""
    assert result.sample is not None
    return all(chunk.relevant is not None for chunk in result.sample.retrieved_contexts)


def test_partly_filled(tmp_path: Path, capsys: Capsys) -> None:
    """People say that both claims are correct, and nothing of the chunks."""
    judged, sheet = tmp_path / "judged.jsonl", tmp_path / "labels.csv"
    write_results(judged, [result(name) for name in "abc"])
    run_here(capsys, "trust", "export-labels", judged, sheet)
    fill(sheet, lambda row: "yes" if (row["kind"], row["sample"]) == ("correct", "b") else "")
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert done.status == 0
    (found,) = json.loads(done.out)["judges"]
    assert found["samples"] == 1
    # both yes, missed, false yes, both no, judge open, people open
    assert list(found["cells"]["correct"]["counts"].values()) == [1, 1, 0, 0, 0, 0]
    assert list(found["cells"]["response"]["counts"].values()) == [0, 0, 0, 0, 0, 4]
    correct = found["cells"]["correct"]
    assert correct["kappa"] == {"value": 0.0, "interval": None}
    shown = run_here(capsys, "trust", "--on", sheet, "--for", judged)
    line = next(each for each in shown.out.splitlines() if "claim in reference" in each)
    # labels, no answer, false yes and its interval, false no and its, kappa and its: one sample
    # has no interval.
    assert line.split()[-8:] == ["2", "0", "-", "-", "50.0%", "-", "0.000", "-"]


def test_wrong_values_name_their_row(tmp_path: Path, capsys: Capsys) -> None:
    judged, sheet = tmp_path / "judged.jsonl", tmp_path / "labels.csv"
    write_results(judged, [result("a")])
    run_here(capsys, "trust", "export-labels", judged, sheet)
    rows = rows_of(sheet)
    rows += [dict(rows[0]) for _ in range(7)]
    for row in rows:
        row["entailed"] = "no"
    rows[1]["entailed"] = "perhaps"
    changes = {"sample": "z", "kind": "maybe", "claim": "2", "statement": "other"}
    for row, (name, value) in zip(rows[8:12], changes.items(), strict=True):
        row[name] = value
    rows[12]["entailed"] = "yes"
    rows[13]["claim"] = "9" * 5000  # more digits than Python makes a number of
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert done.status == 3
    said = done.err.splitlines()
    for line, words in {
        3: "entailed: expected yes, no or nothing, got 'perhaps'",
        10: "sample: expected a sample of the results, got 'z'",
        11: "expected a kind, a claim and a chunk of the sheet, got ('maybe', '0', ''",
        12: "expected a kind, a claim and a chunk of the sheet, got ('correct', '2', ''",
        13: "statement: expected the judge's claim, got another",
        14: "entailed: expected one label for each question, got yes and no",
        15: "expected a kind, a claim and a chunk of the sheet, got ('correct', '999",
    }.items():
        assert any(f"labels.csv, line {line}" in each and words in each for each in said), (
            line,
            said,
        )
    # Both labels of row 2 stay open: one was no label, the other two contradict each other.
    assert json.loads(done.out)["judges"][0]["cells"]["correct"]["counts"]["human_open"] == 2


def test_a_sheet_without_a_column(tmp_path: Path) -> None:
    judged, sheet = [result("a")], tmp_path / "labels.csv"
    write_labels(judged, sheet)
    sheet.write_text(sheet.read_text("utf-8").replace(",entailed", ",answer"), "utf-8")
    errors: list[InputError] = []
    with pytest.raises(InputError, match="at least one label"):
        read_labels(sheet, judged, errors.append)
    assert len(errors) == 8
    assert "labels.csv, line 2: expected the column 'entailed', got only 'sample', " in str(
        errors[0]
    )


def test_samples_are_drawn_in_proportion_and_again_by_the_seed(tmp_path: Path) -> None:
    """Of 30 with noise and 10 without, 8 are 6 and 2."""
    judged = [result(f"s{i}", wrong=i % 4 != 0) for i in range(40)]

    def drawn(seed: int) -> list[str]:
        path = tmp_path / f"{seed}.csv"
        assert write_labels(judged, path, samples=8, seed=seed)[:2] == (8, 64)
        return list(dict.fromkeys(row["sample"] for row in rows_of(path)))

    for seed in range(20):
        clean = [name for name in drawn(seed) if int(name[1:]) % 4 == 0]
        assert len(clean) == 2
    assert drawn(3) == drawn(3) != drawn(4)
    assert write_labels(judged, tmp_path / "all.csv", samples=99).samples == 40


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    judged = [result("=1+1", text="@SUM(A1)"), result("-2", text="+a\n\0b")]
    sheet = tmp_path / "labels.tsv"
    write_labels(judged, sheet)
    cells = [cell for row in rows_of(sheet, "\t") for cell in row.values()]
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    fill(sheet, lambda _: "no", delimiter="\t")
    errors: list[InputError] = []
    labeled = read_labels(sheet, judged, errors.append)
    assert errors == []
    assert [each.id for each in labeled] == ["=1+1", "-2"]


def test_what_cannot_be_a_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a name ending in \.csv or \.tsv"):
        write_labels([result("a")], tmp_path / "labels.xlsx")
    with pytest.raises(InputError, match="each id once"):
        write_labels([result("a"), result("a")], tmp_path / "a.csv")
    with pytest.raises(InputError, match="samples with claims and texts"):
        write_labels([Result("a", error="no")], tmp_path / "a.csv")
    write_labels([result("a")], tmp_path / "a.csv")
    with pytest.raises(InputError, match="at least one label"):
        read_labels(tmp_path / "a.csv", [result("a")], lambda _: None)


def test_import_labels(tmp_path: Path, capsys: Capsys) -> None:
    row = {
        "label": "supported",
        "supporting_sentences": [[0]],
        "claim": "The tower is red.",
        "evidence": ["A red tower.", "By the sea."],
        "meta": {"id": "x1"},
    }
    raw, out = write_jsonl(tmp_path / "dev.jsonl", [row]), tmp_path / "wice.jsonl"
    done = run_here(capsys, "trust", "import-labels", "wice", raw, out, "--sentences", "1")
    assert done.status == 0
    assert "1 sample to" in done.out
    assert ": 1 yes, 1 no, 0 undecided" in done.out
    refused = run_here(capsys, "trust", "import-labels", "wice", raw, out)
    assert (refused.status, "--force" in refused.err) == (2, True)
    other = run_here(capsys, "trust", "import-labels", "ragtruth", raw, tmp_path / "r.jsonl")
    assert (other.status, "expected wice, got 'ragtruth'" in other.err) == (2, True)
