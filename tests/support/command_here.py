"""The command line in this process: quicker than a process of its own, and seen as in a pipe."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from noisesense_adapters.cli import main


class Done(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


def assert_error(done: Done, named: Iterable[str], status: int = 2) -> None:
    """It ended with one line on stderr, in which all of these stand, and printed nothing else."""
    assert done.status == status, done.err
    assert done.out == "", done.err
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("error: ")
    assert [part for part in named if part not in done.err] == []


def assert_fits(done: Done, width: int) -> None:
    """No line is wider; and something was printed."""
    lines = [*done.out.splitlines(), *done.err.splitlines()]
    assert lines
    assert [line for line in lines if len(line) > width] == []


def run_here(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Done:
    """Run ``noisesense`` with these arguments."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["noisesense", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    code = ended.value.code
    return Done(code if isinstance(code, int) else 0, out, err)
