"""ValidMind's page runs here, in the environment that the page describes."""

from __future__ import annotations

import os
from pathlib import Path

from support.pages import check_page, page_named


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    check_page(page_named("validmind"), tmp_path, dict(os.environ))
