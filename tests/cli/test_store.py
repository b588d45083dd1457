"""``noisesense store``: a person reads and prunes what a judge kept."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from noisesense import InputError, Usage
from noisesense.judging.store import VerdictStore
from noisesense_adapters.cli.store import parse_age
from support.command_here import Done, run_here

DAY = 24 * 3600.0
Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: str | Path, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return run_here(capsys, *arguments)

    return command


def put(store: VerdictStore, n: int, model: str) -> None:
    usage = Usage(calls=1, input_tokens=1000, output_tokens=20)
    asyncio.run(store.put(f"key {n}", "{}", model, "1", usage))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two models: four calls of one, a year old call of the other."""
    path = tmp_path / "verdicts.db"
    with VerdictStore(path) as opened:
        for n in range(4):
            put(opened, n, "gpt-a")
        year_ago = time.time() - 365 * DAY
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("time.time", lambda: year_ago)
            put(opened, 4, "gpt-b")
    return path


def models(path: Path) -> dict[str, int]:
    """By model its calls."""
    with VerdictStore(path) as opened:
        return {each.model: each.calls for each in opened.stats()}


def test_show(store: Path, run: Run) -> None:
    done = run("store", "show", store)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{store}: ")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["gpt-a", "1", "4", "4,000", "80", "-"] in lines
    assert ["gpt-b", "1", "1", "1,000", "20", "-"] in lines
    assert "\x1b" not in done.out


def test_show_as_json(store: Path, run: Run) -> None:
    done = run("store", "show", store, "--json")
    first, second = json.loads(done.out)["lines"]
    assert first == {
        "model": "gpt-a",
        "prompts": "1",
        "calls": 4,
        "input_tokens": 4000,
        "output_tokens": 80,
        "cost": None,
    }
    assert second["model"] == "gpt-b"


def test_show_an_empty_store(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "new.db"
    VerdictStore(path).close()
    done = run("store", "show", path)
    assert done.status == 0
    assert done.out.endswith("KiB, empty\n")


def test_prune_by_age(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--older-than", "30d", "--yes")
    assert done.status == 0
    assert done.out == f"removed 1 call from {store}\n"
    assert models(store) == {"gpt-a": 4}


def test_prune_by_model_after_asking(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--model", "gpt-a", stdin="y\n")
    assert done.status == 0
    assert f"Remove 4 calls from {store}?" in done.out
    assert models(store) == {"gpt-b": 1}


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_prune_changes_nothing_without_a_yes(store: Path, answer: str, run: Run) -> None:
    done = run("store", "prune", store, "--model", "gpt-a", stdin=answer)
    assert done.status == 1
    assert "Traceback" not in done.err
    assert models(store) == {"gpt-a": 4, "gpt-b": 1}


def test_prune_needs_to_be_told_what(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--yes")
    assert done.status == 2
    expected = "--older-than or --model"
    assert done.err == f"error: prune: expected {expected}, got neither of them\n"


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        (" 8w ", timedelta(weeks=8)),
    ],
)
def test_ages(text: str, age: timedelta) -> None:
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5h", "1y", "1d1h", "9999999d"])
def test_what_is_no_age(text: str) -> None:
    with pytest.raises(InputError, match="--older-than: expected a number and a unit"):
        parse_age(text)


@pytest.mark.parametrize("command", ["show", "prune"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"not a database, " * 100, "expected"),
        ("truncated", "expected"),
        ("another program's", "got another database"),
    ],
)
def test_a_file_that_is_no_store_is_an_error_and_stays_as_it_is(
    store: Path, tmp_path: Path, command: str, content: bytes | str | None, said: str, run: Run
) -> None:
    path = tmp_path / "bad.db"
    if content == "truncated":
        whole = store.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    elif content == "another program's":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE notes (text TEXT)")
        connection.close()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    before = path.read_bytes() if path.exists() else None
    rest = {"show": [], "prune": ["--older-than", "0m", "--yes"]}
    done = run("store", command, path, *rest[command])
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"error: {path}: ")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert (path.read_bytes() if path.exists() else None) == before
