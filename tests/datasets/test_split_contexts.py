"""Contexts in a cell with something between them, fields by name, and endpoints without a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import InputError
from noisesense_adapters.datasets.model import model_judge
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.score import score_dataset
from noisesense_adapters.toolbox.judges import is_local, patience
from support.command_here import run_here
from support.datasets import write_jsonl
from support.mind import Mind
from support.report_page import packed_lines
from support.scripted_judge import PAIRS
from support.server import ScriptedServer


def table(folder: Path, *cells: str) -> Path:
    path = folder / "data.csv"
    quoted = (cell.replace('"', '""') for cell in cells)
    lines = [f'r,f,"{cell}"\n' for cell in quoted]
    path.write_text("response,reference,retrieved_contexts\n" + "".join(lines))
    return path


def test_contexts_with_something_between_them(tmp_path: Path) -> None:
    data = table(tmp_path, "c1;;c2", '["c1", "c;;2"]', "c1")
    texts = [
        [chunk.text for chunk in row.sample.retrieved_contexts]
        for row in read_rows(data, split_contexts=";;")
        if isinstance(row, Row) and row.sample
    ]
    assert texts == [["c1", "c2"], ["c1", "c;;2"], ["c1"]]


@pytest.mark.parametrize(("typed", "between"), [(r"\n", "\n"), (r"\t", "\t"), ("\\\\n", r"\n")])
def test_escapes_are_read_as_people_type_them(
    typed: str, between: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--split-contexts '\\n'` made every row one chunk, silently."""
    data, out = tmp_path / "data.csv", tmp_path / "o.jsonl"
    verdicts = '{""response_claims"": [{""text"": ""r"", ""correct"": true, ""entailed_by"": []}]}'
    rows = "".join(f'r,f,"{cell}","{verdicts}"\n' for cell in (f"c1{between}c2", "c3"))
    data.write_text(f"response,reference,contexts,verdicts\n{rows}")
    run_here(capsys, "score", data, "--split-contexts", typed, "--out", out)
    read = [row.sample for row in read_rows(out) if isinstance(row, Row) and row.sample]
    assert [[c.text for c in s.retrieved_contexts] for s in read] == [["c1", "c2"], ["c3"]]


def test_a_separator_in_no_cell(tmp_path: Path) -> None:
    """It read 0.2944 where 0.1889 was right, with status 0."""
    with pytest.raises(
        InputError, match=r"expected '\|' in some cell of contexts, got none in the first"
    ):
        read_rows(table(tmp_path, "c1\nc2", "c1"), split_contexts="|")


def test_without_the_option_the_error_names_it(tmp_path: Path) -> None:
    (row,) = read_rows(table(tmp_path, "c1|c2"))
    assert isinstance(row, BadRow)
    assert (
        "got 'c1|c2'. Hint: if something stands between the chunks: --split-contexts SEP"
        in str(row.error)
    )


def test_a_separator_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="split_contexts"):
        list(read_rows(table(tmp_path, "c1"), split_contexts=""))


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


def test_help_lists_the_fields(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(run_here(capsys, "score", "--help").out.split())
    assert "Fields: response, reference, retrieved_contexts, user_input, verdicts, id" in said


def test_an_empty_cell_is_nothing_retrieved(tmp_path: Path) -> None:
    """Undefined, as the core has it: it was a perfect answer, or an error."""
    data = tmp_path / "d.csv"
    claim = '{""text"": ""r"", ""correct"": false, ""entailed_by"": []}'
    verdicts = f'"{{""response_claims"": [{claim}]}}"'
    data.write_text(
        "response,reference,contexts,verdicts\n"
        + "".join(f'r,f,"{cell}",{verdicts}\n' for cell in ("", " ", "[]", '[""""]'))
    )
    for result in results_of(data):
        assert result.score is not None, result.error
        assert (result.score.relevant, result.score.irrelevant) == (None, None)
        assert result.score.status("relevant") == "undefined"
    summary = score_dataset(data)
    assert (summary.samples, summary.failed) == (4, 0)


def test_of_several_fields_of_a_chunk_the_first_that_is_not_blank_counts(tmp_path: Path) -> None:
    chunks = [{"text": "", "content": "real"}, {"text": " ", "context": None}]
    (row,) = read_rows(
        write_jsonl(
            tmp_path / "d.jsonl", [{"response": "r", "reference": "f", "contexts": chunks}]
        )
    )
    assert isinstance(row, Row)
    assert row.sample is not None
    assert [chunk.text for chunk in row.sample.retrieved_contexts] == ["real", " "]


def test_a_cell_that_looks_like_a_set_of_dicts(tmp_path: Path) -> None:
    """As templates leave it: it ended every command with a TypeError."""
    (row,) = read_rows(table(tmp_path, '{{"text": "x"}}'))
    assert isinstance(row, BadRow)


def test_a_local_endpoint_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="not installed")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (sample, verdicts) = PAIRS[0]
    data = tmp_path / "data.jsonl"
    data.write_text(sample.model_dump_json() + "\n")
    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        judge = model_judge("openai:scripted", base_url=server.base_url)
        assert score_dataset(data, judge=judge).scored == 1


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]/v1", True),
        ("http://192.168.0.7/v1", True),
        ("http://host.docker.internal/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://localhost.example.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("http://[", False),
        ("", False),
    ],
)
def test_which_endpoint_is_local(
    url: str, local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_local(url) is local
    assert patience(url) == (600 if local else 60)
