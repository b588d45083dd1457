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
STORE = ("--store", "judged.db")


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


@pytest.fixture
def judged(folder: Path, command: Command) -> str:
    """The command that scores the answers of three rounds, as the last export names it."""
    data = folder / "data.jsonl"
    data.write_text(data.read_text().replace('"response":', '"the answer":'))
    export = ("batch", "export", "data.jsonl", *STORE, *MODEL, *HOW)
    assert command(*export).status == 0
    for _ in range(3):
        count = answer(folder)
        taken = command("batch", "import", "answers.jsonl", *STORE)
        assert taken.status == 0
        assert taken.err == ""
        assert taken.out == f"{count} answers taken\n"
        last = command(*export)
    counts, then = last.out.splitlines()
    assert counts == "data.jsonl: 4 samples, 4 judged, 0 to go, 0 failed"
    return then.removeprefix("nothing left to ask: noisesense ")


def test_an_export_says_what_it_asks(folder: Path, command: Command) -> None:
    first = command("batch", "export", "data.jsonl", *STORE, *MODEL)
    assert first.status == 0
    assert first.err == ""
    assert first.out == (
        "data.jsonl: 4 samples, 0 judged, 4 to go, 0 failed\nwrote 8 requests to round.jsonl\n"
    )
    again = command("batch", "export", "data.jsonl", *STORE, *MODEL)
    assert "8 requests to round.jsonl, 8 of them asked before\n" in again.out


def test_from_texts_to_scores(folder: Path, judged: str) -> None:
    """Scoring asks nobody."""
    assert judged == (
        "score data.jsonl --judge openai:gpt-4.1-mini --map 'response=the answer' "
        "--store judged.db --temperature 0.0"
    )
    log = folder / "network.log"
    key = {"OPENAI_API_KEY": "nobody asks"}
    command = [*shlex.split(judged), "--out", "out.jsonl"]
    scored = run(*command, cwd=folder, network_log=log, env=key)
    assert scored.returncode == 0, scored.stderr
    assert not log.exists() or not log.read_text()
    for result, (sample, verdicts) in zip(read_results(folder / "out.jsonl"), PAIRS, strict=True):
        true = score(verdicts)
        assert result.sample.key == sample.key
        assert result.score.relevant == true.relevant
        assert result.score.irrelevant == true.irrelevant
        assert result.judge.startswith("gpt-4.1-mini, plan=lazy check=list, prompts ")


def test_json_and_statuses(folder: Path, command: Command) -> None:
    with (folder / "data.jsonl").open("a") as file:
        file.write('{"response": 1}\n')
    first = command("batch", "export", "data.jsonl", *STORE, *MODEL, "--json")
    assert first.status == 3
    assert "data.jsonl, line 5" in first.err
    made = json.loads(first.out)
    assert made["requests"] == 8
    assert made["failed"] == 1
    assert made["files"] == ["round.jsonl"]
    answer(folder)
    with (folder / "answers.jsonl").open("a") as file:
        file.write('{"custom_id": "theirs", "response": null}\n{"custom\n')
    taken = command("batch", "import", "answers.jsonl", *STORE, "--json")
    assert taken.status == 3
    assert "answers.jsonl, line 10" in taken.err
    assert "1 answer to requests that this store did not make" in taken.err
    assert json.loads(taken.out) == {"taken": 8, "known": 0, "open": {}, "foreign": 1, "left": 0}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("import", "round.jsonl"), "got the requests themselves"),
        (("export", "data.jsonl", "--model", "m", "--out", "data.jsonl"), "another file"),
        (("export", "data.jsonl", *MODEL, "--plan", "x"), "plan: expected 'lazy' or 'full'"),
    ],
)
def test_errors(arguments: tuple[str, ...], problem: str, command: Command) -> None:
    command("batch", "export", "data.jsonl", *STORE, *MODEL)
    refused = command("batch", *arguments, *STORE)
    assert refused.status == 2, refused
    assert refused.out == "", refused
    assert problem in refused.err
