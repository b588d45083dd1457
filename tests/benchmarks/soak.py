"""A long run under fire: ``python tests/benchmarks/soak.py [--samples 5000] [--seconds …]``.

Four processes judge the same samples (10 chunks of about 1,000 characters each) through one store;
every sample is given to two of them. One reply in ten is faulty: no JSON, cut off, verdicts that
are missing, contradict each other or have unknown ids, a refused connection. Three of the four are
killed (SIGKILL) again and again at random moments, and started again.

Exit status 1 if a sample is missing, a score is not the known one, a good answer was paid for
again (but for calls under way when a process was killed), or the store is damaged.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import ground  # noqa: F401

from noisesense import (
    JudgeError,
    LLMJudge,
    ReplyError,
    Sample,
    Usage,
    Verdicts,
    VerdictStore,
    score,
)
from support.mind import Mind, data_of, items_of, reply_of
from support.tables import Shape, random_pair

WORKERS = 4
CONCURRENCY = 16
AT_ONCE = 4
FAULTY = 0.1
SHAPE = Shape(response_claims=(1, 8), reference_claims=(1, 6), chunks=(10, 10), labeled=0.2)
FILLER = " It goes on about this and that, at some length and to no end." * 15
MEGABYTE = 2**20
_LINE = 22  # bytes of the log for each call
_KILL_AFTER = 200, 1200  # so many calls of all processes, however fast the machine is


@lru_cache(maxsize=64)
def pair(number: int) -> tuple[Sample, Verdicts]:
    """The sample of that number and the truth about it; made when needed, so that none is kept."""
    sample, verdicts = random_pair(number, SHAPE)
    chunks = [
        chunk.model_copy(update={"text": chunk.text + FILLER})
        for chunk in sample.retrieved_contexts
    ]
    fields = {name: getattr(sample, name) for name in ("user_input", "response", "reference")}
    longer = Sample(**fields, retrieved_contexts=chunks)
    return longer, verdicts.model_copy(update={"chunks": None}).with_sample(longer)


@lru_cache(maxsize=64)
def mind(number: int) -> Mind:
    return Mind([pair(number)])


def spoiled(text: str, rng: random.Random) -> str | None:
    """A reply that shows its fault; None is a refused connection."""
    kind = rng.randrange(4 if "claims" in text else 6)
    if kind == 0:
        return None
    if kind < 4:
        return ["", "I would rather not say.", text[: len(text) // 2]][kind - 1]
    items = items_of(text)
    if kind == 4:  # half are missing, and there is one that nobody asked for
        return reply_of([*items[::2], {"id": 99, "entailed": True}])
    return reply_of(items + [{**i, "entailed": not i["entailed"]} for i in items])


class Model:
    """Answers from the truth, and wrongly formed one time in ten. Writes down what it gave."""

    name = "soak"

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._rng = random.Random()

    async def generate(self, prompt: str, schema: Any) -> Any:
        await asyncio.sleep(0.001)
        number = re.search(r"\((\d+)\)", str(data_of(prompt)))  # of the sample, in each text
        assert number is not None
        reply = mind(int(number[1])).answer(prompt)
        bad = self._rng.random() < FAULTY
        line = f"{'bad ' if bad else 'good'} {hashlib.sha256(prompt.encode()).hexdigest()[:16]}\n"
        os.write(self._log, line.encode())
        usage = Usage(calls=1)
        content = spoiled(reply, self._rng) if bad else reply
        if content is None:
            raise JudgeError("refused")
        try:
            return schema.model_validate_json(content), usage
        except ValueError:
            raise ReplyError("not in the form asked for", usage) from None


async def work(folder: Path, samples: int, worker: int) -> None:
    """Judge every sample that is this worker's and not done; write down each score."""
    done_file = folder / f"done-{worker}.jsonl"
    done = {json.loads(line)["sample"] for line in whole_lines(done_file)}
    out = os.open(done_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    judge = LLMJudge(
        Model(folder / "calls.log"),
        store=VerdictStore(folder / "verdicts.db"),
        max_concurrency=CONCURRENCY,
    )
    mine = (i for i in range(samples) if worker in (i % WORKERS, (i + 1) % WORKERS))
    todo = (i for i in mine if i not in done)

    async def one_after_another() -> None:
        for number in todo:
            tries = 0
            while True:
                tries += 1
                try:
                    judgement = await judge.judge_detailed(pair(number)[0])
                except JudgeError:
                    continue
                if not judgement.unanswered or tries > 20:
                    break
            found = score(judgement.verdicts)
            line = {"sample": number, "values": [found.relevant, found.irrelevant], "tries": tries}
            os.write(out, f"\n{json.dumps(line)}\n".encode())

    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))


