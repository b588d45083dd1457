"""The browser of these tests, and the reports they open."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from noisesense import Result
from support.browser import Opened, Show, browser, chromium, opened
from support.readable_run import readable_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# Of a module, not of the session: while the driver runs, no other test may call asyncio.run.
@pytest.fixture(scope="module")
def running() -> Generator[Browser, None, None]:
    """Chromium. On a developer's machine without one these tests are skipped, in CI they fail."""
    executable = chromium()
    if executable is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("no Chromium: apt-get install chromium, or name one in $CHROMIUM")
    with browser(executable) as found:
        yield found


@pytest.fixture
def show(running: Browser, tmp_path: Path) -> Show:
    """Opens a report of the reference examples and 60 readable samples, or of other results."""
    from noisesense_adapters.report import write_report

    def shown(
        results: Iterable[Result] | None = None, title: str | None = None, **options: Any
    ) -> AbstractContextManager[Opened]:
        results = readable_run(60) if results is None else results
        return opened(running, write_report(results, tmp_path / "r.html", title=title), **options)

    return shown
