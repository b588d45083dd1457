"""Every kind of file gives the same samples and the same figures."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, Sample, score
from noisesense.fixtures import reference_examples
from noisesense.verdicts.recording import recording_fields
from noisesense_adapters.datasets.files import count_rows
from noisesense_adapters.datasets.read import read_rows, results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from support.datasets import WRITERS, rows, write_jsonl
from support.tables import Shape, random_pairs

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]


def write(kind: str, folder: Path, pairs: Any = PAIRS) -> Path:
    name, writer = WRITERS[kind]
    writer(folder / name, pairs)
    return folder / name


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_file_gives_the_same_verdicts_and_scores(kind: str, tmp_path: Path) -> None:
    """With undetermined cells and labels; nulls a table fills in mean nothing."""
    pairs = list(random_pairs(40, seed=3_000, shape=Shape(undetermined=0.2, labeled=0.3)))
    path = write(kind, tmp_path, pairs)
    found = zip(read_rows(path), results_of(path), pairs, strict=True)
    for row, result, (sample, verdicts) in found:
        assert row.verdicts == verdicts.with_sample(sample)
        assert result.score == score(row.verdicts)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    sample, verdicts = PAIRS[0]
    rows = 1_200  # 12 MB of texts
    long = Sample.model_validate({**sample.model_dump(), "user_input": "why? " * 2_000})
    path = write("JSON lines", tmp_path, [(long, verdicts)] * rows)
    next(read_rows(path))  # what is imported only now is not counted
    tracemalloc.start()
    try:
        assert sum(isinstance(row, Row) for row in read_rows(path)) == rows
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


def test_id_and_cluster_are_read_and_without_an_id_the_content_is_it(tmp_path: Path) -> None:
    """Without a name the content is the name: two versions of a dataset in another order are then
    not paired by their row numbers."""
    (row,) = rows(PAIRS[:1])
    path = write_jsonl(tmp_path / "d.jsonl", [{**row, "id": 17, "cluster": "doc-4"}, row])
    named, unnamed = read_rows(path)
    assert isinstance(named, Row)
    assert named.id == "17"
    assert named.cluster == "doc-4"
    assert unnamed.id == PAIRS[0][0].key


@pytest.mark.parametrize("kind", ["a table", "a recording"])
def test_numbers_are_names_also_where_pandas_made_floats_of_them(
    kind: str, tmp_path: Path
) -> None:
    if kind == "a table":
        made = rows(PAIRS[:2])
    else:
        made = [recording_fields(*pair) for pair in PAIRS[:2]]
    first, second = made
    first |= {"id": 0, "cluster": 2.0}
    second |= {"id": 1.0, "cluster": None}
    path = write_jsonl(tmp_path / "d.jsonl", made)
    for texts in (True, False):  # without, a recording is read in the light way
        named, unnamed = read_rows(path, texts=texts)
        assert isinstance(named, Row)
        assert (named.id, named.cluster) == ("0", "2")
        assert unnamed.id == "1"
    assert [result.id for result in results_of(path)] == ["0", "1"]
    bad = write_jsonl(tmp_path / "bad.jsonl", [first, {**second, "response": 5, "sample": 5}])
    assert [row.id for row in read_rows(bad)] == ["0", "1"]


def test_rows_are_found_in_the_documents_that_wrap_them(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    lines = rows(PAIRS)
    nested = {"testRunData": {"testCases": lines, "others": lines}}
    for document in (nested, {"results": {"results": lines}}, {"data": lines, "others": lines}):
        path.write_text(json.dumps(document), "utf-8")
        assert len(list(read_rows(path))) == len(PAIRS)


TEXTS = {
    "question": ["q0", "q1"],
    "answer": ["a0", "a1"],
    "gold": ["g0", "g1"],
    "contexts": [["c0"], ["c1"]],
}
NUMBERED = {name: {"7": cells[0], "8": cells[1]} for name, cells in TEXTS.items()}
ROWS = [dict(zip(TEXTS, cells, strict=True)) for cells in zip(*TEXTS.values(), strict=True)]
TABLES: dict[str, Any] = {
    "columns": TEXTS,
    "columns by row number": NUMBERED,
    "in another order": {**NUMBERED, "gold": {"8": "g1", "7": "g0"}},
    "rows by number": dict(zip("78", ROWS, strict=True)),
    "split": {"columns": [*TEXTS], "data": [[*each.values()] for each in ROWS]},
    "columns beside rows": {"columns": [*TEXTS], "data": ROWS},
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_found_in_each_way_that_json_holds_a_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(TABLES[name]), "utf-8")
    found = [row.sample for row in read_rows(path, {"reference": "gold"})]
    texts = [(each.user_input, each.response, each.reference) for each in found]
    assert texts == [("q0", "a0", "g0"), ("q1", "a1", "g1")]
    assert [each.retrieved_contexts[0].text for each in found] == ["c0", "c1"]


def test_broken_verdicts_do_no_harm_to_who_does_not_want_them(tmp_path: Path) -> None:
    line = {**rows(PAIRS[:1])[0], "verdicts": {"response_claims": 7}}
    path = write_jsonl(tmp_path / "d.jsonl", [line])
    assert isinstance(next(read_rows(path)), BadRow)
    assert isinstance(next(read_rows(path, verdicts=False)), Row)


def test_a_byte_order_mark_begins_a_file_or_one_that_was_appended(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", rows(PAIRS[:1]))
    path.write_bytes((b"\xef\xbb\xbf" + path.read_bytes()) * 2)
    assert [type(row) for row in read_rows(path)] == [Row, Row]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_row_of_blank_cells_is_no_row(mark: str, tmp_path: Path) -> None:
    """Spreadsheets write such rows, and columns without a name, where something once stood."""
    empty = f"{4 * mark}\n"
    some = f"r{mark}f{mark}[]{mark}{mark}\n"
    spaces = f' {mark}"\n"{3 * mark}\n'  # on two lines
    head = f"response{mark}reference{mark}contexts{mark}{mark}\n"
    text = f"{empty}{head}{some}{empty}{spaces}r\n{some}"
    path = tmp_path / "d.csv"
    path.write_text(f"{text}{empty}{empty}", "utf-8")
    rows = [*read_rows(path)]
    assert [type(row) for row in rows] == [Row, BadRow, Row]
    assert [row.place for row in rows] == ["d.csv, line 3", "d.csv, line 7", "d.csv, line 8"]
    assert count_rows(path) == 3
    path.write_text(f"{empty}{head}{empty}", "utf-8")
    with pytest.raises(InputError, match="at least one row, got none"):
        read_rows(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.jsonl", "d.ndjson.gz", "d.json"])
def test_texts_in_other_encodings_are_read_from_each_kind_of_file(
    name: str, encoding: str, tmp_path: Path
) -> None:
    row = {
        "question": "Où?",
        "answer": "À Zürich – déjà.",
        "reference": "Zürich",
        "contexts": "[]",
    }
    text = json.dumps(row, ensure_ascii=False) + "\n"
    if "csv" in name:
        text = f"{','.join(row)}\n{','.join(row.values())}\n"
    data = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    if name == "d.json":
        (tmp_path / name).write_bytes(f"[{text}]".encode(encoding))
    (found,) = read_rows(tmp_path / name)
    assert isinstance(found, Row)
    assert found.sample is not None
    assert found.sample.user_input == "Où?"
    assert found.sample.response == "À Zürich – déjà."
