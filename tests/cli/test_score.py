"""``noisesense score``: figures, files, messages and exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample, Verdicts, read_results, write_recording
from noisesense.fixtures import reference_examples
from support.command import run
from support.command_here import run_here
from support.datasets import WRITERS, rows, write_jsonl
from support.report_page import packed_lines
from support.tables import Shape, random_pairs

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
Capsys = pytest.CaptureFixture[str]


def example_file(folder: Path) -> Path:
    return write_jsonl(folder / "examples.jsonl", rows(PAIRS))


@pytest.mark.parametrize("kind", WRITERS)
def test_documented_figures_in_each_format(kind: str, tmp_path: Path, capsys: Capsys) -> None:
    name, writer = WRITERS[kind]
    writer(tmp_path / name, PAIRS)
    done = run_here(capsys, "score", tmp_path / name, "--json")

    assert (done.status, json.loads(done.out)["samples"]) == (0, 6)
    found = json.loads(done.out)
    # 1/2, 0, 1/3, 1/3, 0, 0 and 0, 1/2, 0, 0, 1/2, 1/3.
    assert found["relevant"]["mean"]["value"] == pytest.approx(7 / 36, abs=1e-12)
    assert found["irrelevant"]["mean"]["value"] == pytest.approx(2 / 9, abs=1e-12)


@pytest.mark.parametrize("definition", ["ragas", "paper", "promptfoo", "validmind"])
def test_documented_figures_in_each_definition(
    definition: Any, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out.jsonl"
    options = ("--definition", definition, "--out", out, "--id", "user_input")
    done = run_here(capsys, "score", example_file(tmp_path), *options)

    assert done.status == 0
    for result, example in zip(read_results(out), EXAMPLES, strict=True):
        assert result.id == example.sample.user_input
        assert result.score is not None
        assert result.score.definition == definition
        values = (result.score.relevant, result.score.irrelevant)
        assert values == pytest.approx(example.expected[definition], abs=1e-12)


def test_the_summary(tmp_path: Path, capsys: Capsys) -> None:
    """Two samples with figures that are easy to check: 1 of 2 claims, and 0 of 1."""
    pairs = [PAIRS[0], PAIRS[0]]
    lines = rows(pairs)
    lines[1]["response"] = "Leonardo da Vinci painted it."
    del lines[1]["verdicts"]["response_claims"][1]
    path = write_jsonl(tmp_path / "two.jsonl", lines)
    done = run_here(capsys, "score", path, "--out", tmp_path / "out.jsonl")

    assert done.status == 0
    assert done.out.splitlines() == [
        "two.jsonl: 2 samples, 2 scored, 2 chunks; definition ragas, lower is better",
        "",
        "1 of 3 claims is not supported by the reference and comes from a retrieved chunk.",
        "1 from relevant chunks, 0 from irrelevant ones.",
        "",
        "                              relevant        irrelevant",
        "mean                            0.2500            0.0000",
        "  95% interval        0.0077 to 0.8136  0.0000 to 0.7652",
        "median                          0.2500            0.0000",
        "maximum                         0.5000            0.0000",
        "mean over all claims            0.3333            0.0000",
        "  95% interval        0.0127 to 0.8363  0.0000 to 0.7466",
        "",
        f"wrote {tmp_path / 'out.jsonl'}",
    ]
    assert "note: relevant: 2 samples only; read the interval, not the mean." in done.err


@pytest.mark.parametrize("option", ["--report", "--png"])
def test_a_picture_replaces_no_file_of_somebody_elses(
    option: str, tmp_path: Path, capsys: Capsys
) -> None:
    pytest.importorskip("matplotlib", reason="the report's plots")
    data = example_file(tmp_path)
    path = tmp_path / {"--report": "index.html", "--png": "logo.png"}[option]
    path.write_bytes(b"mine")
    done = run_here(capsys, "score", data, option, path)
    assert done.status == 2
    assert "nothing was overwritten" in done.err
    assert path.read_bytes() == b"mine"
    path.unlink()
    for _ in range(2):
        assert run_here(capsys, "score", data, option, path).status == 0


def test_what_cannot_be_read_is_told_and_the_rest_kept(tmp_path: Path, capsys: Capsys) -> None:
    path = example_file(tmp_path)
    good = path.read_text(encoding="utf-8").splitlines()
    bad = ["{", json.dumps({**json.loads(good[0]), "reference": ""})]
    path.write_text("\n".join([good[0], *bad, *good[1:]]), encoding="utf-8")
    out = tmp_path / "out.jsonl"
    done = run_here(capsys, "score", path, "--out", out)

    assert done.status == 3
    first, second, *notes = done.err.splitlines()
    assert first.startswith("failed: examples.jsonl, line 2: expected one JSON object a line, got")
    assert second.startswith("failed: examples.jsonl, line 3, reference: expected a non-empty")
    assert "note: 2 of 8 samples failed and are in no figure" in notes[0]
    found = list(read_results(out))
    assert [result.id for result in found if result.error] == [
        "examples.jsonl, line 2",
        "examples.jsonl, line 3",
    ]
    assert f"failed: {found[1].error}" == first
    assert done.out.startswith(
        "examples.jsonl: 8 samples, 6 scored, 2 failed, 16 chunks; definition ragas"
    )


def test_equal_failures_are_counted_and_of_many_kinds_twenty_shown(
    tmp_path: Path, capsys: Capsys
) -> None:
    path = example_file(tmp_path)
    good = path.read_text(encoding="utf-8")
    path.write_text(good + "{\n" * 27, encoding="utf-8")
    done = run_here(capsys, "score", path)
    assert done.status == 3
    assert f"\n{done.err}".count("\nfailed: ") == 1
    assert "\n26 more failed like one of these\n" in done.err
    kinds = "".join(f'["{"x" * i}"]\n' * 2 for i in range(27))
    path.write_text(good + kinds, encoding="utf-8")
    done = run_here(capsys, "score", path)
    assert f"\n{done.err}".count("\nfailed: ") == 20
    assert "\n20 more failed like one of these\n14 more failed\n" in done.err


def test_a_sample_the_recording_lacks(tmp_path: Path, capsys: Capsys) -> None:
    recording = tmp_path / "recording.jsonl"
    write_recording(recording, PAIRS[1:])
    texts = write_jsonl(
        tmp_path / "texts.jsonl", [{**row, "verdicts": None} for row in rows(PAIRS)]
    )
    done = run_here(capsys, "score", texts, "--verdicts", recording)
    assert done.status == 3
    assert done.err.startswith(
        f"failed: texts.jsonl, line 1, {recording}: expected a recording of"
    )
    assert "6 samples, 5 scored, 1 failed" in done.out


ERRORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no file": (("none.jsonl",), ("none.jsonl", "no such file")),
    "empty": (("empty.jsonl",), ("empty.jsonl", "at least one row")),
    "another encoding": (("utf16.csv",), ("utf16.csv", "UTF-8", "UTF-16")),
    "another schema": (
        ("other.jsonl",),
        ("other.jsonl", "one of 'response'", "--map response=COLUMN"),
    ),
    "a missing column": (("texts.jsonl", "--map", "reference=gold"), ("texts.jsonl", "'gold'")),
    "no verdicts": (("texts.jsonl",), ("texts.jsonl", "--verdicts", "--judge")),
    "no such field": (("texts.jsonl", "--map", "answer=gold"), ("'answer'", "response")),
    "no mapping": (("texts.jsonl", "--map", "reference"), ("--map", "FIELD=COLUMN")),
    "a mapping twice": (
        ("texts.jsonl", "--map", "id=a", "--id", "b"),
        ("--map", "each field once", "'id'"),
    ),
    "no such definition": (("texts.jsonl", "--definition", "ragsa"), ("'ragas'", "'ragsa'")),
    "no such choice": (("texts.jsonl", "--empty", "nan"), ("'undefined'", "'nan'")),
    "no such mode": (("texts.jsonl", "--mode", "both"), ("'relevant'", "'both'")),
    "no such limit": (("texts.jsonl", "--fail-above", "20"), ("--fail-above", "20.0")),
    "a store without a judge": (("texts.jsonl", "--store", "s.db"), ("--judge", "--store")),
    "a wrong ending": (("texts.jsonl", "--out", "out.csv"), ("in .jsonl", "'out.csv'")),
    "a report over the dataset": (
        ("texts.jsonl", "--report", "texts.jsonl"),
        ("--report", "html"),
    ),
    "a picture of another kind": (("texts.jsonl", "--png", "p.jpg"), ("--png", ".png", "'p.jpg'")),
    "a report nowhere": (("texts.jsonl", "--report", "no/r.html"), ("--report", "'no'")),
    "a report over a folder": (("texts.jsonl", "--report", "f.html"), ("'f.html'",)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("texts.jsonl"), [{**row, "verdicts": None} for row in rows(PAIRS)])
    write_jsonl(Path("other.jsonl"), [{"prompt": "a", "completion": "b"}])
    Path("empty.jsonl").touch()
    Path("f.html").mkdir()
    Path("utf16.csv").write_text("question,answer\n", encoding="utf-16")
    arguments, named = ERRORS[name]
    done = run_here(capsys, "score", *arguments)

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert [part for part in named if part not in done.err] == []


CHECKS: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "both below": (("--fail-above", "0.5"), 0, ()),
    "one above": (("--fail-above", "0.2"), 1, ("the irrelevant mean, 0.2222, is above 0.2",)),
    "the other is looked at": (("--fail-above", "0.2", "--mode", "relevant"), 0, ()),
    "both above": (
        ("--fail-above", "0.1"),
        1,
        ("the relevant mean, 0.1944, is above 0.1", "the irrelevant mean, 0.2222, is above 0.1"),
    ),
    "no such mode there": (("--fail-above", "0.5", "--definition", "validmind"), 0, ()),
    "asked for all the same": (
        ("--fail-above", "0.5", "--definition", "validmind", "--mode", "irrelevant"),
        4,
        ("the irrelevant mean is undefined",),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_fail_above(name: str, tmp_path: Path, capsys: Capsys) -> None:
    options, status, told = CHECKS[name]
    done = run_here(capsys, "score", example_file(tmp_path), *options)
    assert done.status == status
    found = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    begins = {0: "", 1: "check failed", 4: "cannot be decided"}[status]
    assert found == [f"{begins}: {line}" for line in told]


def test_an_undefined_mean_passes_no_check(tmp_path: Path, capsys: Capsys) -> None:
    pairs = list(random_pairs(3, shape=Shape(response_claims=(0, 0))))
    path = write_jsonl(tmp_path / "d.jsonl", rows(pairs))
    done = run_here(capsys, "score", path, "--fail-above", "1")
    assert done.status == 4
    assert "cannot be decided: the relevant mean is undefined" in done.err
    assert "3 samples, 3 scored, 3 without claims" in done.out
    passed = run_here(capsys, "score", path, "--fail-above", "0", "--empty", "zero")
    assert passed.status == 0
    failed = run_here(capsys, "score", path, "--empty", "error")
    assert failed.status == 3


@pytest.mark.parametrize("label", [False, True])
def test_a_mode_that_is_open_beside_one_that_is_not(
    label: bool, tmp_path: Path, capsys: Capsys
) -> None:
    """Whether the claim is correct is open, and only one kind of chunk entails it."""
    sample = Sample.model_validate(
        {
            "response": "It is so.",
            "reference": "It is not.",
            "retrieved_contexts": [{"text": "So they say.", "relevant": label}],
        }
    )
    claims = [{"text": "It is so", "correct": None, "entailed_by": [0]}]
    verdicts = Verdicts.model_validate({"response_claims": claims, "reference_claims": []})
    path = tmp_path / "half.jsonl"
    write_recording(path, [(sample, verdicts)])
    done = run_here(capsys, "score", path)
    assert done.status == 5  # one of the two verdicts that are needed has no answer
    lines = (re.split("  +", line.strip()) for line in done.out.splitlines())
    shown = {label: tuple(figures) for label, *figures in lines}
    figures = ("0.0000 to 1.0000", "0.0000") if label else ("0.0000", "0.0000 to 1.0000")
    assert shown["mean"] == shown["median"] == shown["maximum"] == figures
    assert shown["samples undetermined"] == (("1", "0") if label else ("0", "1"))


def test_clusters_widen_the_interval(tmp_path: Path, capsys: Capsys) -> None:
    lines = [{**row, "meta": {"doc": i % 3}} for i, row in enumerate(rows(PAIRS * 10))]
    path = write_jsonl(tmp_path / "d.jsonl", lines)
    found = [
        json.loads(run_here(capsys, "score", path, "--json", *options).out)
        for options in ((), ("--cluster", "meta.doc"))
    ]
    assert [each["clusters"] for each in found] == [None, 3]


def test_a_report_and_a_picture(tmp_path: Path, capsys: Capsys) -> None:
    report, png = tmp_path / "report.html", tmp_path / "plots.png"
    done = run_here(capsys, "score", example_file(tmp_path), "--report", report, "--png", png)
    assert done.status == 0
    page = report.read_text(encoding="utf-8")
    assert "Noise sensitivity: examples.jsonl" in page
    assert "Leonardo da Vinci painted the Mona Lisa, and" in str(packed_lines(page, "details"))
    assert png.read_bytes().startswith(b"\x89PNG")
    assert done.out.endswith(f"wrote {report}\nwrote {png}\n")


def test_in_a_process_of_its_own_it_is_quiet_and_needs_no_extra(tmp_path: Path) -> None:
    path = example_file(tmp_path)
    hidden = ("pyarrow", "langchain", "openai", "jinja2", "matplotlib", "numpy", "pandas")
    done = run("score", path, "--out", tmp_path / "out.jsonl", hidden=hidden)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("note: ")] == []
    assert "\x1b" not in done.stdout
    assert sum(1 for _ in read_results(tmp_path / "out.jsonl")) == 6
