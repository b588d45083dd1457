"""Recordings: found by content, written whole or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense import (
    InputError,
    RecordedJudge,
    Result,
    Sample,
    SampleNotRecordedError,
    Verdicts,
    read_recording,
    score,
    write_recording,
    write_results,
)
from noisesense.fixtures import reference_examples
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS, good_line
from support.tables import Shape, random_pairs

PAIRS = list(random_pairs(30, seed=50_000, shape=Shape(undetermined=0.2, labeled=0.3)))
SAMPLE = Sample.model_validate(GOOD_SAMPLE)
VERDICTS = Verdicts.model_validate(GOOD_VERDICTS)


def test_what_is_written_is_found_again_and_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    write_recording(path, PAIRS)
    judge = RecordedJudge(path)
    assert judge.samples == tuple(sample for sample, _ in PAIRS)
    for sample, verdicts in PAIRS:
        assert judge.lookup(sample) == asyncio.run(judge.judge(sample)) == verdicts
    assert list(read_recording(str(path))) == PAIRS
    results = [Result(str(i), score(pair[1]), sample=pair[0]) for i, pair in enumerate(PAIRS)]
    write_results(path, [*results, Result("failed", error="no reply", sample=SAMPLE)])
    assert list(read_recording(path)) == PAIRS


def test_a_recording_is_readable_in_any_script_and_takes_half_a_character(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    write_recording(path, [(e.sample, e.verdicts) for e in reference_examples()])
    judge = RecordedJudge(path)
    for example in reference_examples():
        assert judge.lookup(example.sample) == example.verdicts
    # A person reads and corrects recordings: no escapes, no repeated chunks.
    text = path.read_text("utf-8")
    assert "印度人寿保险公司" in text
    assert text.count("The Mona Lisa is a famous portrait") == 1
    broken = Sample(response="a\ud800", reference="b", retrieved_contexts=("c",))
    write_recording(path, [(broken, Verdicts(response_claims=()))])
    assert RecordedJudge(path).lookup(broken).response_claims == ()


def test_labels_do_not_hide_a_sample_and_its_own_win(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"

    def labeled(*labels: bool | None) -> Sample:
        texts = zip(GOOD_SAMPLE["retrieved_contexts"], labels, strict=True)
        contexts = [{"text": text, "relevant": label} for text, label in texts]
        return Sample.model_validate({**GOOD_SAMPLE, "retrieved_contexts": contexts})

    write_recording(path, [(labeled(True, True), VERDICTS)])
    chunks = RecordedJudge(path).lookup(labeled(None, False)).chunks
    assert [chunk.relevant for chunk in chunks or ()] == [True, False]


def test_line_ends_blank_lines_a_byte_order_mark_and_escapes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    for content in (
        good_line(),  # no newline at the end
        b"\xef\xbb\xbf" + good_line() + b"\r\n\r\n",  # a Windows editor's
        b"\n  \n" + good_line() + b"\n",
        json.dumps(json.loads(good_line()), ensure_ascii=True).encode(),
    ):
        path.write_bytes(content)
        assert RecordedJudge(path).lookup(SAMPLE) == VERDICTS.with_sample(SAMPLE)


def test_a_miss_names_the_sample(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(good_line())
    for question in (GOOD_SAMPLE["user_input"], ""):
        asked = Sample.model_validate(
            {**GOOD_SAMPLE, "user_input": question, "response": "Another."}
        )
        with pytest.raises(SampleNotRecordedError, match="found by their exact texts") as caught:
            RecordedJudge(path).lookup(asked)
        # Without a question the response tells which sample it is.
        assert repr(question or "Another.") in caught.value.expected


def test_the_same_pair_again_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    write_recording(path, [(SAMPLE, VERDICTS), (SAMPLE, VERDICTS)])
    assert len(path.read_text().splitlines()) == 1
    other = Verdicts(response_claims=())
    with pytest.raises(InputError, match="pair 1: expected one set of verdicts"):
        write_recording(path, [(SAMPLE, VERDICTS), (SAMPLE, other)])


def _faulty() -> Iterator[tuple[Sample, Verdicts]]:
    yield SAMPLE, VERDICTS
    raise RuntimeError("the source of the pairs fails")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text("old")
    wrong = Verdicts(response_claims=(), chunks=("one", "two", "three"))
    with pytest.raises(InputError, match="expected 2 chunks"):
        write_recording(path, [(SAMPLE, wrong)])
    for file in (path, tmp_path / "new.jsonl"):
        with pytest.raises(RuntimeError):
            write_recording(file, _faulty())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


INTERRUPTED = """
import sys, time
from noisesense import Sample, Verdicts, write_recording
def pairs():
    for i in range(10_000):
        yield (Sample(response=f"r{i}", reference="g", retrieved_contexts=("c",)),
               Verdicts(response_claims=()))
        if i == 100:
            print("writing", flush=True)
            time.sleep(600)
write_recording(sys.argv[1], pairs())
"""


def test_ctrl_c_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(good_line())
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == b"writing\n"
    # The half-written file is there, beside the old one, while this goes on.
    assert len(list(tmp_path.iterdir())) == 2
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors
    assert path.read_bytes() == good_line()
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_the_usual_and_kept_and_a_link_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    umask = os.umask(0o022)
    try:
        write_recording(link, [])
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o640)
        write_recording(link, [(SAMPLE, VERDICTS)])
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(umask)
    assert link.is_symlink()
    assert len(RecordedJudge(path)) == 1
