"""``noisesense offenders``, and errors of commands that read results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from noisesense import (
    Range,
    Result,
    Sample,
    Verdicts,
    offenders,
    score,
    write_results,
)
from noisesense.ablation import Cause
from noisesense_adapters.evaluate.tables import cause_table
from support.command_here import run_here

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


def test_offenders_shows_a_documents_figures_and_its_first_three_claims(
    tmp_path: Path, capsys: Capsys
) -> None:
    results = [answer(0, "guide.md", False, False), answer(1, "guide.md", False, False)]
    results.append(answer(2, "guide.md", None))
    path = written(tmp_path, *results)
    done = run_here(capsys, "offenders", path)
    assert done.status == 0
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "guide.md 4 1 2 of 3 59% to 88% 15% to 100%" in lines
    claims = [line for line in lines if "Claim" in line]
    assert claims == ['"Claim 0.0" (q0)', '"Claim 0.1" (q0)', '"Claim 1.0" (q1)']
    assert "and 1 more: --json lists all" in lines
    found = json.loads(run_here(capsys, "offenders", path, "--json").out)
    (expected,) = offenders(results).documents
    assert found["documents"] == [json.loads(json.dumps(expected.to_dict()))]
    assert "names its document" not in done.err
    path.write_text(re.sub(r'"id": ?"guide\.md", ?|, ?"id": ?"guide\.md"', "", path.read_text()))
    assert "no chunk names its document" in run_here(capsys, "offenders", path).err


def test_a_cause_that_is_not_shown_has_no_effect_in_the_table() -> None:
    gone = Range(1.0, 1.0)
    shares = (7, 0, gone, Range(0.25, 0.25), 0.3)
    causes = [Cause("faq.md", True, *shares, True), Cause("sheet.md", False, *shares, False)]
    rows = [" ".join(filter(None, row)) for row in cause_table(causes).rows]
    assert rows == [
        "faq.md 7 100% 25% at least 30 points",
        "sheet.md 7 100% 25% no effect shown (says none of them)",
    ]
