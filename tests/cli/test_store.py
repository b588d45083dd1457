"""``noisesense store``: a person reads, exports and prunes what a judge kept."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from noisesense.judging.records import StoredCall, StoredSample

from noisesense import InputError, RecordedJudge, Usage, read_recording
from noisesense.fixtures import reference_examples
from noisesense.judging.store import VerdictStore
from noisesense_adapters.cli.store import parse_age
from support.command_here import Done, run_here

EXAMPLES = reference_examples()
DAY = 24 * 3600.0
Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: str | Path, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return run_here(capsys, *arguments)

    return command


def call(n: int, model: str, *, reply: str | None = "{}", age_days: float = 0) -> StoredCall:
    usage = Usage(calls=1, input_tokens=1000, output_tokens=20)
    created = time.time() - age_days * DAY
    return StoredCall(
        f"key {n}", model, "1", "claims", 0, "sample", "a question", reply, usage, created
    )


def judged(n: int, model: str, *, unanswered: int = 0, age_days: float = 0) -> StoredSample:
    example, created = EXAMPLES[n], time.time() - age_days * DAY
    return StoredSample(example.sample, example.verdicts, model, "1", "lazy", unanswered, created)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two models: four calls and two samples of one, a year old call of the other."""
    path = tmp_path / "verdicts.db"
    with VerdictStore(path) as opened:
        for n in range(3):
            opened.put(call(n, "gpt-a"))
        opened.put(call(3, "gpt-a", reply=None))
        opened.put(call(4, "gpt-b", age_days=365))
        opened.put_sample(judged(0, "gpt-a"))
        opened.put_sample(judged(1, "gpt-a", unanswered=7))
        opened.put_sample(judged(2, "gpt-b", age_days=365))
    return path


def test_show(store: Path, run: Run) -> None:
    done = run("store", "show", store)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{store}: ")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["gpt-a", "1", "4", "1", "4,000", "80", "-", "2", "7"] in lines
    assert ["gpt-b", "1", "1", "0", "1,000", "20", "-", "1", "0"] in lines
    assert "\x1b" not in done.out


def test_show_as_json(store: Path, run: Run) -> None:
    done = run("store", "show", store, "--json")
    first, second = json.loads(done.out)["lines"]
    assert first == {
        "model": "gpt-a",
        "prompts": "1",
        "calls": 4,
        "unusable": 1,
        "input_tokens": 4000,
        "output_tokens": 80,
        "cost": None,
        "samples": 2,
        "undetermined": 7,
    }
    assert second["model"] == "gpt-b"