def whole_lines(path: Path) -> list[str]:
    """A killed process may leave half a line."""
    text = path.read_text() if path.exists() else ""
    return [line for line in text.split("\n") if line.startswith("{") and line.endswith("}")]


class Worker:
    """A process, started again whenever it was killed."""

    def __init__(self, folder: Path, samples: int, number: int) -> None:
        options = ("--worker", number, "--folder", folder, "--samples", samples)
        self._command = [sys.executable, __file__, *map(str, options)]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()


def run(folder: Path, samples: int, every: float) -> int:
    names = ("seconds", "scores", "calls", "kills", "store MB")
    print("".join(f"{name:>10}" for name in names), flush=True)
    log = folder / "calls.log"
    log.touch()
    VerdictStore(folder / "verdicts.db").close()
    start = time.monotonic()
    workers = [Worker(folder, samples, number) for number in range(WORKERS)]
    killer = Killer(workers[:-1])
    next_line = start
    while any(worker.is_running for worker in workers):
        time.sleep(0.1)
        calls = log.stat().st_size // _LINE
        killer.look(calls)
        if time.monotonic() > next_line:
            next_line += every
            print_progress(folder, time.monotonic() - start, calls, killer.kills)
    statuses = [worker.process.returncode for worker in workers]
    return verdict(folder, samples, killer.kills, statuses)


class Killer:
    """Kills one of the workers that run, after a random number of calls."""

    def __init__(self, workers: list[Worker]) -> None:
        self._workers = workers
        self._rng = random.Random(0)
        self._next = self._rng.randrange(*_KILL_AFTER)
        self.kills = 0

    def look(self, calls: int) -> None:
        running = [worker for worker in self._workers if worker.is_running]
        if running and calls > self._next:
            self._rng.choice(running).kill()
            self._next = calls + self._rng.randrange(*_KILL_AFTER)
            self.kills += 1


def print_progress(folder: Path, seconds: float, calls: int, kills: int) -> None:
    scores = sum(len(done_by(folder, worker)) for worker in range(WORKERS))
    size = (folder / "verdicts.db").stat().st_size / MEGABYTE
    print(f"{seconds:10.0f}{scores:10,}{calls:10,}{kills:10}{size:10.1f}", flush=True)


def done_by(folder: Path, worker: int) -> list[str]:
    return whole_lines(folder / f"done-{worker}.jsonl")


@dataclass
class Scores:
    """How the scores compare with the known ones."""

    wrong: int = 0
    undetermined: int = 0
    missing: int = 0

    def add(self, number: int, judged: list[list[float | None]]) -> None:
        truth = score(pair(number)[1])
        self.missing += len(judged) < 2
        for values in judged:
            known = [
                (value, true)
                for value, true in zip(values, (truth.relevant, truth.irrelevant), strict=True)
                if value is not None
            ]
            self.undetermined += len(known) < len(values)
            self.wrong += any(value != true for value, true in known)


def scores_of(folder: Path, samples: int) -> Scores:
    judged: dict[int, list[list[float | None]]] = defaultdict(list)
    for worker in range(WORKERS):
        for line in done_by(folder, worker):
            row = json.loads(line)
            judged[row["sample"]].append(row["values"])
    found = Scores()
    for number in range(samples):
        found.add(number, judged[number])
    return found


def verdict(folder: Path, samples: int, kills: int, statuses: list[int]) -> int:
    """What holds. 0 if all does."""
    scores = scores_of(folder, samples)
    calls = Counter((folder / "calls.log").read_text().split("\n"))
    good = [times for line, times in calls.items() if line.startswith("good")]
    faulty = sum(times for line, times in calls.items() if line.startswith("bad"))
    again = sum(good) - len(good)
    with VerdictStore(folder / "verdicts.db") as store:
        kept = sum(each.calls for each in store.stats())
    rows = [
        ("samples, each judged twice", f"{samples:,}", True),
        ("without both scores", scores.missing, scores.missing == 0),
        ("wrong scores", scores.wrong, scores.wrong == 0),
        ("undetermined scores", scores.undetermined, scores.undetermined == 0),
        ("processes killed", kills, True),
        ("calls made", f"{sum(good) + faulty:,}", True),
        ("  with a faulty reply", f"{faulty:,}", True),
        ("  needed", f"{len(good) + faulty:,}", True),
        ("  of good replies, made again", again, again <= kills * CONCURRENCY),
        ("calls in the store", f"{kept:,}", True),
        ("exit statuses", statuses, not any(statuses)),
    ]
    print()
    for name, value, holds in rows:
        print(f"{name:<38}{value!s:>18}{'' if holds else '   WRONG'}")
    return 0 if all(holds for *_, holds in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two lines")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        asyncio.run(work(arguments.folder, arguments.samples, arguments.worker))
        return 0
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        return run(Path(folder), arguments.samples, arguments.every)


if __name__ == "__main__":
    sys.exit(main())
