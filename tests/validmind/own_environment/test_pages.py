"""The snippets of ValidMind's page run here, alone, in the environment that the page describes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.pages import Block, blocks_of, page_named, run_snippet

BLOCKS = [block for block in blocks_of(page_named("validmind")) if block.language == "python"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_python_snippet(block: Block, tmp_path: Path) -> None:
    assert run_snippet(block, tmp_path, dict(os.environ)) == block.output
