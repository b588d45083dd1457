"""One run at a time writes a results file, and what went wrong with its files is named."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from noisesense import InputError, Judgement, Sample, StoreError, read_results
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.score import partial_of, score_dataset
from support.command import environment
from support.scripted_judge import PAIRS, Scripted, expected, failing, scores, texts


class Meddling(Scripted):
    """Does something else when the eleventh sample is judged."""

    def __init__(self, deed: Callable[[], object], fails: object = None) -> None:
        super().__init__(**({} if fails is None else {"fails": fails}))
        self.deed = deed
        self.raised: Exception | None = None

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if sample.key == PAIRS[10][0].key:
            try:
                await asyncio.to_thread(self.deed)
            except InputError as error:
                self.raised = error
        return await super().judge_detailed(sample)


def test_the_second_run_says_who_holds_the_results(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    second = Scripted()
    first = Meddling(lambda: score_dataset(data, judge=second, out=out))
    score_dataset(data, judge=first, out=out)
    assert second.asked == []
    message = str(first.raised)
    assert message.startswith(f"{out}: expected one run at a time with these results, got ")
    assert f"process {os.getpid()} on {socket.gethostname()}, started at 20" in message
    assert scores(out) == expected()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", "out.jsonl"]


def test_two_processes_at_once(tmp_path: Path) -> None:
    """As above, the holder being another process, which is then killed."""
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from noisesense_adapters.datasets.journal import only_writer\n"
        "with only_writer(Path(sys.argv[1])):\n"
        "    print('held', flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(out)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(InputError, match=f"process {holder.pid} on "):
                score_dataset(data, judge=Scripted(), out=out)
            with pytest.raises(InputError, match=f"process {holder.pid} on "):
                score_dataset(data, verdicts=out, out=out)
        finally:
            holder.kill()
    assert (tmp_path / "out.jsonl.lock").exists()  # it stops nobody
    score_dataset(data, judge=Scripted(), out=out)
    assert scores(out) == expected()
    assert not (tmp_path / "out.jsonl.lock").exists()


@pytest.mark.parametrize("ending", [".partial", ".lock"])
@pytest.mark.parametrize(
    "content", [b"my notes\n", b"notes", b'{"a": 1}\n', b'{"id": 1, "text": 2}', b"[1]\n", b"\n"]
)
def test_a_file_of_the_users_own_is_not_touched(
    content: bytes, ending: str, tmp_path: Path
) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    own = tmp_path / f"out.jsonl{ending}"
    own.write_bytes(content)
    judge = Scripted()
    with pytest.raises(InputError, match="a file that holds something else") as raised:
        score_dataset(data, judge=judge, out=out)
    assert str(own) in str(raised.value)
    assert (own.read_bytes(), judge.asked) == (content, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.jsonl", own.name]


@pytest.mark.parametrize("content", [b"", b'{"i', b'{"id": "a", "definition": "ra'])
def test_a_first_line_that_was_cut_off_is_ours(content: bytes, tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    partial_of(out).write_bytes(content)
    score_dataset(data, judge=Scripted(), out=out)
    assert scores(out) == expected()


def test_a_partial_file_deleted_during_the_run(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    score_dataset(data, judge=Meddling(partial_of(out).unlink), out=out, concurrency=1)
    assert scores(out) == expected()
    assert not partial_of(out).exists()


def test_a_partial_file_deleted_and_then_an_end(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    full = failing(20, error=StoreError("a store", "a full disk"))
    with pytest.raises(StoreError):
        score_dataset(data, judge=Meddling(partial_of(out).unlink, full), out=out, concurrency=1)
    assert len(list(read_results(partial_of(out)))) == 20
    second = Scripted()
    score_dataset(data, judge=second, out=out)
    assert len(second.asked) == len(PAIRS) - 20
    assert scores(out) == expected()


def test_a_partial_file_that_something_else_cuts_off(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    judge = Meddling(lambda: os.truncate(partial_of(out), 5))
    with pytest.raises(InputError, match="something else changed meanwhile"):
        score_dataset(data, judge=judge, out=out, concurrency=1)
    assert not out.exists()


RUN = """
import resource, sys
from noisesense import InputError
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.score import score_dataset
from support.scripted_judge import Scripted

data, out, room = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), int(room)))
judge = Scripted()
try:
    score_dataset(data, judge=judge, out=out, concurrency=1)
except InputError as error:
    sys.exit(str(error))
"""


def limited(data: Path, out: Path, room: int) -> str:
    """What a process that cannot make a file longer than that says."""
    pytest.importorskip("resource", reason="no limits on this system")
    command = [sys.executable, "-c", RUN, str(data), str(out), str(room)]
    tests = str(Path(__file__).parents[1])
    env = {
        **environment(),
        "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]),
    }
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False).stderr


def test_a_full_disk_while_judging(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    said = limited(data, out, 10_000)
    assert said.startswith(
        f"{partial_of(out)}: expected a file that can be written, got File too "
    )
    assert "the same command continues from there" in said
    kept = partial_of(out).read_bytes()
    assert kept.endswith(b"\n")
    assert 5_000 < len(kept) <= 10_000
    done = len([json.loads(line) for line in kept.splitlines()])
    second = Scripted()
    score_dataset(data, judge=second, out=out)
    assert len(second.asked) == len(PAIRS) - done
    assert scores(out) == expected()


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_full_disk_while_writing_the_results(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    data, out = texts(tmp_path), tmp_path / name
    score_dataset(data, judge=Scripted(), out=out)
    partial_of(out).write_bytes(b"".join(r.to_json().encode() + b"\n" for r in results_of(out)))
    out.unlink()
    size = partial_of(out).stat().st_size
    said = limited(data, out, size - 100 if name == "out.jsonl" else 3_000)
    assert "expected a file that can be written, got " in said
    assert "too large" in said
    assert f"what was judged is kept in {partial_of(out)}" in said
    assert partial_of(out).stat().st_size == size
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.jsonl", f"{name}.partial"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_folder_in_which_nothing_can_be_created(tmp_path: Path) -> None:
    judge = Scripted()
    with pytest.raises(InputError, match="/proc/self") as raised:
        score_dataset(texts(tmp_path), judge=judge, out="/proc/self/out.jsonl")
    assert "written" in str(raised.value)
    assert judge.asked == []


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    score_dataset(data, judge=Scripted(), out=out)  # it needs none
    with pytest.raises(InputError, match="TMPDIR"):
        score_dataset(data, judge=Scripted())
