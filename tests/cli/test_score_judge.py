"""``noisesense score --judge``: a model on loopback, its replies kept, errors and interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from noisesense import read_results
from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets.read import results_of
from support.command import environment
from support.command_here import Done, run_here
from support.datasets import write_jsonl
from support.mind import Mind, data_of
from support.misbehavior import says, when
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
KEY = "sk-canary-judge"
Judged = Callable[..., Done]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(Mind(PAIRS), api_key=KEY) as running:
        yield running


def texts(folder: Path, times: int = 1) -> Path:
    """The examples as rows of texts; their labels are in the chunks."""
    lines = [sample.model_dump(mode="json") for sample, _ in PAIRS] * times
    return write_jsonl(folder / "texts.jsonl", lines)


def options(server: ScriptedServer, model: str = "openai:scripted") -> list[str]:
    return ["--judge", model, "--base-url", server.base_url]


@pytest.fixture
def judged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Runs ``noisesense score`` in this process, with no key in its environment but the given."""
    for name in os.environ.keys() - environment().keys():
        monkeypatch.delenv(name)

    def judge(*arguments: str | Path, key: str = KEY, **env: str) -> Done:
        for name, value in {"OPENAI_API_KEY": key, **env}.items():
            if value:
                monkeypatch.setenv(name, value)
        done = run_here(capsys, "score", *arguments)
        assert "sk-canary" not in done.out + done.err
        assert "Traceback" not in done.err
        return done

    return judge


def figures(path: Path) -> list[tuple[float | None, float | None]]:
    scores = (result.score for result in results_of(path))
    return [(score.relevant, score.irrelevant) for score in scores if score]


EXPECTED = [pytest.approx(example.expected["ragas"], abs=1e-12) for example in EXAMPLES]


def test_every_reply_is_kept_and_a_rerun_without_results_asks_for_none(
    server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = [texts(tmp_path), *options(server), "--out", out]
    done = judged(*arguments, "--temperature", "0")
    assert done.status == 0
    assert figures(out) == EXPECTED
    calls = server.log.calls
    assert f"judging: {calls} calls" in done.out
    (result, *_) = read_results(out)
    settings = r"plan=lazy check=list, prompts \d+"
    named = rf"scripted at \S+, {settings}, options [0-9a-f]{{8}}"
    assert re.fullmatch(named, result.judge or "")
    out.unlink()
    again = judged(*arguments, "--temperature", "0")
    assert again.status == 0
    assert figures(out) == EXPECTED
    assert server.log.calls == calls
    assert f"judging: {calls} answers used again" in again.out


class Chatty:
    """Lists a greeting and a stray, and leaves a claim out; asked again, it knows better."""

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": ["Hello!", "The moon is round.", "It sails at noon."]})
        knows = "premise" in data and data["premise"] != "Nobody knows."
        said = {"It sails at noon."} if knows else set()
        words = {n: "yes" if text in said else "no" for n, text in data["claims"].items()}
        return json.dumps(words)


def test_what_was_added_and_dropped_is_told_and_kept(tmp_path: Path, judged: Judged) -> None:
    """The one claim that is left is wrong and the chunk's."""
    chunk = {"text": "It sails at noon.", "relevant": True}
    row = {
        "user_input": "When does it sail, and what does it carry?",
        "response": "Hello! It sails at noon. It carries bicycles.",
        "reference": "Nobody knows.",
        "retrieved_contexts": [chunk],
    }
    out = tmp_path / "out.jsonl"
    report = tmp_path / "report.html"
    with ScriptedServer(Chatty(), api_key=KEY) as server:
        dataset = write_jsonl(tmp_path / "texts.jsonl", [row])
        done = judged(dataset, *options(server), "--out", out, "--report", report)
    (result,) = read_results(out)
    changes = {(each.text, each.change) for each in result.changes}
    assert changes == {
        ("The moon is round.", "stray"),
        ("It carries bicycles.", "left out"),
        ("Hello!", "beside the question"),
        ("It carries bicycles.", "beside the question"),
    }
    assert result.score is not None
    assert result.score.relevant == 1.0
    told = (
        "1 added that its lists had left out, 1 dropped that are not in the text,"
        " 2 dropped that are beside the question"
    )
    assert told in done.out


# By name: options beside `score texts.jsonl`, the key, and what the one error names.
SETUP: dict[str, tuple[str, str, str]] = {
    "no provider": ("--judge gpt-4.1", "", "expected provider:model, got 'gpt-4.1'"),
    "no key": ("--judge openai:m", "", "no API key"),
    "nobody there": (
        "--judge openai:m --base-url http://127.0.0.1:9/v1",
        KEY,
        "cannot be reached",
    ),
    "another key": ("--judge openai:m --base-url URL", "sk-canary-2", "401"),
}


@pytest.mark.parametrize("name", SETUP)
def test_a_setup_that_fails_every_sample_is_one_error_and_writes_nothing(
    name: str, server: ScriptedServer, tmp_path: Path, judged: Judged
) -> None:
    """Though of one row it is known without a judge that there is nothing to measure."""
    given, key, named = SETUP[name]
    data = texts(tmp_path)
    nothing = {"response": "r", "reference": "g", "retrieved_contexts": []}
    data.write_text(f"{json.dumps(nothing)}\n{data.read_text('utf-8')}", "utf-8")
    out = tmp_path / "out.jsonl"
    arguments = given.replace("URL", server.base_url).split()
    done = judged(data, *arguments, "--out", out, key=key)
    *_, last = done.err.splitlines()
    assert done.status == 2
    assert done.out == ""
    assert not out.exists()
    assert last.startswith("error: ")
    assert named in last
    assert "failed:" not in done.err


def test_a_model_that_finds_no_claim_has_measured_nothing(tmp_path: Path, judged: Judged) -> None:
    with ScriptedServer(Mind(PAIRS), script=when(bool, says('{"claims": []}'))) as server:
        done = judged(texts(tmp_path), *options(server))
    assert done.status == 5, done.err


def start(
    server: ScriptedServer, data: Path, *more: str | Path, key: str = KEY
) -> subprocess.Popen[str]:
    """``noisesense score`` in a process of its own."""
    given = ["score", data, *options(server), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "noisesense", *map(str, given)],
        env={**environment(), "OPENAI_API_KEY": key},
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def await_calls(server: ScriptedServer, count: int) -> None:
    deadline = time.monotonic() + 300
    while server.log.calls < count:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.02)


