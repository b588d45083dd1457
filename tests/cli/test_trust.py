"""``noisesense trust``."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import (
    Result,
    Verdicts,
    score,
    trust_results,
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


def test_labels_on_your_own_results(tmp_path: Path, capsys: Capsys) -> None:
    labels = tmp_path / "labels.jsonl"
    write_recording(labels, LABELS[::2])
    results, page = tmp_path / "own.jsonl", tmp_path / "report.html"
    own = [
        Result(f"r{i}", score(said), sample=sample, judge="scripted, plan=full")
        for i, (sample, said) in enumerate(SAID)
    ]
    write_results(results, own)
    arguments = ("trust", "--for", results, "--on", labels)
    done = run_here(capsys, *arguments, "--report", page)
    assert done.status == 0
    people = [Result(s.key, score(verdicts), sample=s) for s, verdicts in LABELS[::2]]
    expected = trust_results(own, people, judge="scripted, plan=full")
    assert "relevant mean of all samples: " in done.out
    assert "claim in reference" in done.out
    data = json.loads(run_here(capsys, *arguments, "--json").out)
    (one,) = data["judges"]
    assert one["cells"] == json.loads(json.dumps(expected.to_dict()["cells"]))
    assert "people would find" in page.read_text(encoding="utf-8")


def test_judges_side_by_side(tmp_path: Path, capsys: Capsys, server: ScriptedServer) -> None:
    labels, _ = files(tmp_path)
    arguments = ("--on", labels, "--base-url", server.base_url, "--json")
    judges = ("--judge", "openai:scripted", "--judge", "openai:other")
    done = run_here(capsys, "trust", *judges, *arguments)
    assert done.status == 0
    first, second = json.loads(done.out)["judges"]
    assert (first["judge"], second["judge"]) == ("openai:scripted", "openai:other")
    assert first["cells"].keys() == second["cells"].keys()
    for kind, cells in first["cells"].items():
        assert second["cells"][kind]["counts"] == cells["counts"]
    assert not first["means"]
    assert first["usage"]["calls"] > 0


def test_what_is_asked_for_nothing(tmp_path: Path, capsys: Capsys) -> None:
    labels, _ = files(tmp_path)
    done = run_here(capsys, "trust", "--on", labels)
    assert done.status == 2
    assert "--for RESULTS or --judge PROVIDER:MODEL" in done.err
    done = run_here(capsys, "trust", "--on", labels, "--judge", "openai:x", "--report", "r.html")
    assert "--for as well" in done.err
