"""``noisesense trust``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import (
    LabeledVerdicts,
    Result,
    Verdicts,
    score,
    trust,
    write_recording,
    write_results,
)
from support.command_here import run_here
from support.mind import Mind
from support.server import ScriptedServer
from support.simulated import misjudged
from support.tables import Shape, random_pairs

Capsys = pytest.CaptureFixture[str]

LABELS = [
    (sample, verdicts.beside(sample))
    for sample, verdicts in random_pairs(28, shape=Shape(chunks=(1, 5)))
    if verdicts.response_claims
]


def wrong(seed: int, labels: Verdicts) -> Verdicts:
    """What the judge thinks of the same claims."""
    table = misjudged(random.Random(seed), labels, (0.1, 0.2)).to_matrices()
    return Verdicts.from_matrices(
        **table,
        response_claims=[claim.text for claim in labels.response_claims],
        reference_claims=[claim.text for claim in labels.reference_claims],
        chunks=[chunk.text for chunk in labels.chunks or ()],
    )


SAID = [(sample, wrong(i, labels)) for i, (sample, labels) in enumerate(LABELS)]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Mind(SAID)) as running:
        yield running


def files(folder: Path) -> tuple[Path, Path]:
    """The labels, and results that the scripted judge made."""
    labels, results = folder / "labels.jsonl", folder / "results.jsonl"
    write_recording(labels, LABELS)
    write_results(
        results,
        (
            Result(f"r{i}", score(said), judge="scripted, plan=full")
            for i, (_, said) in enumerate(SAID)
        ),
    )
    return labels, results


def test_one_judge(tmp_path: Path, capsys: Capsys, server: ScriptedServer) -> None:
    labels, results = files(tmp_path)
    arguments = ("--on", labels, "--for", results, "--base-url", server.base_url)
    page = tmp_path / "report.html"
    done = run_here(capsys, "trust", "--judge", "openai:scripted", *arguments, "--report", page)
    assert (done.status, done.err) == (0, f"wrote {page}\n")
    expected = trust(
        "openai:scripted",
        [
            LabeledVerdicts(true, said, sample.key)
            for (sample, true), (_, said) in zip(LABELS, SAID, strict=True)
        ],
        results=[Result(f"r{i}", score(said)) for i, (_, said) in enumerate(SAID)],
    )
    *_, last = done.out.splitlines()
    assert last == expected.sentence
    assert last.startswith("With openai:scripted, the relevant mean of ")
    assert "assumed: the judge errs on the results as on the labels" in done.out
    assert last in page.read_text(encoding="utf-8")

    found = json.loads(
        run_here(capsys, "trust", "--judge", "openai:scripted", *arguments, "--json").out
    )
    (judge,) = found["judges"]
    assert found["sentence"] == judge["sentence"] == last
    ours = json.loads(json.dumps(expected.to_dict()))
    assert judge["usage"]["calls"] > len(LABELS)
    assert judge["results_by"] == ["scripted, plan=full"]
    for name in ("counts", "false_yes", "false_no", "false_yes_interval", "kappa", "band"):
        assert judge[name] == ours[name]


def test_judges_side_by_side(tmp_path: Path, capsys: Capsys, server: ScriptedServer) -> None:
    labels, results = files(tmp_path)
    judges = ("--judge", "openai:another", "--judge", "openai:scripted")
    arguments = ("--on", labels, "--base-url", server.base_url, "--store", tmp_path / "s.db")
    done = run_here(capsys, "trust", *judges, *arguments, "--for", results)
    assert done.status == 0
    table = [line.split() for line in done.out.splitlines() if line.startswith("openai:")]
    assert [row[0] for row in table] == ["openai:another", "openai:scripted"]
    # The same mind, so the same rates; the last line is about the judge of the results.
    assert table[0][4:] == table[1][4:]
    assert done.out.splitlines()[-1].startswith("With openai:scripted, ")
    # Nothing is paid for twice.
    again = json.loads(run_here(capsys, "trust", *judges, *arguments, "--json").out)
    assert [each["usage"]["calls"] for each in again["judges"]] == [0, 0]
    assert again["judges"][0]["band"] is None


def test_the_results_of_another_judge_are_named(
    tmp_path: Path, capsys: Capsys, server: ScriptedServer
) -> None:
    labels, results = files(tmp_path)
    done = run_here(
        capsys, "trust", "--judge", "openai:another", "--on", labels, "--for", results,
        "--base-url", server.base_url,
    )  # fmt: skip
    assert "note: the results were judged by scripted, plan=full" in done.err
    assert "the rates are those of openai:another" in done.err


def test_a_judge_that_fails(tmp_path: Path, capsys: Capsys) -> None:
    labels, _ = files(tmp_path)
    with ScriptedServer(Mind(SAID), api_key="other") as refusing:
        done = run_here(
            capsys, "trust", "--judge", "openai:scripted", "--on", labels,
            "--base-url", refusing.base_url,
        )  # fmt: skip
    assert done.status == 2
    assert "failed: " in done.err
    assert "the judge failed on the first 20 samples, so the run ends" in done.err


def test_report_without_results(tmp_path: Path, capsys: Capsys) -> None:
    labels, _ = files(tmp_path)
    done = run_here(capsys, "trust", "--judge", "openai:m", "--on", labels, "--report", "r.html")
    assert (done.status, "--for as well" in done.err) == (2, True)
