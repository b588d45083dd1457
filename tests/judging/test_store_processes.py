"""The store among processes: killed and resumed, several at once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noisesense import VerdictStore, score
from support.store_worker import CONCURRENCY, pairs

TESTS = Path(__file__).resolve().parents[1]


def start(folder: Path, samples: int) -> subprocess.Popen[str]:
    """A worker on the folder's store and log."""
    worker = [sys.executable, "-W", "error", "-m", "support.store_worker"]
    files = [str(folder / "verdicts.db"), str(folder / "calls.log")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [TESTS, *sys.path]))}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*worker, *files, str(samples)], env=env, stdout=pipe, stderr=pipe, text=True
    )


def scores_of(worker: subprocess.Popen[str]) -> list[object]:
    out, err = worker.communicate(timeout=300)
    assert worker.returncode == 0, err
    assert err == ""
    return list(json.loads(out.splitlines()[-1]))


def calls(folder: Path) -> list[str]:
    """The calls the model was asked for, over all processes, oldest first."""
    log = folder / "calls.log"
    return log.read_text().split() if log.exists() else []


def count(store: VerdictStore) -> int:
    """The calls in it."""
    return sum(each.calls for each in store.stats())


def expected(samples: int) -> list[object]:
    found = [score(verdicts) for _, verdicts in pairs(samples)]
    return [[each.relevant, each.irrelevant] for each in found]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.broad) for seed in (1, 2))]
)
def test_killed_at_a_random_moment_and_resumed(tmp_path: Path, seed: int) -> None:
    """200 samples. Which moment is drawn; that finished calls are not repeated is exact."""
    after = random.Random(seed).randint(20, 500)
    worker = start(tmp_path, 200)
    while len(calls(tmp_path)) < after:
        assert worker.poll() is None, worker.communicate()
        time.sleep(0.002)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()

    with VerdictStore(tmp_path / "verdicts.db") as store:
        finished = count(store)
    asked = calls(tmp_path)
    assert len(asked) - finished <= CONCURRENCY  # those in flight, and no others, are lost

    assert scores_of(start(tmp_path, 200)) == expected(200)
    every = set(calls(tmp_path))
    assert len(calls(tmp_path)) - len(asked) == len(every) - finished
    with VerdictStore(tmp_path / "verdicts.db") as store:
        assert count(store) == len(every)


def test_four_processes_on_one_store_at_once(tmp_path: Path) -> None:
    """They start together on a file that is not there, and judge the same samples."""
    workers = [start(tmp_path, 60) for _ in range(4)]
    for worker in workers:
        assert scores_of(worker) == expected(60)
    asked = calls(tmp_path)
    assert len(asked) == len(set(asked))  # not even those in flight are made twice
