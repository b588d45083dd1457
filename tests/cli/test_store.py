"""``noisesense store``: a person reads and prunes what a judge kept."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import Usage
from noisesense.judging.store import VerdictStore
from support.command_here import Done, assert_error, run_here

DAY = 24 * 3600.0
Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: str | Path, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return run_here(capsys, "store", *arguments)

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


def test_show(store: Path, tmp_path: Path, run: Run) -> None:
    done = run("show", store)
    assert done.status == 0
    assert done.err == ""
    assert ["gpt-a", "1", "4", "4,000", "80", "-"] in [x.split() for x in done.out.splitlines()]
    first, second = json.loads(run("show", store, "--json").out)["lines"]
    assert first == {
        **{"model": "gpt-a", "prompts": "1", "calls": 4, "cost": None},
        **{"input_tokens": 4000, "output_tokens": 80},
    }
    assert second["model"] == "gpt-b"
    VerdictStore(tmp_path / "new.db").close()
    assert run("show", tmp_path / "new.db").out.endswith("KiB, empty\n")


def test_prune(store: Path, run: Run) -> None:
    for answer in ("n\n", ""):
        done = run("prune", store, "--model", "gpt-a", stdin=answer)
        assert done.status == 1
        assert f"Remove 4 calls from {store}?" in done.out
        assert models(store) == {"gpt-a": 4, "gpt-b": 1}
    assert run("prune", store, "--model", "gpt-a", stdin="y\n").status == 0
    assert models(store) == {"gpt-b": 1}


def test_prune_by_age(store: Path, run: Run) -> None:
    both = run("prune", store, "--older-than", "30", "--model", "gpt-a", "--yes")
    assert both.out == f"removed 0 calls from {store}\n"
    done = run("prune", store, "--older-than", "30", "--yes")
    assert done.status == 0
    assert done.out == f"removed 1 call from {store}\n"
    assert models(store) == {"gpt-a": 4}


def test_prune_needs_to_know_what(store: Path, run: Run) -> None:
    done = run("prune", store, "--yes")
    said = "error: prune: expected --older-than or --model, got neither of them\n"
    assert done.status == 2
    assert done.err == said


def test_a_file_that_is_no_store_is_an_error_and_stays_as_it_is(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.db"
    path.write_bytes(b"mine" * 100)
    for command in (("show", path), ("prune", path, "--older-than", "0", "--yes")):
        assert_error(run(*command), (f"error: {path}: expected",))
    assert path.read_bytes() == b"mine" * 100
    assert_error(run("show", tmp_path / "none.db"), ("no such file",))
