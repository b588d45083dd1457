"""What a terminal obeys is shown, what it cannot encode is spelled, a closed pipe ends the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from noisesense import Result, Sample, Verdicts, score, write_results
from support.command import environment, run
from support.command_here import run_here

# Clears the screen; sets the title; one-byte CSI; turns the direction; a line of its own; DEL.
EVIL = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202eb\nerror: all is well\r\x7f\u2028c"
SEEN = ("\\x1b[2J", "\\x1b]0;owned\\x07", "\\x9b31m", "\\u202e", "\\x7f")
OBEYED = "\x1b\x07\x9b\u202e\r\x7f\u2028"


def verdicts(text: str, correct: bool) -> Verdicts:
    return Verdicts.model_validate(
        {
            "response_claims": [{"text": text, "correct": correct, "entailed_by": [0]}],
            "reference_claims": [{"text": "r", "entailed_by": [0]}],
            "chunks": [{"text": "t", "id": EVIL}],
        }
    )


def line(name: str, correct: bool) -> Result:
    sample = Sample.model_validate(
        {"response": "x", "reference": "y", "retrieved_contexts": [{"text": "t", "id": EVIL}]}
    )
    return Result(name, score(verdicts(EVIL, correct)), sample=sample)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs: hostile ids, claims, chunk ids and file names; one claim changes its kind."""
    a, b = tmp_path / "a\x1b[31m.jsonl", tmp_path / "b\x1b[31m.jsonl"
    write_results(a, [line(EVIL, False)])
    write_results(b, [line(EVIL, True), Result("failed" + EVIL, error=f"no: {EVIL}")])
    return a, b


@pytest.mark.parametrize(
    "command",
    [
        ["score", "{a}"],
        ["score", "{b}"],
        ["score", "{a}", "--out", "{folder}/o\x1b[31m.jsonl"],
        ["score", "{folder}/none\x1b[31m.csv"],
        ["score", "{a}", "--id", "\x1b[31m"],
        ["compare", "{a}", "{b}"],
        ["compare", "{a}", "{b}", "--json"],
        ["offenders", "{a}"],
        ["trust", "--on", "{a}", "--for", "{b}"],
        ["sensitivity", "{b}"],
        ["store", "show", "{folder}/none\x1b[31m"],
        ["demo", "--save", "{folder}/d\x1b[31m.jsonl"],
        ["promptfoo-init", "{folder}/p\x1b[31m"],
    ],
    ids=lambda command: " ".join(command).replace("\x1b", "ESC"),
)
def test_no_command_sends_what_a_terminal_obeys(
    command: list[str],
    files: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (a, b) = files
    (tmp_path / "p\x1b[31m").mkdir()
    arguments = [part.format(a=a, b=b, folder=tmp_path) for part in command]
    done = run_here(capsys, *arguments)
    for text in (done.out, done.err):
        assert not [c for c in OBEYED if c in text]
        # The line that the id tries to forge.
        assert not any(each.startswith("error: all is well") for each in text.splitlines())
    # Neither shows a name or a text.
    silent = command[0] in ("trust", "sensitivity") or "--json" in command
    assert silent or "\\x1b" in done.out + done.err


@pytest.mark.parametrize(
    "command",
    [
        ["EVIL"],
        ["--EVIL"],
        ["score", "--EVIL"],
        ["score", "a.jsonl", "EVIL"],
        ["score", "a.jsonl", "--concurrency", "EVIL"],
        ["score", "a.jsonl", "--store"],
        ["store", "EVIL"],
        ["store", "show", "a", "--EVIL"],
    ],
    ids=" ".join,
)
def test_what_was_typed_wrongly_is_shown_too(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """click repeats it in its errors."""
    done = run_here(capsys, *(part.replace("EVIL", EVIL) for part in command))
    assert (done.status, done.out) == (2, "")
    assert not [c for c in OBEYED if c in done.err]
    assert not any(each.startswith("error: all is well") for each in done.err.splitlines())
    repeated = "--store" not in command
    assert ("\\x1b[2J" in done.err) is repeated


def test_every_control_character_is_shown(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_here(capsys, "offenders", str(files[0]))
    claim = next(each for each in done.out.splitlines() if each.startswith('  "'))
    assert [part for part in SEEN if part not in claim] == []


@pytest.mark.parametrize("encoding", ["cp1252", pytest.param("ascii", marks=pytest.mark.broad)])
def test_an_encoding_without_our_characters(
    encoding: str, files: tuple[Path, Path], tmp_path: Path
) -> None:
    a, b = (tmp_path / name for name in ("plain.jsonl", "other.jsonl"))
    write_results(a, [line("é→漢", False)])
    write_results(b, [line("é→漢", True)])
    done = subprocess.run(
        [sys.executable, "-m", "noisesense_adapters.cli", "compare", str(a), str(b)],
        env={**environment(), "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out = done.stdout.decode(encoding)
    assert "  1 relevant noise -> correct" in out
    shown = {"cp1252": "é", "ascii": "\\xe9"}[encoding]
    assert f"  {shown}->\\u6f22: relevant 1.0000 -> 0.0000" in out


def piped(*arguments: str, stderr: bool = False) -> tuple[int, bytes]:
    """Run with nobody reading stdout (or stderr): the status and what the other one got."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        streams: dict[str, Any] = {"stdout": writer, "stderr": subprocess.PIPE}
        if stderr:
            streams = {"stdout": subprocess.PIPE, "stderr": writer}
        done = subprocess.run(
            [sys.executable, "-m", "noisesense_adapters.cli", *arguments],
            env=environment(),
            check=False,
            **streams,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stdout if stderr else done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
@pytest.mark.parametrize(
    "command",
    [
        *(["score"], ["store", "--help"]),
        *(
            pytest.param(command, marks=pytest.mark.broad)
            for command in (["score", "--json"], ["offenders"], ["schema"])
        ),
    ],
)
def test_a_reader_that_left(command: list[str], files: tuple[Path, Path]) -> None:
    """As `cat` and `grep`: 128 and the number of SIGPIPE, and not a word."""
    data = [str(files[0])] if command[0] in ("score", "offenders") else []
    assert piped(command[0], *data, *command[1:]) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
def test_nobody_reads_the_errors(tmp_path: Path) -> None:
    assert piped("score", str(tmp_path / "none.csv"), stderr=True) == (141, b"")


def test_results_are_written_although_nobody_reads(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    assert piped("score", str(files[0]), "--out", str(out))[0] == 141
    assert json.loads(out.read_text())["relevant"] == 1.0
    assert run("score", out).returncode == 0


class Interrupted:
    """A judge during whose first call the user presses Ctrl-C."""

    name = "interrupted"

    async def judge(self, sample: Sample) -> Verdicts:
        raise KeyboardInterrupt


def test_ctrl_c_before_a_sample_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "noisesense_adapters.datasets.model.model_judge", lambda *_, **__: Interrupted()
    )
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    row = {"response": "r", "reference": "f", "retrieved_contexts": ["c"]}
    data.write_text(json.dumps(row) + "\n")
    command = ["score", str(data), "--judge", "openai:m"]
    for more, said in ((["--out", str(out)], "0 samples are done"), ([], "nothing is kept")):
        done = run_here(capsys, *command, *more)
        assert (done.status, said in done.err) == (130, True)
        assert list(tmp_path.iterdir()) == [data]
