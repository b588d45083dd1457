"""``noisesense batch``, as a user runs it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import read_results, score
from support.batch_provider import BatchProvider
from support.command import run
from support.command_here import Done, run_here
from support.datasets import write_jsonl
from support.mind import Mind
from support.tables import random_pair

PAIRS = [random_pair(seed) for seed in range(4)]
MODEL = ("--model", "openai:gpt-4.1-mini", "--out", "round.jsonl")
HOW = ("--temperature", "0", "--map", "response=the answer")

Command = Callable[..., Done]


@pytest.fixture
def command(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """``noisesense`` in the folder."""
    monkeypatch.chdir(folder)
    return lambda *arguments: run_here(capsys, *arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [sample.model_dump(exclude_defaults=True) for sample, _ in PAIRS]
    write_jsonl(tmp_path / "data.jsonl", lines)
    return tmp_path


def answer(folder: Path) -> int:
    (answers,) = BatchProvider(Mind(PAIRS)).run(folder / "round.jsonl", folder)
    lines = answers.rename(folder / "answers.jsonl").read_text().splitlines()
    return len(lines)


def test_from_texts_to_scores(folder: Path, command: Command) -> None:
    store = ("--store", "judged.db")
    data = folder / "data.jsonl"
    data.write_text(data.read_text().replace('"response":', '"the answer":'))
    first = command("batch", "export", "data.jsonl", *store, *MODEL, *HOW)
    assert (first.status, first.err) == (0, "")
    assert first.out == (
        "data.jsonl: 4 samples, 0 judged, 4 to go, 0 failed\nwrote 8 requests to round.jsonl\n"
    )
    again = command("batch", "export", "data.jsonl", *store, *MODEL, *HOW)
    assert "8 requests to round.jsonl, 8 of them asked before\n" in again.out
    for _ in range(3):
        count = answer(folder)
        taken = command("batch", "import", "answers.jsonl", *store)
        assert (taken.status, taken.err) == (0, "")
        assert taken.out == f"{count} answers taken\n"
        last = command("batch", "export", "data.jsonl", *store, *MODEL, *HOW)
    counts, then = last.out.splitlines()
    assert counts == "data.jsonl: 4 samples, 4 judged, 0 to go, 0 failed"
    then = then.removeprefix("nothing left to ask: noisesense ")
    assert then == (
        "score data.jsonl --judge openai:gpt-4.1-mini --map 'response=the answer' "
        "--store judged.db --temperature 0.0"
    )
    log = folder / "network.log"
    scored = run(
        *(*shlex.split(then), "--out", "out.jsonl"),
        cwd=folder,
        network_log=log,
        env={"OPENAI_API_KEY": "nobody asks"},
    )
    assert scored.returncode == 0, scored.stderr
    assert not log.exists() or not log.read_text()
    results = list(read_results(folder / "out.jsonl"))
    assert [each.sample and each.sample.key for each in results] == [s.key for s, _ in PAIRS]
    for each, (_, verdicts) in zip(results, PAIRS, strict=True):
        assert each.score
        found = each.score
        true = score(verdicts)
        assert (found.relevant, found.irrelevant) == (true.relevant, true.irrelevant)
        assert each.judge
        assert each.judge.startswith("gpt-4.1-mini, plan=lazy check=list, prompts ")


def test_json_statuses_and_errors(folder: Path, command: Command) -> None:
    with (folder / "data.jsonl").open("a") as file:
        file.write('{"response": 1}\n')
    store = ("--store", "judged.db")
    first = command("batch", "export", "data.jsonl", *store, *MODEL, "--json")
    assert first.status == 3
    assert "data.jsonl, line 5" in first.err
    made = json.loads(first.out)
    assert (made["requests"], made["failed"], made["files"]) == (8, 1, ["round.jsonl"])
    answer(folder)
    with (folder / "answers.jsonl").open("a") as file:
        file.write('{"custom_id": "theirs", "response": null}\n{"custom\n')
    taken = command("batch", "import", "answers.jsonl", *store, "--json")
    assert taken.status == 3
    assert "answers.jsonl, line 10" in taken.err
    assert "1 answers to requests that this store did not make" in taken.err
    assert json.loads(taken.out) == {"taken": 8, "known": 0, "open": {}, "foreign": 1, "left": 0}
    for arguments, problem in (
        (("import", "round.jsonl"), "got the requests themselves"),
        (("export", "data.jsonl", "--model", "m", "--out", "data.jsonl"), "another file"),
        (("export", "data.jsonl", *MODEL, "--plan", "x"), "plan: expected 'lazy' or 'full'"),
    ):
        refused = command("batch", *arguments, *store)
        assert (refused.status, refused.out) == (2, ""), refused
        assert problem in refused.err
