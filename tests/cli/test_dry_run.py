"""``noisesense score --dry-run``: what a run then asks for lies between its two numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisesense import Sample, Verdicts
from support.command_here import Done, run_here
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
# most 8 and one for each of its chunks; of a full plan each chunk is asked about.
CASES: dict[str, tuple[Pairs, str, tuple[int, int] | None]] = {
    "all right": (RIGHT, "", (9, 36)),
    "all wrong": (WRONG, "", (9, 36)),
    "every cell": (RIGHT, "--plan full", (21, 36)),
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


SPLIT = Sample(
    user_input="What does it cost?",
    response="It costs 20 euros.",
    reference="It costs 10 euros.",
    retrieved_contexts=["It costs 20 euros.", "It costs 10 euros."],
)
SPLIT_VERDICTS = Verdicts.from_matrices(
    [False],
    [[True, False]],
    [[False, True]],
    response_claims=["It costs 20 euros."],
    reference_claims=["It costs 10 euros."],
    chunks=[chunk.text for chunk in SPLIT.retrieved_contexts],
)
UNSPLIT = {
    "question": "What does it cost?",
    "answer": "It costs 20 euros.",
    "reference": "It costs 10 euros.",
    "contexts": "It costs 20 euros. | It costs 10 euros.",
}
LISTED = {**UNSPLIT, "contexts": ["It costs 20 euros.", "It costs 10 euros."]}
NOT_RETRIEVED = {**UNSPLIT, "contexts": []}
NO_ANSWER = {**LISTED, "answer": " "}


@pytest.mark.parametrize(
    ("rows", "status", "head"),
    [
        ([LISTED], 0, "1 sample, 2 chunks"),
        ([UNSPLIT, NO_ANSWER, LISTED], 3, "1 sample, 2 chunks, 2 rows that cannot be read"),
        ([NO_ANSWER, NO_ANSWER], 5, "0 samples, 0 chunks, 2 rows that cannot be read"),
        ([NOT_RETRIEVED], 5, "1 sample, 0 chunks"),
    ],
)
def test_what_fails_is_told_before_as_in_the_run(
    rows: list[dict[str, object]], status: int, head: str, tmp_path: Path, capsys: Capsys
) -> None:
    """It said "15 rows that cannot be read", without a reason, and ended with 0."""
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    mind = Mind([(SPLIT, SPLIT_VERDICTS)])
    with ScriptedServer(mind) as server:
        command = ["score", data, "--judge", "openai:m", "--base-url", server.base_url]
        before = run_here(capsys, *command, "--dry-run")
        assert server.log.calls == 0
        done = run_here(capsys, *command)
    assert before.status == status, done.err
    assert done.status == status, done.err
    assert before.out.startswith(f"data.jsonl: {head}\n")
    told = [line for line in before.err.splitlines() if not line.startswith("note: ")]
    assert told == failures_in(done)


def failures_in(done: Done) -> list[str]:
    lines = done.err.splitlines()
    return [line for line in lines if line.startswith("failed: ") or "more failed" in line]
