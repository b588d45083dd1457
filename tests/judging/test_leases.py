"""A claimed call is left to its process, until that has ended or a minute is over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noisesense import VerdictStore
from noisesense.judging import sqlite as _lease
from noisesense.judging import store as store_module

CLAIM = """
import os, sys
from noisesense import VerdictStore
assert VerdictStore(sys.argv[1]).claim("a")
print("claimed", flush=True)
sys.stdin.readline()
os._exit(9)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.db"


def claimed_elsewhere(path: Path) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "claimed\n"
    return worker


def end(worker: subprocess.Popen[str]) -> None:
    worker.communicate("\n")
    assert worker.returncode == 9


def test_a_living_process_keeps_its_claim_and_a_dead_one_does_not(path: Path) -> None:
    worker = claimed_elsewhere(path)
    with VerdictStore(path) as store:
        assert not store.claim("a")
        store.release("a")  # not ours to give back
        assert not store.claim("a")
        end(worker)
        assert store.claim("a")


def test_a_claim_runs_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = claimed_elsewhere(path)
    with VerdictStore(path) as store:
        later = store_module.time.time() + 61
        monkeypatch.setattr(store_module.time, "time", lambda: later)
        assert store.claim("a")
    end(worker)


def test_nobody_can_ask_after_a_process_of_another_machine() -> None:
    assert _lease.believed_alive("elsewhere/1/x")
    assert _lease.believed_alive(_lease.this_process())


def test_a_number_used_again_is_another_process() -> None:
    host, pid, _ = _lease.this_process().rsplit("/", 2)
    assert not _lease.believed_alive(f"{host}/{pid}/of-an-earlier-process")


ODD = ["", "/", "host", "host/1", "//", "h/x/y", f"{'9' * 400}", 7, 1.5, b"\xff/1/x", None]


@pytest.mark.parametrize("owner", ODD, ids=repr)
def test_an_odd_owner_is_believed_alive_for_its_time_and_no_longer(
    path: Path, monkeypatch: pytest.MonkeyPatch, owner: object
) -> None:
    host = _lease.this_process().rsplit("/", 2)[0]
    for name in (owner, f"{host}/{owner}/x", f"{host}/-1/x", f"{host}/0/x", f"{host}/{10**30}/x"):
        assert _lease.believed_alive(name)
    with VerdictStore(path) as store:
        now = store_module.time.time()
        with store._database.transaction() as connection:
            connection.execute("DROP TABLE leases")
            connection.execute("CREATE TABLE leases (key PRIMARY KEY, owner, until)")
            connection.execute("INSERT INTO leases VALUES (?, ?, ?)", ("a", owner, now + 30))
        assert not store.claim("a")
        monkeypatch.setattr(store_module.time, "time", lambda: now + 31)
        assert store.claim("a")


@pytest.mark.parametrize("until", [9e99, "later", b"\xff", None])
def test_a_lease_that_ends_when_none_can_is_over(path: Path, until: object) -> None:
    with VerdictStore(path) as store:
        with store._database.transaction() as connection:
            connection.execute("DROP TABLE leases")
            connection.execute("CREATE TABLE leases (key PRIMARY KEY, owner, until)")
            connection.execute("INSERT INTO leases VALUES (?, ?, ?)", ("a", "other/1/x", until))
        assert store.claim("a")
