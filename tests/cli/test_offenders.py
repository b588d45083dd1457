"""``noisesense offenders``, and errors of commands that read results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisesense import (
    Result,
    Sample,
    Verdicts,
    offenders,
    score,
    write_results,
)
from noisesense_adapters.datasets.score import score_dataset
from support.command_here import assert_error, run_here

Capsys = pytest.CaptureFixture[str]


def answer(number: int, document: str, *claims: bool | None) -> Result:
    """Claims from one document: correct, incorrect, or open (None)."""
    chunk = {"text": f"What {document} says.", "id": document, "relevant": True}
    said = [
        {"text": f"Claim {number}.{i}", "correct": correct, "entailed_by": [0]}
        for i, correct in enumerate(claims)
    ]
    known = Verdicts.model_validate({"response_claims": said, "chunks": [chunk]})
    texts = Sample.model_validate(
        {"response": "r", "reference": "f", "retrieved_contexts": [chunk]}
        | {"user_input": f"Question {number}?"}
    )
    return Result(f"q{number}", score(known), sample=texts)


def written(folder: Path, *results: Result, name: str = "results.jsonl") -> Path:
    write_results(folder / name, results)
    return folder / name


def test_offenders(tmp_path: Path, capsys: Capsys) -> None:
    results = [answer(0, "guide.md", False, False), answer(1, "guide.md", False, True)]
    results.append(answer(2, "guide.md", None))
    path = written(tmp_path, *results)
    done = run_here(capsys, "offenders", path, "--examples", "2")
    assert done.status == 0
    assert done.out.splitlines() == [
        "3 to 4 of 5 claims are wrong and came from a retrieved document.",
        "",
        "document  claims  open  only  samples        rate  95% interval",
        "guide.md       3     1     3   2 of 3  59% to 88%   15% to 100%",
        "claims: wrong ones that came from it; open: the judge left open whether they are; only: "
        "in no other document; samples: with such a claim, of those that retrieved it; rate: that "
        "share, drawn towards the share of all documents, the more so the less often it was "
        "retrieved.",
        "",
        "guide.md:",
        '  "Claim 0.0" (q0)',
        '  "Claim 0.1" (q0)',
        "  1 more: --examples 3",
        "",
        "Next, do they cause these claims?",
        f"  noisesense ablation plan {path} --out todo.jsonl",
    ]
    found = json.loads(run_here(capsys, "offenders", path, "--json").out)
    (expected,) = offenders(results).documents
    assert found["documents"] == [json.loads(json.dumps(expected.to_dict()))]


ONE = {"value": 1.0, "low": 1.0, "high": 1.0}
CAUSE = {
    "document": "faq.md",
    "entails": True,
    "claims": 7,
    "shared": 0,
    "gone": ONE,
    "gone_without_others": {"value": 0.25, "low": 0.25, "high": 0.25},
    "low": 0.3,
    "is_shown": True,
}


def of_two_documents(folder: Path) -> tuple[Path, Path]:
    """Results, and where an ablation is to be written."""
    results = [answer(i, "guide.md", i > 5, True) for i in range(8)]
    results += [answer(i, "faq.md", i > 10, True) for i in range(10, 18)]
    return written(folder, *results), folder / "ablation.json"


def test_offenders_beside_an_ablation(tmp_path: Path, capsys: Capsys) -> None:
    path, counts = of_two_documents(tmp_path)
    unshown = {**CAUSE, "document": "sheet.md", "entails": False, "is_shown": False}
    counts.write_text(json.dumps({"causes": [CAUSE, unshown]}))
    done = run_here(capsys, "offenders", path, "--examples", "0", "--ablation", counts)
    lines = done.out.splitlines()
    assert lines[1] == "By the ablation, wrong claims vanish without faq.md."
    rows = [" ".join(line.split()) for line in lines]
    assert "faq.md 7 100% 25% at least 30 points" in rows
    assert "sheet.md 7 100% 25% no effect shown (says none of them)" in rows


def test_a_file_that_is_no_ablation(tmp_path: Path, capsys: Capsys) -> None:
    path, counts = of_two_documents(tmp_path)
    counts.write_text("{}")
    wrong = run_here(capsys, "offenders", path, "--ablation", counts)
    assert_error(wrong, ("ablation.json", "an ablation as JSON", "KeyError: 'causes'"), 2)


# By name: the command line, and what its one line on stderr names.
ERRORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "nothing to pair": ("compare a.jsonl other.jsonl", ("samples that both runs have",)),
    "a way of pairing": ("compare a.jsonl a.jsonl --pair-by row", ("'question'", "'row'")),
    "definitions": ("compare a.jsonl paper.jsonl", ("'ragas'", "'paper'", "definition=…")),
    "no such file": ("offenders none.jsonl", ("none.jsonl", "no such file")),
    "only texts": ("offenders texts.jsonl", ("texts.jsonl, line 1", "verdicts")),
    "no sample of both": ("trust --for a.jsonl --on other.jsonl", ("paired by", "both runs have")),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    a = written(
        tmp_path, answer(0, "guide.md", True), answer(1, "guide.md", False), name="a.jsonl"
    )
    written(tmp_path, answer(7, "guide.md", True), name="other.jsonl")
    score_dataset(a, out="paper.jsonl", definition="paper")
    texts = {"response": "r", "reference": "f", "retrieved_contexts": ["c"]}
    Path("texts.jsonl").write_text(json.dumps(texts))
    line, named = ERRORS[name]
    unpaired = name in ("nothing to pair", "no sample of both")
    assert_error(run_here(capsys, *line.split()), named, 6 if unpaired else 2)
