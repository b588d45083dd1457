"""The README's snippet is run here, after the one that records the verdicts it uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.readme import BLOCKS, Block


def test_the_snippet_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (position,) = [i for i, block in enumerate(BLOCKS) if block.title == "noise_in_validmind.py"]
    snippet, output = BLOCKS[position], BLOCKS[position + 1]
    first = next(block for block in BLOCKS if block.language == "python")
    marker = "=== next snippet ==="
    program = f"{first.text}\nprint({marker!r})\n{snippet.text}"
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert output == Block("text", None, done.stdout.split(f"{marker}\n")[1])
