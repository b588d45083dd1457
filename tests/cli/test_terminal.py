"""In a terminal: colors unless NO_COLOR is set, and a table that fits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import environment

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
GREEN = "\x1b[1;32mall 25 comparisons agree"


def in_terminal(tmp_path: Path, *arguments: str, **env: str) -> str:
    """What a command writes to a terminal, stdout and stderr together."""
    leader, follower = os.openpty()
    hosts = "ragas,deepeval,langsmith,langfuse,pydantic_evals,mlflow"
    hidden = {"TEST_HIDDEN_PACKAGES": hosts, "PATH": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "noisesense_adapters.cli", *arguments],
        env={**environment(), "TERM": "xterm-256color", **hidden, **env},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    written = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux' way to say that the other end is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(leader)
    assert process.wait() == 0, written
    return written.decode().replace("\r\n", "\n")


def rows(written: str) -> list[str]:
    shown = ESCAPE.sub("", written)
    return shown[shown.index("definition ragas") : shown.index("\n\nLower is better")].split("\n")


def test_colors_and_a_table_at_a_glance(tmp_path: Path) -> None:
    written = in_terminal(tmp_path, "demo", COLUMNS="120")
    assert GREEN in written
    assert len(rows(written)) == 2 + 16


def test_no_color(tmp_path: Path) -> None:
    written = in_terminal(tmp_path, "demo", COLUMNS="120", NO_COLOR="1")
    assert "all 25 comparisons agree" in written
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", written)
