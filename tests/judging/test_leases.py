"""A claimed call is left to its process while it makes it, and not longer."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from noisesense import JudgeError, LLMJudge, Sample, StoreError, VerdictStore
from noisesense.judging import sqlite as _lease
from noisesense.judging import store as store_module
from noisesense.judging.protocol import Usage
from noisesense.judging.records import StoredCall
from support.bad_inputs import GOOD_SAMPLE
from support.scripted_llm import ScriptedLLM

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


def until(store: VerdictStore) -> float:
    with store._database.transaction(write=False) as connection:
        return float(connection.execute("SELECT max(until) FROM leases").fetchone()[0])


class Clock:
    """Stands for both clocks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.time()
        for name in ("time", "monotonic"):
            monkeypatch.setattr(_lease.time, name, lambda: self.now)


def test_a_claim_that_is_renewed_does_not_run_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with VerdictStore(path) as store, VerdictStore(path) as other:
        assert store.claim("a")
        start = clock.now
        for _ in range(10):  # 500 seconds: eight times as long as a lease
            clock.now += 50
            store._database.renew()
            assert until(store) == clock.now + 60
            assert not other.claim("a")
        clock.now = start + 3601
        store._database.renew()  # nobody waits for a call for more than an hour
        assert other.claim("a")


def test_only_what_is_under_way_is_renewed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with VerdictStore(path) as store, VerdictStore(path) as other:
        assert store.claim("a")
        assert store.claim("b")
        assert store.claim("c")
        store.release("a")
        store.put(StoredCall("b", "m", "v", "s", 0, "sk", "l", None, Usage()))
        clock.now += 50
        store._database.renew()
        other._database.renew()  # has none
        with store._database.transaction(write=False) as connection:
            assert connection.execute("SELECT key FROM leases").fetchall() == [("c",)]
        assert store._database.held.keys() == {"c"}


@pytest.mark.parametrize("deed", ["release", "put"])
def test_a_claim_that_cannot_be_given_back_runs_out_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    """The disk is full, and the process goes on."""
    clock = Clock(monkeypatch)
    with VerdictStore(path) as store:
        assert store.claim("a")
        with store._database.transaction() as connection:
            connection.execute("PRAGMA query_only = ON")
        call = StoredCall("a", "m", "v", "s", 0, "sk", "l", None, Usage())
        with pytest.raises(StoreError, match=r"readonly.*Hint: make the file"):
            store.put(call) if deed == "put" else store.release("a")
        with store._database.connected() as connection:
            connection.execute("PRAGMA query_only = OFF")
        clock.now += 50
        store._database.renew()
        assert not store.claim("a")
        clock.now += 11
        assert store.claim("a")


class Slow(ScriptedLLM):
    """Answers when its claim was renewed; blocks its event loop until then, as many models do."""

    def __init__(self, store: VerdictStore) -> None:
        super().__init__(lambda prompt: JudgeError("renewed"))
        self.store = store

    async def wait(self) -> None:
        first, deadline = until(self.store), time.monotonic() + 120
        while until(self.store) <= first:
            assert time.monotonic() < deadline, "never renewed"
            time.sleep(0.01)


def test_a_claim_is_renewed_while_the_model_is_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lease, "_RENEW_SECONDS", 0.01)
    with VerdictStore(path) as store:
        judge = LLMJudge(Slow(store), store=store)
        with pytest.raises(JudgeError, match="renewed"):
            asyncio.run(judge.judge(Sample.model_validate(GOOD_SAMPLE)))
        assert store._database.held == {}


def test_a_zombie_holds_nothing(path: Path) -> None:
    """It has ended, and its parent (we) has not asked after it."""
    worker = claimed_elsewhere(path)
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table
    os.kill(worker.pid, 0)
    with VerdictStore(path) as store:
        assert store.claim("a")
    worker.communicate()


def test_a_number_used_again_by_another_program(path: Path) -> None:
    worker = claimed_elsewhere(path)
    with VerdictStore(path) as store, store._database.transaction(write=False) as connection:
        ((name,),) = connection.execute("SELECT owner FROM leases").fetchall()
    start = name.rpartition("-")[2]
    assert int(start) > 0
    assert _lease.believed_alive(name)
    assert _lease.believed_alive(name.removesuffix(f"-{start}"))  # of an earlier version
    assert not _lease.believed_alive(f"{name}9")  # it began at another time
    end(worker)
    assert not _lease.believed_alive(name)


def test_without_proc_a_number_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    name = _lease.this_process()
    monkeypatch.setattr(_lease, "_state_and_start", lambda pid: ("", ""))
    host, _, token = name.rsplit("/", 2)
    assert _lease.believed_alive(f"{host}/{os.getppid()}/{token}")
    assert not _lease.believed_alive(f"{host}/{2**22 + 1}/{token}")  # more than Linux gives


def test_a_forked_child_renews_nothing_of_its_parent(path: Path) -> None:
    with VerdictStore(path) as store:
        assert store.claim("a")
        assert store._database.held
        with warnings.catch_warnings():
            # From 3.12 on, Python warns of a fork while there are threads, as ours is by now.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            os._exit(len(store._database.held) + (_lease._renewer in threading.enumerate()))
        assert os.waitpid(child, 0)[1] == 0
        assert store._database.held


@pytest.mark.parametrize("ahead", [3600.0, 121.0, 1e300])
def test_a_lease_from_the_future_of_a_vanished_host(path: Path, ahead: float) -> None:
    with VerdictStore(path) as store:
        write_lease(store, "vanished/1/x", time.time() + ahead)
        assert store.claim("a")


def test_nobody_waits_longer_than_two_minutes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose clock was a minute ahead of ours, and which is gone."""
    clock = Clock(monkeypatch)
    with VerdictStore(path) as store:
        write_lease(store, "vanished/1/x", clock.now + 119)
        assert not store.claim("a")
        clock.now += 120
        assert store.claim("a")


def write_lease(store: VerdictStore, owner: str, until: Any) -> None:
    with store._database.transaction() as connection:
        connection.execute("INSERT INTO leases VALUES (?, ?, ?)", ("a", owner, until))
