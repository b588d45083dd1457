"""A real headless Chromium that opens a file and notes what it asks for and complains about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--force-color-profile=srgb",
)  # fmt: skip
_PATIENCE = 300_000.0
"""Milliseconds: a busy machine is no failure."""


@dataclass
class Opened:
    """A page and what it did."""

    page: Page
    requests: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])


Show = Callable[..., AbstractContextManager[Opened]]
"""The fixture that opens a report of some results."""


def chromium() -> str | None:
    """The installed browser: ``$CHROMIUM``, or found on the path."""
    named = os.environ.get("CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome")
    return named or next((found for name in names if (found := shutil.which(name))), None)


@contextmanager
def browser(executable: str) -> Generator[Browser, None, None]:
    """A running one, with an empty profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=executable, args=list(_FLAGS), timeout=_PATIENCE
        )
        try:
            yield running
        finally:
            running.close()


@contextmanager
def opened(
    running: Browser,
    file: Path,
    *,
    width: int = 1200,
    height: int = 900,
    dark: bool = False,
    scale: float = 1,
    **options: Any,
) -> Generator[Opened, None, None]:
    """The file in a page of its own."""
    context = running.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        device_scale_factor=scale,
        **options,
    )
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    seen = Opened(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    try:
        page.goto(file.as_uri())
        page.locator("#table:not([aria-busy])").wait_for(state="attached")  # its rows are read
        yield seen
    finally:
        context.close()