def test_show_an_empty_store(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "new.db"
    VerdictStore(path).close()
    done = run("store", "show", path)
    assert done.status == 0
    assert done.out.endswith("KiB, empty\n")


def test_export_is_a_recording(store: Path, tmp_path: Path, run: Run) -> None:
    recording = tmp_path / "out.jsonl"
    done = run("store", "export", store, recording, "--model", "gpt-a")
    assert done.status == 0
    assert done.out == f"wrote 2 samples to {recording}\n"
    assert [r.sample for r in read_recording(recording)] == [e.sample for e in EXAMPLES[:2]]
    verdicts = asyncio.run(RecordedJudge(recording).judge(EXAMPLES[1].sample))
    assert verdicts == EXAMPLES[1].verdicts


def test_export_of_several_models_asks_to_choose(store: Path, tmp_path: Path, run: Run) -> None:
    done = run("store", "export", store, tmp_path / "out.jsonl")
    assert done.status == 2
    assert "'gpt-a', 'gpt-b'" in done.err
    assert done.err.startswith("error: ")
    assert not (tmp_path / "out.jsonl").exists()


def test_export_overwrites_only_when_told(store: Path, tmp_path: Path, run: Run) -> None:
    recording = tmp_path / "out.jsonl"
    recording.write_text("mine")
    refused = run("store", "export", store, recording, "--model", "gpt-b")
    assert refused.status == 2
    assert "--force" in refused.err
    assert recording.read_text() == "mine"
    done = run("store", "export", store, recording, "--model", "gpt-b", "--force")
    assert done.out == f"wrote 1 sample to {recording}\n"


def test_prune_by_age(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--older-than", "30d", "--yes")
    assert done.status == 0
    assert done.out == f"removed 1 calls and 1 samples from {store}\n"
    with VerdictStore(store) as opened:
        assert opened.stats().models == ("gpt-a",)


def test_prune_by_model_after_asking(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--model", "gpt-a", stdin="y\n")
    assert done.status == 0
    assert f"Remove 4 calls and 2 samples from {store}?" in done.out
    with VerdictStore(store) as opened:
        assert opened.stats().models == ("gpt-b",)


def test_prune_what_was_left_unanswered(store: Path, run: Run) -> None:
    with VerdictStore(store) as opened:
        opened.mark_unanswered(["key 1", "key 2", "key 4"])
    done = run("store", "prune", store, "--unanswered", stdin="y\n")
    assert done.status == 0
    assert f"Remove 3 calls and 1 samples from {store}?" in done.out
    assert f"removed 3 calls and 1 samples from {store}\n" in done.out
    with VerdictStore(store) as opened:
        assert [kept.key for kept in opened.calls()] == ["key 0", "key 3"]
        assert [kept.unanswered for kept in opened.samples()] == [0, 0]
    again = run("store", "prune", store, "--unanswered", "--yes")
    assert again.out == f"removed 0 calls and 0 samples from {store}\n"


@pytest.mark.parametrize(
    ("options", "removed"),
    [
        (["--older-than", "30d"], (1, 0)),
        (["--model", "gpt-a"], (2, 1)),
        (["--model", "gpt-a", "--older-than", "30d"], (0, 0)),
    ],
)
def test_prune_unanswered_of_an_age_or_a_model(
    store: Path, options: list[str], removed: tuple[int, int], run: Run
) -> None:
    with VerdictStore(store) as opened:
        opened.mark_unanswered(["key 1", "key 2", "key 4"])
    done = run("store", "prune", store, "--unanswered", *options, stdin="y\n")
    calls, samples = removed
    assert f"Remove {calls} calls and {samples} samples from {store}?" in done.out
    assert f"removed {calls} calls and {samples} samples from {store}\n" in done.out


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_prune_changes_nothing_without_a_yes(store: Path, answer: str, run: Run) -> None:
    done = run("store", "prune", store, "--model", "gpt-a", stdin=answer)
    assert done.status == 1
    assert "Traceback" not in done.err
    with VerdictStore(store) as opened:
        assert opened.stats().calls == 5


def test_prune_needs_to_be_told_what(store: Path, run: Run) -> None:
    done = run("store", "prune", store, "--yes")
    assert done.status == 2
    expected = "--older-than, --model or --unanswered"
    assert done.err == f"error: prune: expected {expected}, got none of them\n"


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("90m", timedelta(minutes=90)),
        ("12h", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        (" 8w ", timedelta(weeks=8)),
    ],
)
def test_ages(text: str, age: timedelta) -> None:
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5h", "1y", "1d1h", "9999999d"])
def test_what_is_no_age(text: str) -> None:
    with pytest.raises(InputError, match="--older-than: expected a number and a unit"):
        parse_age(text)


@pytest.mark.parametrize("command", ["show", "export", "prune"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"not a database, " * 100, "expected"),
        ("truncated", "expected"),
        ("another program's", "another program's database"),
    ],
)
def test_a_file_that_is_no_store_is_an_error_and_stays_as_it_is(
    store: Path, tmp_path: Path, command: str, content: bytes | str | None, said: str, run: Run
) -> None:
    path = tmp_path / "bad.db"
    if content == "truncated":
        whole = store.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    elif content == "another program's":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE notes (text TEXT)")
        connection.close()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    before = path.read_bytes() if path.exists() else None
    rest = {
        "show": [],
        "export": [str(tmp_path / "out.jsonl")],
        "prune": ["--older-than", "0m", "--yes"],
    }
    done = run("store", command, path, *rest[command])
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"error: {path}: ")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert (path.read_bytes() if path.exists() else None) == before
