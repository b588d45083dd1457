"""Contexts in a cell with something between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import InputError
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.score import score_dataset
from support.command_here import run_here
from support.report_page import packed_lines

VERDICTS = '"{""response_claims"": [{""text"": ""r"", ""correct"": false, ""entailed_by"": []}]}"'


def table(folder: Path, *cells: str) -> Path:
    path = folder / "data.csv"
    quoted = (cell.replace('"', '""') for cell in cells)
    lines = [f'r,f,"{cell}",{VERDICTS}\n' for cell in quoted]
    path.write_text("response,reference,retrieved_contexts,verdicts\n" + "".join(lines))
    return path


def chunks(path: Path, separator: str | None = None) -> list[list[str]]:
    rows = read_rows(path, split_contexts=separator)
    samples = [row.sample for row in rows if isinstance(row, Row) and row.sample]
    return [[chunk.text for chunk in sample.retrieved_contexts] for sample in samples]


def test_contexts_with_something_between_them(tmp_path: Path) -> None:
    data = table(tmp_path, "c1;;c2", '["c1", "c;;2"]', "c1")
    assert chunks(data, ";;") == [["c1", "c2"], ["c1", "c;;2"], ["c1"]]


@pytest.mark.parametrize(("typed", "between"), [(r"\n", "\n"), (r"\t", "\t"), ("\\\\n", r"\n")])
def test_escapes_are_read_as_people_type_them(
    typed: str, between: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--split-contexts '\\n'` made every row one chunk, silently."""
    data, out = table(tmp_path, f"c1{between}c2", "c3"), tmp_path / "o.jsonl"
    run_here(capsys, "score", data, "--split-contexts", typed, "--out", out)
    assert chunks(out) == [["c1", "c2"], ["c3"]]


def test_a_separator_in_no_cell_is_an_error_that_costs_no_wrong_number(tmp_path: Path) -> None:
    """It read 0.2944 where 0.1889 was right, with status 0."""
    with pytest.raises(InputError, match=r"expected '\|' in some cell of contexts, got none"):
        read_rows(table(tmp_path, "c1\nc2", "c1"), split_contexts="|")
    with pytest.raises(InputError, match="split_contexts"):
        read_rows(table(tmp_path, "c1"), split_contexts="")


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("c1|c2", "'c1|c2'. Hint: if something stands between the chunks: --split-contexts SEP"),
        # As templates leave it: it ended every command with a TypeError.
        ('{{"text": "x"}}', "JSON"),
    ],
)
def test_a_cell_that_holds_no_list(cell: str, error: str, tmp_path: Path) -> None:
    (row,) = read_rows(table(tmp_path, cell))
    assert isinstance(row, BadRow)
    assert error in str(row.error)


def test_every_row_fails_and_a_report_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the input's rows; it named our own temporary results."""
    pytest.importorskip("matplotlib", reason="the report's plots")
    data = table(tmp_path, "c1|c2", "c1|c2")
    done = run_here(capsys, "score", data, "--report", tmp_path / "r.html")
    assert done.status == 3
    assert done.err.startswith("failed: data.csv, line 2, retrieved_contexts: expected JSON")
    assert "results.jsonl" not in done.err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "data.csv, line 3" in str(packed_lines(page, "details"))


def test_an_empty_cell_is_nothing_retrieved(tmp_path: Path) -> None:
    """Undefined, as the core has it: it was a perfect answer, or an error."""
    data = table(tmp_path, "", " ", "[]", '[""]')
    for result in results_of(data):
        assert result.score is not None, result.error
        assert (result.score.relevant, result.score.irrelevant) == (None, None)
        assert result.score.status("relevant") == "undefined"
    summary = score_dataset(data)
    assert (summary.samples, summary.failed) == (4, 0)
