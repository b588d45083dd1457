"""What goes to a terminal or a pipe: nothing that is obeyed, nothing that cannot be encoded; and
an end without a word where nobody reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noisesense import (
    Result,
    Sample,
    Verdicts,
    read_results,
    score,
    write_results,
)
from noisesense_adapters.cli.output import show_table
from noisesense_adapters.evaluate.tables import Table
from support.command import environment
from support.command_here import assert_fits, run_here

Capsys = pytest.CaptureFixture[str]
COMMAND = [sys.executable, "-m", "noisesense"]

# Clears the screen; sets the title; one-byte CSI; turns the direction; a line of its own; DEL.
EVIL = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202eb\nerror: all is well\r\x7f\u2028c"
OBEYED = "\x1b\x07\x9b\u202e\r\x7f\u2028"


def line(name: str, correct: bool) -> Result:
    """One claim from one chunk, all called like the result."""
    chunk = {"text": "t", "id": name}
    texts = {"response": "x", "reference": "y", "retrieved_contexts": [chunk]}
    known = {
        "response_claims": [{"text": name, "correct": correct, "entailed_by": [0]}],
        "reference_claims": [{"text": "r", "entailed_by": [0]}],
        "chunks": [chunk],
    }
    scored = score(Verdicts.model_validate(known))
    return Result(name, scored, sample=Sample.model_validate(texts))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs: hostile ids, claims, chunk ids and file names; one claim changes its kind."""
    a = tmp_path / "a\x1b[31m.jsonl"
    b = tmp_path / "b\x1b[31m.jsonl"
    write_results(a, [line(EVIL, False)])
    write_results(b, [line(EVIL, True), Result("failed" + EVIL, error=f"no: {EVIL}")])
    return a, b


@pytest.mark.parametrize(
    "command",
    [
        *("score {a}", "score {b}", "score {a} --out {folder}/o\x1b[31m.jsonl"),
        *("score {folder}/none\x1b[31m.csv", "score {a} --map \x1b[31m"),
        *("compare {a} {b}", "compare {a} {b} --json", "offenders {a}"),
        *("trust --on {a} --for {b}", "gate {folder}/none\x1b[31m --expect 1"),
        *("demo {folder}/d\x1b[31m", "promptfoo-init {folder}/p\x1b[31m"),
        # What was typed wrongly: click repeats it in its errors.
        *("{evil}", "--{evil}", "score --{evil}", "score a.jsonl {evil}", "trust {evil}"),
        *("score a.jsonl --concurrency {evil}", "ablation plan a --{evil}"),
    ],
    ids=lambda command: command.replace("\x1b", "ESC"),
)
def test_no_command_sends_what_a_terminal_obeys(
    command: str, files: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    (tmp_path / "p\x1b[31m").mkdir()
    given = {"a": files[0], "b": files[1], "folder": tmp_path, "evil": EVIL}
    done = run_here(capsys, *(part.format_map(given) for part in command.split(" ")))
    assert done.status == 2 or "{evil}" not in command
    shown = done.out + done.err
    assert not {*OBEYED} & {*shown}
    # The line that the id tries to forge.
    assert "\nerror: all is well" not in f"\n{done.out}\n{done.err}"
    # These show neither a name nor a text.
    silent = command.startswith(("trust", "compare"))
    assert silent or "\\x1b" in shown


FITTING = [
    "demo",
    "score demo/stale.jsonl --fail-above 0.1",
    "compare demo/mended.jsonl demo/stale.jsonl --fail-if-worse",
    "offenders demo/stale.jsonl",
    "trust --on demo/stale.jsonl --for demo/mended.jsonl",
]


def test_no_line_is_wider_than_the_terminal_or_than_a_hundred_columns(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for columns, widest in (("80", 80), ("200", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        for command in FITTING:
            assert_fits(run_here(capsys, *command.split()), widest)


def test_a_table_that_is_too_wide_stands_in_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """13 characters of the name, a gap of 2 and 18 of an interval are 33; 80 columns hold three.

    13 + 3 * (2 + 18) is 73, with a fourth it is 93.
    """
    interval = "-0.0855 to -0.0612"
    titles = ("", "a", "b", "c", "d")
    table = Table(titles, [("without-other", *[interval] * 4)], "caption")
    for width, parts in (("33", 4), ("80", 2)):
        monkeypatch.setenv("COLUMNS", width)
        show_table(table)
        _, *lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2 * parts
        assert sum(line.count(interval) for line in lines) == 4
        assert all(line.startswith("without-other") for line in lines[1::2])
        assert max(map(len, lines)) <= int(width)


def test_what_an_encoding_lacks_is_written_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_results(path, [line("é漢", False)])
    env = {**environment(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, "offenders", path], env=env, capture_output=True, check=True)
    assert '  "\\xe9\\u6f22" (\\xe9\\u6f22)' in done.stdout.decode("ascii")


@pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
@pytest.mark.parametrize(
    "command", ["score {a} --out {out}", "trust --help", "ablation plan --help", "score none.csv"]
)
def test_a_reader_that_left_ends_a_command_with_141_and_no_word(
    command: str, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """As `cat` and `grep`: 128 and the number of SIGPIPE, and not a word; files are written."""
    reader, writer = os.pipe()
    os.close(reader)
    out = tmp_path / "out.jsonl"
    arguments = [part.format(a=files[0], out=out) for part in command.split(" ")]
    unread, other = ("stderr", "stdout") if "none.csv" in command else ("stdout", "stderr")
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environment(), **{unread: writer, other: subprocess.PIPE}
    )
    os.close(writer)
    assert (*process.communicate(), process.returncode) in ((None, b"", 141), (b"", None, 141))
    if str(out) in arguments:
        assert [result.score.relevant for result in read_results(out) if result.score] == [1.0]