def test_an_interrupt_ends_with_130_and_says_that_nothing_is_kept(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.latency = 300
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(server, texts(tmp_path))
        calls = server.log.calls
        await_calls(server, calls + 1)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 130
        assert out == ""
        assert err.endswith("interrupted: nothing is kept without --judge and --out\n")


@pytest.mark.broad
def test_a_run_that_is_interrupted_and_given_again_gives_the_undisturbed_result(
    tmp_path: Path,
) -> None:
    """Four runs over the same server, which has one name in the results; keys tell them apart."""
    shape = Shape((0, 1), (1, 1), (1, 2), labeled=1.0)
    pairs = list(random_pairs(60, seed=13500, shape=shape))
    lines = [sample.model_dump(mode="json") for sample, _ in pairs]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    out = tmp_path / "out.jsonl"
    with ScriptedServer(Mind(pairs)) as server:
        interrupted(start(server, data, *AT_ONCE, out, key="sk-canary-0"), server, out)
        resumed = finished(server, data, out, "sk-canary-1")
        undisturbed = finished(server, data, tmp_path / "whole.jsonl", "sk-canary-2")
        again = finished(server, data, out, "sk-canary-3")
        asked = {key: Counter[str]() for key in ("0", "1", "2", "3")}
        for request in server.log.requests:
            asked[request.key.removeprefix("sk-canary-")][request.prompt] += 1
    assert resumed == undisturbed == again
    # Not a call that an undisturbed run would not make, and none twice but those in flight.
    assert asked["0"].keys() | asked["1"].keys() == asked["2"].keys()
    assert (asked["0"] & asked["1"]).total() <= 8
    assert not asked["3"]


AT_ONCE = ("--concurrency", "8", "--out")


def interrupted(process: subprocess.Popen[str], server: ScriptedServer, out: Path) -> None:
    await_calls(server, 60)
    process.send_signal(signal.SIGINT)
    printed, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert printed == ""
    assert not out.exists()
    kept = r"interrupted: \d+ samples? done, and every reply is kept in \S+out\.jsonl\.db\. "
    assert re.match(f"{kept}Rerun the command to resume", err)
    assert "sk-canary" not in err


def finished(server: ScriptedServer, data: Path, out: Path, key: str) -> list[object]:
    process = start(server, data, *AT_ONCE, out, key=key)
    _, notes = process.communicate(timeout=300)
    assert len(notes.splitlines()) == 2  # of the answers, and of chunks that support nothing
    assert process.returncode == 0
    assert notes.startswith("note: 26 of 60 answers claim nothing")
    return [result.score for result in read_results(out)]
