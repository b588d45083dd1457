"""Writes the README's picture: ``python tests/report/make_picture.py``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from noisesense_adapters.demo.catch import run_catch  # noqa: E402
from noisesense_adapters.report import write_report  # noqa: E402
from support.browser import browser, chromium, opened  # noqa: E402 - found on the line above


def main() -> None:
    executable = chromium()
    if executable is None:
        sys.exit("no Chromium: apt-get install chromium, or name one in $CHROMIUM")
    with tempfile.TemporaryDirectory() as folder, browser(executable) as running:
        found = run_catch()
        report = write_report(
            found.stale, Path(folder, "report.html"), title="A library", ablation=found.ablation
        )
        with opened(running, report) as seen:
            seen.page.set_viewport_size({"width": 1100, "height": 550})
            seen.page.screenshot(path=ROOT / ".github" / "report.png")


if __name__ == "__main__":
    main()
