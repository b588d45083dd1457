"""What the hosts' own metrics can do, ours can, or the row says why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.broad

COMMAND = Path(__file__).with_name("host_apis.py")


def test_no_row_is_lost_without_a_reason(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(COMMAND)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "theirs works and ours does not, without a reason: 0" in done.stdout
    assert "| ragas | RunConfig(max_workers=1) | works | works |" in done.stdout
