"""``noisesense demo``: the documented figures, everywhere the same; what counts as the same."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from noisesense import RecordedJudge, read_results, score
from noisesense.fixtures import reference_examples
from noisesense_adapters.cli import demo as command
from noisesense_adapters.demo import catch
from noisesense_adapters.demo.catch import Library
from noisesense_adapters.demo.compare import Pair, Place, Report, compare, runs_of
from support.command import run
from support.command_here import Done, run_here
from support.npm import npm_cache
from support.promptfoo_cli import VERSIONS, install

NOTHING_ELSE = ("ragas", "deepeval", "langsmith", "langfuse", "pydantic_evals", "mlflow")
# What would make the frameworks report their runs to somebody.
ONLINE = {
    "CONFIDENT_API_KEY": "canary",
    "LANGCHAIN_TRACING_V2": "true",
    "LANGSMITH_API_KEY": "canary",
    "RAGAS_DO_NOT_TRACK": "false",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "0",
    "PROMPTFOO_DISABLE_TELEMETRY": "0",
}


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """A PATH on which there is no promptfoo."""
    return {"PATH": str(tmp_path)}


@pytest.mark.broad
@pytest.mark.parametrize("version", [None, *VERSIONS])
def test_every_framework_agrees_offline_and_leaves_nothing_behind(
    version: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cwd = tmp_path / "cwd"
    log = tmp_path / "network.txt"
    cwd.mkdir()
    path = install(version, npm_cache(request.config)) if version else tmp_path
    env = {**ONLINE, "HOME": str(tmp_path), "PATH": f"{path}:/usr/bin:/bin"}
    done = run("demo", cwd=cwd, network_log=log, env=env)
    assert done.returncode == 0, done.stdout
    assert done.stderr == "", done.stdout
    # The core, ragas, DeepEval, LangSmith, Langfuse, pydantic-evals, MLflow and Promptfoo.
    places = 8 if version else 7
    # 6 cases by ragas' definition and 2 by promptfoo's, in two modes; 9 documented figures.
    assert done.stdout.splitlines()[-1] == f"all {8 * 2 * places + 9} comparisons agree"
    assert "canary" not in done.stdout
    assert "\x1b" not in done.stdout
    assert not log.exists(), log.read_text()
    assert list(cwd.iterdir()) == []


def test_without_frameworks_the_core_is_compared_and_the_rest_said(
    nowhere: dict[str, str],
) -> None:
    done = run("demo", hidden=NOTHING_ELSE, env=nowhere)
    assert done.returncode == 0
    hint = "DeepEval: not installed. the package 'deepeval' is not installed. Hint: pip install"
    assert hint in done.stdout
    # 16 rows by hand, 9 of them documented by the definition they are computed with.
    assert done.stdout.splitlines()[-1] == "all 25 comparisons agree"


def test_a_required_framework_that_is_not_there_is_a_failure(nowhere: dict[str, str]) -> None:
    arguments = ("--json", "--require", "pydantic-evals,deepeval,promptfoo")
    hidden = [name for name in NOTHING_ELSE if name != "pydantic_evals"]
    done = run("demo", *arguments, hidden=hidden, env=nowhere)
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert data["agrees"] is False
    assert data["verdict"] == "DeepEval, Promptfoo failed"
    assert data["places"]["pydantic-evals"].startswith("compared: ")
    assert data["places"]["ragas"].startswith("not installed: ")
    row = data["rows"][4]
    assert row["example"] == "lic"
    assert row["mode"] == "relevant"
    assert row["expected"] == 1 / 3
    assert row["figures"] == dict.fromkeys(("documented", "core", "pydantic-evals"), 1 / 3)


def test_a_framework_that_is_none_cannot_be_required(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = run_here(capsys, "demo", "--require", "trulens")
    assert unknown.status == 2
    assert unknown.err.startswith("error: --require: expected 'ragas', 'deepeval', ")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
def test_a_promptfoo_that_gives_nothing_is_a_failure(tmp_path: Path) -> None:
    stand_in = tmp_path / "promptfoo"
    stand_in.write_text("#!/bin/sh\necho 'Node.js 18 is too old' >&2\nexit 3\n")
    stand_in.chmod(0o755)
    done = run("demo", hidden=NOTHING_ELSE, env={"PATH": f"{tmp_path}{os.pathsep}/bin"})
    assert done.returncode == 1
    said = "promptfoo eval ended with status 3: Node.js 18 is too old"
    assert f"Promptfoo: failed. NoiseSenseError: {said}" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Promptfoo failed")


def report(
    *figures: Pair,
    expected: Pair = (0.5, 0.0),
    documented: float | None = 0.5,
    failed: tuple[Place, ...] = (),
) -> Report:
    """Of one example, mona-lisa, in one place or several."""
    example = replace(
        reference_examples()[0],
        expected={"ragas": expected},
        documented={} if documented is None else {"relevant": documented},
    )
    places = [Place(f"place {n}", "compared", "1", [pair]) for n, pair in enumerate(figures)]
    return compare(runs_of([example]), [*places, *failed])


@pytest.mark.parametrize("wrong", [0.5 + 2e-9, math.nan, None])
def test_a_figure_that_differs_is_found_shown_and_no_success(
    wrong: float | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report((0.5 + 5e-13, 0.0), (wrong, 0.0))  # the first is within the tolerance
    monkeypatch.setattr(command, "run_demo", lambda require: found)
    done = run_here(capsys, "demo")
    assert done.status == 1
    rows = [line.split() for line in done.out.splitlines()]
    (row,) = [cells for cells in rows if cells[:2] == ["mona-lisa", "relevant"]]
    assert row[2:4] == ["0.5", "0.5000"]
    assert row[4].startswith("!")
    assert "Differs: mona-lisa, relevant, definition ragas: place 1 is " in done.out
    assert done.out.splitlines()[-1] == "1 of 5 comparisons differ"


def test_undefined_agrees_with_undefined_only() -> None:
    assert report((None, 0.0), expected=(None, 0.0), documented=None).agrees
    assert not report((0.0, 0.0), expected=(None, 0.0), documented=None).agrees


def test_documented_figures_count_to_the_precision_printed() -> None:
    for value, documented, fits in (
        (1 / 3, 0.333, True),
        (1 / 3, 0.3334, False),
        (2 / 3, 0.67, True),
        (2 / 3, 0.66, False),
    ):
        found = report((value, 0.0), expected=(value, 0.0), documented=documented)
        assert found.agrees is fits


def test_a_framework_that_fails_is_no_agreement() -> None:
    found = report((0.5, 0.0), failed=(Place("Promptfoo", "failed", "no output"),))
    assert found.agrees is False
    assert found.verdict == "Promptfoo failed"
    assert list(found.notes) == ["Promptfoo: failed. no output"]


def test_save_writes_the_examples_as_a_recording_and_overwrites_only_with_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "verdicts.jsonl"
    done = run_here(capsys, "demo", "--save", path)
    assert done == (0, f"wrote 6 samples with verdicts to {path}\n", "")
    assert run_here(capsys, "demo", "--save", path) == done  # again: it is there
    judge = RecordedJudge(path)
    for example in reference_examples():
        found = score(judge.lookup(example.sample))
        assert (found.relevant, found.irrelevant) == example.expected["ragas"]
    assert run_here(capsys, "score", path).status == 0
    path.write_text("mine", encoding="utf-8")
    refused = run_here(capsys, "demo", "--save", path)
    assert refused.status == 2
    assert "--force overwrites it" in refused.err
    assert path.read_text(encoding="utf-8") == "mine"
    assert run_here(capsys, "demo", "--save", path, "--force").status == 0
    assert len(path.read_text(encoding="utf-8").splitlines()) == 6


@pytest.fixture
def caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Caught:
    folder = tmp_path / "catch"
    return Caught(folder, run_here(capsys, "demo", "catch", folder))


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
    assert f"{len(wrong)} of 56 claims are not supported by the reference" in done.out
    assert f"2. Name: {len(wrong)} claims from handbook-2019.md, such as" in done.out
    _, cause = done.out.split("3. Cause")
    assert "100% (" in cause.partition("with other")[0]
    assert done.out.count(": fail\n") == 2
    assert done.out.count(": pass\n") == 2


def test_the_report_of_the_catch(caught: Caught) -> None:
    page = (caught.folder / "report.html").read_text(encoding="utf-8")
    assert "Worst document" in page
    cause = "Of the claims that were said again with the same chunks 100%"
    assert f'href="#ablation">Ablation</a>: {cause}' in page


def test_the_catch_mends(caught: Caught, capsys: pytest.CaptureFixture[str]) -> None:
    stale = caught.folder / "stale.jsonl"
    mended = caught.folder / "mended.jsonl"
    assert run_here(capsys, "score", stale, "--fail-above", "0.1").status == 1
    assert run_here(capsys, "score", mended, "--fail-above", "0.1").status == 0
    assert run_here(capsys, "compare", mended, stale, "--fail-if-worse").status == 1
    assert run_here(capsys, "compare", stale, mended, "--fail-if-worse").status == 0
    assert run_here(capsys, "demo", "catch", caught.folder) == caught.done
    mended.write_text("mine", encoding="utf-8")
    refused = run_here(capsys, "demo", "catch", caught.folder)
    assert refused.status == 2
    assert "something else" in refused.err
    assert mended.read_text(encoding="utf-8") == "mine"
    assert run_here(capsys, "demo", "catch", caught.folder, "--force").status == 0


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it says it prints, it prints."""
    monkeypatch.chdir(tmp_path)
    page = Path(catch.__file__).with_name("catch.ipynb")
    names: dict[str, object] = {}
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), page.name, "exec"), names)
            shown = "".join(line for each in cell["outputs"] for line in each["text"])
            assert capsys.readouterr().out == shown
    assert (tmp_path / "report.html").stat().st_size > 0
