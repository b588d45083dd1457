"""``noisesense store``: a person reads what a judge kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from noisesense import Usage
from noisesense.judging.store import VerdictStore
from support.command_here import Done, assert_error, run_here

Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_here, capsys, "store")


def put(store: VerdictStore, n: int, model: str) -> None:
    usage = Usage(calls=1, input_tokens=1000, output_tokens=20)
    asyncio.run(store.put(f"key {n}", "{}", model, "1", usage))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Four calls of one model, one of another."""
    path = tmp_path / "verdicts.db"
    with VerdictStore(path) as opened:
        for n in range(4):
            put(opened, n, "gpt-a")
        put(opened, 4, "gpt-b")
    return path


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


def test_a_file_that_is_no_store_is_an_error_and_stays_as_it_is(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "bad.db"
    path.write_bytes(b"mine" * 100)
    assert_error(run("show", path), (f"error: {path}: expected",))
    assert path.read_bytes() == b"mine" * 100
    assert_error(run("show", tmp_path / "none.db"), ("no such file",))
