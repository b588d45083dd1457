"""What MLflow's own wrapper of ragas and our scorer send to the judge, from one trace."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.pages import ROOT, page_named


@pytest.mark.broad
def test_the_page_shows_what_reaches_each_judge() -> None:
    command = [sys.executable, "tests/benchmarks/mlflow_texts.py"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300, check=True
    )
    lines = [line.strip("|").split("|") for line in done.stdout.splitlines()[2:]]
    theirs = {name.strip(): cell.strip() for name, cell, _ in lines}
    ours = {name.strip(): cell.strip() for name, _, cell in lines}
    assert ours == {
        "calls": "5",
        "modes": "['noise_sensitivity/relevant', 'noise_sensitivity/irrelevant']",
        "chunks": "['Leonardo painted it.', 'It was painted in the 15th century.']",
        "reference": "['It is by Leonardo.']",
        "question": "['Who painted it?']",
    }
    assert theirs["calls"] == "7"
    page = page_named("mlflow").read_text("utf-8")
    for text in (
        "{'content': 'Leonardo painted it.', 'doc_uri': 'a.md'}",
        "It is by Leonardo., acme, ['f1', 'f2']",
        "{'question': 'Who painted it?'}",
    ):
        assert any(text in cell for cell in theirs.values())
        assert f"`{text}`" in page
