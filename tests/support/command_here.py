"""The command line in this process: quicker than a process of its own, and seen as in a pipe."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from noisesense_adapters.cli import main

__all__ = ["Done", "run_here"]


class Done(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str


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
