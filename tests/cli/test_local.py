"""``--judge local:FOLDER`` of ``score`` and ``trust``, with a classifier in place of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import read_results
from support.command_here import run_here
from support.datasets import write_jsonl
from support.tiny_nli import TinyNLI, probability

Capsys = pytest.CaptureFixture[str]

ROW = {
    "user_input": "q",
    "response": "The tower is red. The tower is tall.",
    "reference": "The tower is tall.",
    "retrieved_contexts": ["A red tower.", "The old sea."],
}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("noisesense_adapters.local.NLIModel", TinyNLI)
    return "local:folder/tiny"


def test_score(tmp_path: Path, capsys: Capsys, model: str) -> None:
    # The reference has 2 for entailment of "The tower is red." (red) and 0.625 against it (five
    # marks): e² / (e² + e^0.625 + 1) = 0.72. Chunk 0 has 4: 0.95. So at a threshold of 0.9 the
    # claim is not supported by the reference and comes from chunk 0; the other one nothing
    # entails.
    assert probability("The tower is tall.", "The tower is red.") == pytest.approx(0.72, abs=0.005)
    assert probability("A red tower.", "The tower is red.") == pytest.approx(0.95, abs=0.005)
    data = write_jsonl(tmp_path / "data.jsonl", [ROW])
    out = tmp_path / "out.jsonl"
    how = ("--judge", model, "--store", tmp_path / "s.db", "--max-unanswered", "0")
    done = run_here(capsys, "score", data, *how, "--threshold", "0.9", "--out", out)
    assert done.status == 0
    assert done.err.count("failed") == 0
    (result,) = read_results(out)
    assert result.score is not None
    assert (result.judge or "").startswith("tiny, plan=lazy threshold=0.9 claims=sentences")
    claims = result.score.verdicts.response_claims
    assert [(each.correct, each.entailed_by) for each in claims] == [(False, (0,)), (False, ())]
    assert "used again" in run_here(capsys, "score", data, *how).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--judge MODEL --base-url http://x",
            "base_url: expected none without a model that is asked",
        ),
        ("--judge openai:m --threshold 0.4", 'threshold: expected check="each"'),
        ("--batch-size 4", "--judge as well, got only --batch-size"),
    ],
)
def test_errors(tmp_path: Path, capsys: Capsys, model: str, arguments: str, message: str) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [ROW])
    done = run_here(capsys, "score", data, *arguments.replace("MODEL", model).split())
    assert done.status == 2, done.err
    assert message in done.err, done.err
