"""Runs of a judge that are given again, one writer at a time, and files that cannot be written."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from noisesense import (
    InputError,
    JudgeError,
    Judgement,
    Sample,
    StoreError,
    read_results,
)
from noisesense.errors import JudgeSetupError, ReplyError
from noisesense.jsonl import whole_file
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.score import score_dataset
from support.command import ROOTS, environment
from support.scripted_judge import PAIRS, Scripted, expected, failing, scores, texts


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_that_ends_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    """Its results are not half a file; a store has the replies."""
    data = texts(tmp_path)
    out = tmp_path / "out.jsonl"
    full = failing(20, error=StoreError("a store", "a full disk"))
    for before in (None, b"earlier"):
        if before:
            score_dataset(data, judge=Scripted(), out=out)
            before = out.read_bytes()
        with pytest.raises(StoreError):
            score_dataset(data, judge=Scripted(fails=full), out=out, concurrency=4)
        assert (out.read_bytes() if out.exists() else None) == before
    assert names(tmp_path) == ["data.jsonl", out.name]


def test_results_come_in_order_however_slow_a_row_is(tmp_path: Path) -> None:
    """And no more are kept in memory than the row may hold up."""
    pairs = (PAIRS * 14)[:400]

    class Slow(Scripted):
        async def judge_detailed(self, sample: Sample) -> Judgement:
            first = not self.asked
            judgement = await super().judge_detailed(sample)
            while first and len(self.asked) < 2 * 64:
                await asyncio.sleep(0)
            if first:
                for _ in range(1000):
                    await asyncio.sleep(0)
                self.ahead = len(self.asked)
            return judgement

    data = texts(tmp_path, pairs)
    out = tmp_path / "out.jsonl"
    judge = Slow()
    score_dataset(data, judge=judge, out=out, concurrency=2)
    assert scores(out) == expected(pairs)
    assert judge.ahead <= 2 * 64 + 3


def test_a_judge_that_fails_on_every_sample_ends_the_run(tmp_path: Path) -> None:
    """One sample that is judged is enough to go on."""
    data = texts(tmp_path)
    out = tmp_path / "out.jsonl"
    judge = Scripted(fails=failing(*range(30)))
    with pytest.raises(JudgeError, match=r"first 20 samples.*line 20: the model gave no reply"):
        score_dataset(data, judge=judge, out=out, concurrency=1)
    assert len(judge.asked) == 20
    assert not out.exists()
    summary = score_dataset(data, judge=Scripted(fails=failing(*range(1, 30))), out=out)
    assert summary.scored == 1
    assert summary.failed == 29
    errors = [result.error for result in read_results(out) if result.error]
    assert errors[0] == "data.jsonl, line 2: the model gave no reply in time"


def test_a_fault_of_the_setup_is_the_runs_until_a_sample_is_judged(tmp_path: Path) -> None:
    """Then it is that of each sample that it struck, and nothing is lost."""
    fault = JudgeSetupError("the endpoint refuses the key")
    out = tmp_path / "out.jsonl"
    for rows, asked in ((30, 20), (5, 5)):
        data = texts(tmp_path, PAIRS[:rows])
        judge = Scripted(fails=failing(*range(30), error=fault))
        with pytest.raises(JudgeSetupError, match=r"^the endpoint refuses the key$"):
            score_dataset(data, judge=judge, out=out, concurrency=1)
        assert len(judge.asked) == asked
        assert not out.exists()
    judge = Scripted(fails=failing(0, 1, 3, error=fault))
    summary = score_dataset(data, judge=judge, out=out, concurrency=1)
    assert summary.scored == 2
    assert summary.failed == 3
    first, *_ = read_results(out)
    assert first.error == "data.jsonl, line 1: the endpoint refuses the key"


def test_another_fault_says_that_the_setup_is_right(tmp_path: Path) -> None:
    errors = {
        PAIRS[0][0].key: JudgeSetupError("nobody there"),
        PAIRS[1][0].key: ReplyError("no list"),
    }
    judge = Scripted(fails=lambda sample: errors[sample.key])
    assert score_dataset(texts(tmp_path, PAIRS[:2]), judge=judge).failed == 2


KILLED = """
import asyncio, sys
from noisesense_adapters.datasets.score import score_dataset
from support.scripted_judge import Scripted

class Stuck(Scripted):
    async def judge_detailed(self, sample):
        if len(self.asked) == 12:
            print("held", flush=True)
            await asyncio.sleep(600)
        return await super().judge_detailed(sample)

score_dataset(sys.argv[1], judge=Stuck(), out=sys.argv[2], concurrency=1)
"""


ENVIRONMENT = environment([*ROOTS, Path(__file__).parents[1]])


def test_one_run_writes_and_a_killed_one_stops_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    data = texts(tmp_path)
    out = tmp_path / "out.jsonl"
    second = Scripted()
    command = [sys.executable, "-c", KILLED, str(data), str(out)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(InputError) as raised:
                score_dataset(data, out=out, judge=second)
            message = f"{out}: expected one run at a time with these results, got another run"
            assert str(raised.value).startswith(message)
        finally:
            holder.kill()
    assert second.asked == []
    assert ".out.jsonl.lock" in names(tmp_path)
    assert not out.exists()
    own = tmp_path / ".out.jsonl.notes"
    own.touch()
    score_dataset(data, judge=second, out=out)
    assert [result.score for result in results_of(out)] == expected()
    assert names(tmp_path) == [own.name, "data.jsonl", out.name]


def test_a_run_leaves_alone_what_another_with_a_like_name_writes(tmp_path: Path) -> None:
    paths = [tmp_path / f"{'evaluation-of-the-support-bot' * 2}-{name}.jsonl" for name in "ab"]
    with ExitStack() as files:
        for path in paths:
            files.enter_context(whole_file(path, alone=True))(path.stem[-1])
    assert [path.read_text("utf-8") for path in paths] == ["a\n", "b\n"]


LIMITED = """
import resource, sys
from noisesense import InputError
from noisesense_adapters.datasets.score import score_dataset
from support.scripted_judge import Scripted

data, out, room = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), int(room)))
try:
    score_dataset(data, judge=Scripted(), out=out, concurrency=1)
except InputError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_is_an_error_in_words_and_leaves_no_file(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="no limits on this system")
    data = texts(tmp_path)
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-c", LIMITED, str(data), str(out), "3000"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.stderr.startswith(f"{out}: expected a file that can be written, got ")
    assert "too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(tmp_path) == ["data.jsonl"]
