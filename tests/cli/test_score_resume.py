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

from noisesense import Result, read_results
from support.command import environment
from support.mind import Mind
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

pytestmark = pytest.mark.broad  # four runs of 60 samples, in processes of their own

SAMPLES, AT_ONCE = 60, 8
# Labelled chunks and few claims: at most 4 calls a sample (two to decompose and check, one a
# chunk), mostly 1 to 3.
SHAPE = Shape(response_claims=(0, 1), reference_claims=(1, 1), chunks=(1, 2), labelled=1.0)
WHOLE, BEFORE, AFTER, AGAIN = (f"sk-canary-{run}" for run in range(4))


@dataclass(frozen=True)
class Story:
    """What happened to the two runs over the same dataset."""

    whole: bytes
    """The results of the run nobody disturbed."""
    resumed: bytes
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


def await_calls(server: ScriptedServer, count: int) -> None:
    deadline = time.monotonic() + 300
    while sum(request.key == BEFORE for request in server.log.requests) < count:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.02)


def scores(lines: bytes) -> list[object]:
    return [Result.from_json(line).score for line in lines.decode().splitlines()]


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
        await_calls(server, SAMPLES)
        process.send_signal(signal.SIGINT)
        interrupted = finish(process)
        assert not (folder / "out.jsonl").exists()
        resumed = finish(start(command(folder, server, "out.jsonl"), AFTER))
        results = (folder / "out.jsonl").read_bytes()
        whole = finish(undisturbed)
        again = finish(start(command(folder, server, "out.jsonl"), AGAIN))
        for done in (whole, resumed, again):
            assert (done.returncode, done.stderr) == (0, "")
        yield Story(
            whole=(folder / "whole.jsonl").read_bytes(),
            resumed=results,
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
    assert re.match(
        r"interrupted: \d+ samples are done, and every reply is kept in \S+out\.jsonl\.db; "
        "the same command continues from there",
        done.stderr,
    )
    assert "Traceback" not in done.stderr
    assert BEFORE not in done.stderr


def test_resumed_and_undisturbed_give_the_same_results(story: Story) -> None:
    assert scores(story.resumed) == scores(story.whole)
    head = [each.partition("judged with")[0] for each in story.outputs]
    assert head[0] == head[1]


def test_no_finished_call_is_repeated(story: Story) -> None:
    before, after = Counter(story.asked[BEFORE]), Counter(story.asked[AFTER])
    assert before
    assert after
    # Not a call that an undisturbed run would not make.
    assert before.keys() | after.keys() == set(story.asked[WHOLE])
    assert (before & after).total() <= AT_ONCE  # those in flight


def test_a_finished_run_given_again_asks_nothing(story: Story) -> None:
    assert story.asked[AGAIN] == []
    assert scores(story.again) == scores(story.resumed)


def test_the_results_are_those_of_the_verdicts(story: Story, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(story.resumed)
    found = list(read_results(path))
    pairs = list(random_pairs(SAMPLES, seed=13500, shape=SHAPE))
    assert [result.id for result in found] == [sample.key for sample, _ in pairs]
