"""A long run against a model, interrupted by Ctrl-C and given again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from noisesense import read_results
from support.command import environment
from support.mind import Mind
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

pytestmark = pytest.mark.broad  # four runs of 60 samples, in processes of their own

SAMPLES, AT_ONCE = 60, 8
# Labelled chunks and few claims: at most 4 calls a sample (two to decompose and check, one a
# chunk), mostly 1 to 3.
SHAPE = Shape(response_claims=(0, 1), reference_claims=(1, 1), chunks=(1, 2), labelled=1.0)
MOST_CALLS = 4
WHOLE, BEFORE, AFTER, AGAIN = (f"sk-canary-{run}" for run in range(4))


@dataclass(frozen=True)
class Story:
    """What happened to the two runs over the same dataset."""

    whole: bytes
    """The results of the run nobody disturbed."""
    resumed: bytes
    kept: bytes
    """What the interrupted run left."""
    left_over: bool
    """Is the partial file still there after the resumed run?"""
    interrupted: subprocess.CompletedProcess[str]
    outputs: tuple[str, str]
    asked: dict[str, list[str]]
    """The prompts of each run."""
    again: bytes
    """The results after the finished command was given once more."""


def command(folder: Path, server: ScriptedServer, out: str) -> list[str]:
    return [
        *(sys.executable, "-m", "noisesense_adapters.cli", "score", str(folder / "data.jsonl")),
        *("--judge", "openai:scripted", "--base-url", server.base_url, "--api-key-env", "JUDGE"),
        *("--concurrency", str(AT_ONCE), "--out", str(folder / out)),
    ]


def start(arguments: list[str], key: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments,
        env={**environment(), "JUDGE": key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def await_lines(path: Path, count: int) -> None:
    deadline = time.monotonic() + 300
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("resume")
    pairs = list(random_pairs(SAMPLES, seed=13500, shape=SHAPE))
    rows = (sample.model_dump(mode="json") for sample, _ in pairs)
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mind = Mind(pairs)
    # One server, whose name is in the results; the keys tell the runs apart.
    with ScriptedServer(mind) as server:
        undisturbed = start(command(folder, server, "whole.jsonl"), WHOLE)
        process = start(command(folder, server, "out.jsonl"), BEFORE)
        partial = folder / "out.jsonl.partial"
        await_lines(partial, SAMPLES // 4)
        process.send_signal(signal.SIGINT)
        interrupted = finish(process)
        kept = partial.read_bytes()
        resumed = finish(start(command(folder, server, "out.jsonl"), AFTER))
        results = (folder / "out.jsonl").read_bytes()
        left_over = partial.exists()
        whole = finish(undisturbed)
        again = finish(start(command(folder, server, "out.jsonl"), AGAIN))
        for done in (whole, resumed, again):
            assert (done.returncode, done.stderr) == (0, "")
        yield Story(
            whole=(folder / "whole.jsonl").read_bytes(),
            resumed=results,
            kept=kept,
            left_over=left_over,
            interrupted=interrupted,
            outputs=(whole.stdout, resumed.stdout),
            asked={
                key: [request.prompt for request in server.log.requests if request.key == key]
                for key in (WHOLE, BEFORE, AFTER, AGAIN)
            },
            again=(folder / "out.jsonl").read_bytes(),
        )


def test_ctrl_c_leaves_what_is_done(story: Story) -> None:
    done = story.interrupted
    assert done.returncode == 130
    assert done.stdout == ""
    count = story.kept.count(b"\n")
    assert SAMPLES // 4 <= count < SAMPLES
    # Up to Python 3.10 the interrupt comes anywhere, also before the last line is counted.
    told = re.match(r"interrupted: ([\d,]+) samples are done and saved in ", done.stderr)
    assert told
    assert int(told[1].replace(",", "")) in (count, count - 1)
    assert "Traceback" not in done.stderr
    assert BEFORE not in done.stderr


def test_resumed_and_undisturbed_give_the_same_results(story: Story) -> None:
    """Usage included: what was in flight is judged anew, as if it had not been."""
    assert story.resumed == story.whole
    assert story.outputs[0].partition("\n\nwrote")[0] == story.outputs[1].partition("\n\nwrote")[0]
    assert not story.left_over


def test_no_finished_call_is_repeated_but_those_of_samples_in_flight(story: Story) -> None:
    before, after = Counter(story.asked[BEFORE]), Counter(story.asked[AFTER])
    assert before
    assert after
    # Not a call that an undisturbed run would not make.
    assert before.keys() | after.keys() == set(story.asked[WHOLE])
    assert (before & after).total() <= AT_ONCE * MOST_CALLS


def test_a_finished_run_given_again_asks_nothing(story: Story) -> None:
    assert story.asked[AGAIN] == []
    assert story.again == story.resumed


def test_the_results_are_those_of_the_verdicts(story: Story, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(story.resumed)
    found = list(read_results(path))
    pairs = list(random_pairs(SAMPLES, seed=13500, shape=SHAPE))
    assert [result.id for result in found] == [sample.key for sample, _ in pairs]
