"""``noisesense score --dry-run``: what a run then asks for lies between its two numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisesense import Sample, Verdicts
from support.command_here import run_here
from support.datasets import write_jsonl
from support.mind import Mind
from support.server import ScriptedServer
from support.tables import Shape, random_pairs, sample_of

Capsys = pytest.CaptureFixture[str]
Pairs = list[tuple[Sample, Verdicts]]


def table(right: bool, chunks: int, name: str) -> tuple[Sample, Verdicts]:
    """Two claims, both right or both wrong."""
    verdicts = Verdicts.from_matrices(
        [right] * 2,
        [[True] * chunks] * 2,
        [[True] * chunks],
        response_claims=[f"{name} says claim {i}." for i in "12"],
        reference_claims=[f"{name} is known for a fact."],
        chunks=[f"Passage {i} on {name}." for i in range(chunks)],
    )
    return sample_of(verdicts, f"Who is {name}?"), verdicts


RIGHT = [table(True, 4, name) for name in ("Alba", "Bruno", "Carla")]
WRONG = [table(False, 4, name) for name in ("Dora", "Emil", "Fritz")]
# By name: the samples, further options, and both numbers by hand: of each row at least 3 calls, at
# most 8 and one for each of its chunks; of a full plan each chunk is asked about. Of five rows or
# more five questions of known answer are asked, too.
CASES: dict[str, tuple[Pairs, str, tuple[int, int] | None]] = {
    "all right": (RIGHT, "", (9, 36)),
    "all wrong": (WRONG, "", (9, 36)),
    "every cell": (RIGHT, "--plan full", (21, 36)),
    "with five questions of known answer": (RIGHT + WRONG, "", (18, 77)),
    "random": (list(random_pairs(8, seed=2, shape=Shape((1, 4), (1, 3), (1, 4)))), "", None),
}


@pytest.mark.parametrize("name", CASES)
def test_the_calls_made_are_within_what_it_says(
    name: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, more, by_hand = CASES[name]
    data = write_jsonl(tmp_path / "data.jsonl", [s.model_dump(mode="json") for s, _ in pairs])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(Mind(pairs)) as server:
        command = ["score", data, "--judge", "openai:m", "--base-url", server.base_url]
        command += more.split()
        done = run_here(capsys, *command, "--dry-run", "--json")
        assert done.status == 0
        assert server.log.calls == 0
        assert run_here(capsys, *command).status == 0
        made = server.log.calls
    found = json.loads(done.out)
    assert found["least"] <= made <= found["most"]
    assert by_hand in (None, (found["least"], found["most"]))
