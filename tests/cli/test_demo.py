"""``noisesense demo`` and its notebook: a stale document is counted, named and removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from noisesense import read_results
from noisesense_adapters.demo import catch
from noisesense_adapters.demo.catch import Library
from support.command_here import Done, run_here


@pytest.fixture
def caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Caught:
    folder = tmp_path / "demo"
    return Caught(folder, run_here(capsys, "demo", folder))


class Caught(NamedTuple):
    folder: Path
    done: Done

    @property
    def wrong(self) -> list[str]:
        """The claims of the stale run that come from a chunk and are incorrect."""
        scores = [each.score for each in read_results(self.folder / "stale.jsonl")]
        claims = [claim for score in scores if score for claim in score.claims]
        return [claim.text for claim in claims if claim.from_a_chunk]


def test_the_catch_counts_names_and_confirms_a_stale_document(caught: Caught) -> None:
    """28 questions of two topics: 56 claims. A wrong one is a sentence of the handbook alone."""
    done = caught.done
    assert done.status == 0
    wrong = caught.wrong
    assert set(wrong) <= {topic.once for topic in Library().topics if topic.once != topic.now}
    assert len(wrong) >= 10
    assert f"{len(wrong)} of 56 claims are wrong and came from" in done.out
    assert f"2. Name: {len(wrong)} claims from handbook-2019.md, such as" in done.out
    _, cause = done.out.split("3. Cause")
    assert (
        "100% vanish when we remove these; of the other claims in the same answers, 0%."
        in " ".join(cause.split())
    )
    gates = [line.split()[-2:] for line in done.out.splitlines() if line.startswith("at most 0.1")]
    assert gates == [["fail", "fail"], ["pass", "pass"]]


def test_the_mended_run_passes_gates_and_a_rerun_overwrites_only_its_own(
    caught: Caught, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = caught.folder / "stale.jsonl"
    mended = caught.folder / "mended.jsonl"
    assert run_here(capsys, "score", stale, "--fail-above", "0.1").status == 1
    assert run_here(capsys, "score", mended, "--fail-above", "0.1").status == 0
    assert run_here(capsys, "compare", mended, stale, "--fail-if-worse").status == 1
    assert run_here(capsys, "compare", stale, mended, "--fail-if-worse").status == 0
    assert run_here(capsys, "demo", caught.folder) == caught.done
    mended.write_text("mine", encoding="utf-8")
    refused = run_here(capsys, "demo", caught.folder)
    assert refused.status == 2
    assert "something else" in refused.err
    assert mended.read_text("utf-8") == "mine"


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it says it prints, it prints."""
    monkeypatch.chdir(tmp_path)
    page = Path(catch.__file__).with_name("catch.ipynb")
    names: dict[str, object] = {}
    for cell in json.loads(page.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), page.name, "exec"), names)
            shown = "".join(line for each in cell["outputs"] for line in each["text"])
            assert capsys.readouterr().out == shown
    assert (tmp_path / "report.html").stat().st_size > 0
