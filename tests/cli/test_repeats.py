"""``noisesense score --repeats``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from noisesense import read_results, stability
from support.command import environment
from support.command_here import run_here
from support.datasets import write_jsonl
from support.mind import Mind, data_of, items_of, reply_of
from support.server import ScriptedServer
from support.tables import Shape, random_pairs

Capsys = pytest.CaptureFixture[str]

PAIRS = list(random_pairs(12, seed=9, shape=Shape(response_claims=(1, 3), chunks=(1, 2))))


class Fickle(Mind):
    """Says the opposite of what it knows about the reference, in the second judging."""

    def __init__(self) -> None:
        super().__init__(PAIRS)
        self.changed = False
        self.prompts: list[str] = []

    def answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        reply = super().answer(prompt)
        if not self.changed or "text" in data_of(prompt):
            return reply
        return reply_of([{**each, "entailed": not each["entailed"]} for each in items_of(reply)])


def given(folder: Path) -> Path:
    lines = [
        {**sample.model_dump(mode="json"), "id": f"s{i}"} for i, (sample, _) in enumerate(PAIRS)
    ]
    return write_jsonl(folder / "data.jsonl", lines)


def arguments(folder: Path, server: ScriptedServer, *more: Any) -> list[Any]:
    out = folder / "judged.jsonl"
    return [
        *("score", folder / "data.jsonl", "--judge", "openai:scripted", "--repeats", "2"),
        *("--base-url", server.base_url, "--out", out, "--max-unanswered", "1", *more),
    ]


def test_each_judging_asks_anew_and_stability_reads_them(tmp_path: Path, capsys: Capsys) -> None:
    given(tmp_path)
    mind = Fickle()
    store = tmp_path / "s.db"
    with ScriptedServer(mind) as server:
        done = run_here(capsys, *arguments(tmp_path, server, "--store", store))
        asked = list(mind.prompts)
        assert done.status in (0, 4)
        assert "judging 1 of 2" in done.err
        assert "judging 2 of 2" in done.err
        # Every prompt is asked twice, though there is a store.
        assert sorted(asked) == sorted([*dict.fromkeys(asked)] * 2)
        paths = [tmp_path / f"judged-{i}.jsonl" for i in (1, 2)]
        assert f"wrote {paths[0]}\nwrote {paths[1]}\n" in done.out
        assert not (tmp_path / "judged.jsonl").exists()
        # What it printed is what `stability` prints of the files.
        table = run_here(capsys, "stability", *paths)
        assert done.out.startswith(table.out)
        assert f"{len(PAIRS)} samples, judged 2 times" in table.out

        # Given once more it asks nothing: everything is there.
        mind.prompts.clear()
        run_here(capsys, *arguments(tmp_path, server, "--store", store))
        assert mind.prompts == []

        # Without the results the store has both judgings, apart.
        for path in paths:
            path.unlink()
        run_here(capsys, *arguments(tmp_path, server, "--store", store))
        assert mind.prompts == []
    names = [{result.judge for result in read_results(path)} for path in paths]
    assert all(len(each) == 1 for each in names)
    assert names[0] != names[1]


@pytest.mark.broad
def test_ctrl_c_in_the_second_judging(tmp_path: Path) -> None:
    given(tmp_path)
    with ScriptedServer(Mind(PAIRS), latency=0.03) as server:
        command = [sys.executable, "-m", "noisesense_adapters.cli"]
        command += map(str, arguments(tmp_path, server, "--concurrency", "1"))
        env = {**environment(), "OPENAI_API_KEY": "any"}

        def start() -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, encoding="utf-8")

        process, first = start(), tmp_path / "judged-1.jsonl"
        deadline = time.monotonic() + 300
        while not first.exists() or server.log.calls < needed(first) + 6:
            assert time.monotonic() < deadline, "the run does not get on"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out) == (130, "")
        assert "Traceback" not in err
        assert re.search(
            r"interrupted: \d+ samples are done, and every reply is kept in .*db", err
        )
        before, calls = first.read_bytes(), needed(first)
        process = start()
        process.communicate(timeout=300)
        assert process.returncode in (0, 4)
    assert figures(first) == figures(tmp_path / "judged-2.jsonl")
    assert len(before.splitlines()) == len(PAIRS)
    # The two judgings of a sound judge take as many calls each; one was in flight.
    assert 2 * calls <= server.log.calls <= 2 * calls + 2


def needed(path: Path) -> int:
    return sum(result.usage.calls for result in read_results(path))


def figures(path: Path) -> list[object]:
    return [result.score for result in read_results(path)]


def test_what_changes_is_shown_as_json_too(tmp_path: Path, capsys: Capsys) -> None:
    given(tmp_path)
    mind = Fickle()

    def later(index: int, prompt: str) -> None:
        mind.changed = mind.prompts.count(prompt) > 0

    with ScriptedServer(mind, script=later) as server:
        done = run_here(capsys, *arguments(tmp_path, server, "--json", "--fail-above", "0.99"))
    found = json.loads(done.out)
    paths = [tmp_path / f"judged-{i}.jsonl" for i in (1, 2)]
    expected = stability((read_results(path) for path in paths), limit=0.99)
    assert found["stability"] == json.loads(json.dumps(expected.to_dict()))
    assert len(found["repeats"]) == 2
    assert found["repeats"][0]["samples"] == len(PAIRS)
    assert expected.relevant is not None
    assert expected.irrelevant is not None
    assert expected.relevant.changed or expected.irrelevant.changed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--report", "r.html"], "--repeats: expected --out or --json"),
        (["--ragchecker-aggregates"], "--repeats: expected --out or --json"),
    ],
)
def test_errors(tmp_path: Path, capsys: Capsys, more: list[str], message: str) -> None:
    data = given(tmp_path)
    done = run_here(capsys, "score", data, "--judge", "openai:m", "--repeats", "2", *more)
    assert (done.status, message in done.err) == (2, True), done.err
    alone = run_here(capsys, "score", data, "--repeats", "2")
    assert (alone.status, "--judge as well, got only --repeats" in alone.err) == (2, True)


def test_without_out_nothing_is_left(tmp_path: Path, capsys: Capsys) -> None:
    data = given(tmp_path)
    with ScriptedServer(Fickle()) as server:
        done = run_here(
            capsys, "score", data, "--judge", "openai:scripted", "--repeats", "2",
            "--base-url", server.base_url, "--max-unanswered", "1",
        )  # fmt: skip
    assert f"{len(PAIRS)} samples, judged 2 times" in done.out
    assert "wrote" not in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]
