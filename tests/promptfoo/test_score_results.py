"""What ``promptfoo eval -o`` wrote is scored again: offline, also what a model had judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import Result, write_recording
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.promptfoo import get_assert
from support.promptfoo_cli import Run
from support.promptfoo_suite import DOCUMENTED, EXAMPLES


def of(run: Run, folder: Path, test: str) -> Result:
    """The result of one test, read from a file that holds nothing else, and scored as there."""
    write_recording(folder / "recording.jsonl", [(e.sample, e.verdicts) for e in EXAMPLES])
    document = json.loads(run.evaluation.written["out.json"])
    row = run.evaluation.rows[test]
    document["results"]["results"] = [row]
    path = folder / "out.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    (result,) = results_of(path)
    lines = folder / "out.jsonl"
    lines.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (again,) = results_of(lines)
    assert again == result
    return result


JUDGED = [pytest.param(each, "judged", id=f"judged: {each.id}") for each in EXAMPLES]


@pytest.mark.parametrize(("example", "definition"), [*DOCUMENTED, *JUDGED])
def test_given_verdicts_and_those_of_a_judge(
    run: Run, example: Any, definition: Any, tmp_path: Path
) -> None:
    """A judge's are in the metadata."""
    test, definition = (
        (f"judged: {example.id}", "ragas")
        if definition == "judged"
        else (f"{example.id}, {definition}", definition)
    )
    result = of(run, tmp_path, test)
    assert result.error is None
    figures = (result.score.relevant, result.score.irrelevant)
    assert figures == pytest.approx(example.expected[definition], abs=1e-12)
    assert result.sample.key == example.sample.key


@pytest.mark.parametrize("first", ["ragas", "validmind"])
def test_of_several_assertions_the_first_says_how(first: str, tmp_path: Path) -> None:
    """Ours have one without a config and one with another definition; a foreign one, its own."""
    claim = {"text": "a", "correct": False, "entailed_by": []}
    verdicts = {"response_claims": [claim], "reference_claims": []}
    texts = {"query": "q", "reference": "r", "contextChunks": [{"text": "c", "relevant": True}]}
    context = {"vars": {**texts, "verdicts": verdicts}, "test": {}}
    foreign = {"assertion": {"type": "python", "config": {"definition": "strict"}}}
    ours = [
        {**get_assert("answer", {**context, "config": each}), "assertion": {"config": each}}
        for each in ({}, {"definition": "validmind"})
    ]
    parts = [foreign, *ours[:: 1 if first == "ragas" else -1]]
    row = {
        "testIdx": 0, "promptIdx": 0, "testCase": {}, "vars": context["vars"],
        "response": {"output": "answer"}, "gradingResult": {"componentResults": parts},
    }  # fmt: skip
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (result,) = results_of(path)
    assert (result.score.definition, result.score.relevant) == (first, float(first != "ragas"))
