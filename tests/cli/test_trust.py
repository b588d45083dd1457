"""``noisesense trust``: a judge beside people's labels; sheets of them, and downloads."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

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
from support.mind import Mind
from support.server import ScriptedServer
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


def test_labels_on_your_own_results(tmp_path: Path, capsys: Capsys) -> None:
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
    (one,) = json.loads(run_here(capsys, *arguments, "--json").out)["judges"]
    del one["sentences"]
    assert one == json.loads(json.dumps(expected.to_dict()))
    interval = shown(expected.means["relevant"].interval)
    assert f'<td class="n">{interval}</td>' in page.read_text(encoding="utf-8")


def test_a_wrong_confidence_is_told_before_a_judge_is_asked(
    tmp_path: Path, capsys: Capsys
) -> None:
    """The judge was paid for all labels first."""
    labels = tmp_path / "labels.jsonl"
    write_recording(labels, LABELS)
    with ScriptedServer(Mind(SAID)) as server:
        asked = ("--judge", "openai:scripted", "--base-url", server.base_url)
        done = run_here(capsys, "trust", "--on", labels, *asked, "--confidence", "95")
    assert done.status == 2
    assert server.log.calls == 0


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
        delimiter = "\t" if path.suffix == ".tsv" else ","
        return list(csv.DictReader(file, delimiter=delimiter))


def fill(path: Path, answer: Callable[[Row], str], delimiter: str = ",") -> None:
    """As a spreadsheet saves it, which may choose another delimiter."""
    save(path, [{**row, "entailed": answer(row)} for row in rows_of(path)], delimiter)


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


def test_the_sheet_by_hand(tmp_path: Path, capsys: Capsys) -> None:
    failed = Result("b", error="no reply")
    _, sheet, done = exported(tmp_path, capsys, result("a"), failed)
    assert done.status == 0
    rows = rows_of(sheet)
    assert [(row["kind"], row["claim"], row["chunk"]) for row in rows] == [
        *(("correct", "0", ""), ("correct", "1", "")),
        *(("response", i, j) for j in "01" for i in "01"),
        *(("reference", "0", "0"), ("reference", "0", "1")),
    ]
    assert rows[5] == {
        **{"sample": "a", "kind": "response", "claim": "1", "chunk": "1"},
        **{"seed": "0", "question": "Question a?"},
        **{"statement": "claim 2", "source": "Second chunk."},
        "entailed": "",
    }
    assert {row["entailed"] for row in rows} == {""}  # blind


def test_a_lone_carriage_return_in_a_text_costs_no_label(tmp_path: Path) -> None:
    """Python before 3.13 leaves such a cell without quotes, and its reader ends the row there."""
    judged = result("a")
    assert judged.sample is not None
    question = "Which herb?\rAnd where?"
    judged = replace(judged, sample=judged.sample.model_copy(update={"user_input": question}))
    sheet = tmp_path / "labels.csv"
    write_labels([judged], sheet)
    text = sheet.read_bytes().decode("utf-8")
    sheet.write_bytes(text.replace(",\n", ",yes\n").encode())
    assert len(read(sheet, [judged])) == 1


def test_labels_come_back_as_they_were_given(tmp_path: Path) -> None:
    """Through the sheet, labels are what they are in the verdicts themselves."""
    truths = {f"s{i}": truth for i, (_, truth) in enumerate(LABELS)}
    judged: list[Result] = []
    for i, (sample, said) in enumerate(SAID):
        judged.append(Result(f"s{i}", score(said.with_sample(sample)), sample=sample))
    sheet = tmp_path / "labels.csv"
    write_labels(judged, sheet)
    words = {True: "Yes", False: " NO ", None: "?"}
    fill(sheet, lambda row: words[cell_of(truths[row["sample"]], row)], delimiter=";")
    labeled = read(sheet, judged)
    assert len(labeled) == len(LABELS)
    for each in labeled:
        found = each.score.verdicts
        truth = truths[each.id]
        assert cells(found.response_claims) == cells(truth.response_claims)
        # Where each chunk has a label, it wins: no claim of the reference is asked about.
        if None in [chunk.relevant for chunk in each.sample.retrieved_contexts]:
            assert cells(found.reference_claims) == cells(truth.reference_claims)


def cell_of(truth: Verdicts, row: Row) -> bool | None:
    """What the truth says to a question of the sheet."""
    of_reference = row["kind"] == "reference"
    claims: Any = truth.reference_claims if of_reference else truth.response_claims
    claim = claims[int(row["claim"])]
    if row["kind"] == "correct":
        return claim.correct
    chunk = int(row["chunk"])
    return None if chunk in claim.undetermined else chunk in claim.entailed_by


def cells(claims: Any) -> list[Any]:
    return [claim.model_dump(exclude={"text"}) for claim in claims]


def test_partly_filled(tmp_path: Path, capsys: Capsys) -> None:
    """People say that both claims of one are correct, and nothing of the chunks."""
    judged, sheet, _ = exported(tmp_path, capsys, *map(result, "abc"))
    fill(sheet, lambda row: "yes" if (row["kind"], row["sample"]) == ("correct", "b") else "")
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert "22 of the sheet's 24 questions have no label" in done.err
    (found,) = json.loads(done.out)["judges"]
    assert found["samples"] == 1
    # both yes, missed, false yes, both no, judge open, people open, not asked
    assert list(found["cells"]["correct"]["counts"].values()) == [1, 1, 0, 0, 0, 0]
    assert list(found["cells"]["response"]["counts"].values()) == [0, 0, 0, 0, 0, 4]
    # Another judge can be asked about them; the texts are those of the results.
    other = result("b", wrong=False)
    with ScriptedServer(Mind([(other.sample, other.score.verdicts)])) as server:
        asked = ("trust", "--on", sheet, "--judge", "openai:m", "--base-url", server.base_url)
        done = run_here(capsys, *asked, "--for", judged, "--json")
        alone = run_here(capsys, *asked)
    counts = [each["cells"]["correct"]["counts"] for each in json.loads(done.out)["judges"]]
    assert [list(each.values())[:2] for each in counts] == [[1, 1], [2, 0]]
    assert alone.status == 2


def test_wrong_values_name_their_row(tmp_path: Path, capsys: Capsys) -> None:
    judged, sheet, _ = exported(tmp_path, capsys, result("a"))
    rows = [{**row, "entailed": "no"} for row in rows_of(sheet)]
    changes = [{"sample": "z"}, {"claim": "2"}, {"statement": "other"}, {"source": "other"}]
    changes.append({"entailed": "yes"})
    rows += [{**rows[0], **change} for change in changes]
    rows[1]["entailed"] = "perhaps"
    save(sheet, rows)
    done = run_here(capsys, "trust", "--on", sheet, "--for", judged, "--json")
    assert done.status == 3
    for line in (3, 10, 11, 12, 13, 14):
        assert f"labels.csv, line {line}" in done.err
    # Both labels stay open: one was no label, the other two contradict each other.
    assert json.loads(done.out)["judges"][0]["cells"]["correct"]["counts"]["human_open"] == 2


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
    assert len(errors) == 8
    write_labels(judged, sheet, force=True)
    first, *_ = rows_of(sheet)
    save(sheet, [{**first, "entailed": answer} for answer in ("yes", "no")])
    with pytest.raises(InputError, match="at least one label"):
        read_labels(sheet, judged, errors.append)


FORTY = [result(f"s{i}") for i in range(40)]


def drawn(path: Path, seed: int, samples: int = 8) -> list[str]:
    """The samples of a sheet, in its order. Each has eight questions."""
    written = write_labels(FORTY, path, samples=samples, seed=seed, force=True)
    assert written.rows == 8 * min(samples, 40)
    return list(dict.fromkeys(row["sample"] for row in rows_of(path)))


def test_where_none_are_left_out_the_first_ones_are_a_random_choice(tmp_path: Path) -> None:
    sheet = tmp_path / "labels.csv"
    in_order = [each.id for each in FORTY]
    all_of_them = drawn(sheet, 3, samples=40)
    assert sorted(all_of_them) == sorted(in_order)
    assert all_of_them != in_order
    assert all_of_them != drawn(sheet, 4, samples=40)
    assert all_of_them[:8] == drawn(sheet, 3)
    assert len(drawn(sheet, 3, samples=99)) == 40
    assert rows_of(sheet)[0]["seed"] == "3"


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    judged = [result("=1+1", text="@SUM(A1)"), result("-2", text="+a\n\0b")]
    judged += [result("a", text="\n=1"), result("b", text="＝1"), result("c", text=";=1")]
    judged += [result("d", text=' "=1'), result("e", text="half \ud83d")]
    sheet = tmp_path / "labels.tsv"
    write_labels(judged, sheet)
    cells = [cell for row in rows_of(sheet) for cell in row.values()]
    assert "'=1+1" in cells
    assert not any(cell.lstrip('\n;" ').startswith(("=", "+", "-", "@", "＝")) for cell in cells)
    fill(sheet, lambda _: "no", delimiter="\t")
    assert {each.id for each in read(sheet, judged)} == {"=1+1", "-2", *"abcde"}
