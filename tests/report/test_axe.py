"""axe-core, the usual checker of accessibility, on the report's main states: no violation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from noisesense import Result, compare
from noisesense.ablation import ablation, plan
from noisesense_adapters.report import write_report
from support.ablation_world import Mind, run_of
from support.browser import opened
from support.npm import installed, npm_cache
from support.readable_run import readable_run
from support.sizes import by_turns

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.broad

_VIOLATIONS = """async () => {
  const { violations, passes } = await axe.run(document);
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 150)} ${node.failureSummary}`));
  return [passes.length, found];
}"""


@pytest.fixture(scope="module")
def axe(request: pytest.FixtureRequest) -> str:
    modules = installed(Path(__file__).with_name("axe"), npm_cache(request.config))
    return (modules / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A later run, with failures and open verdicts, beside an earlier one, and an ablation."""
    before, after = (
        [*readable_run(60, open_cells=cells), Result("lost", error="JudgeError: no reply")]
        for cells in (0.1, 0.2)
    )
    path = tmp_path_factory.mktemp("compared") / "changes.html"
    rows = plan(run_of([1] * 6))
    for row in rows:
        row["response"] = "right 1. wrong 1 0"
    found = ablation(run_of([1] * 6), rows, Mind())
    return write_report(after, path, baseline=compare(before, after), ablation=found)


# By name: what is shown, and how many of its samples are opened.
STATES = {
    **{"as it opens": ("all", 0), "everything open": ("noise", 3)},
    **{"a failed sample": ("failed", 1), "undetermined samples": ("undetermined", 1)},
}


@pytest.mark.parametrize(
    ("state", "dark"), by_turns({name: name for name in STATES}, {"light": False, "dark": True})
)
def test_axe_finds_no_violation_in_any_state_of_the_page(
    running: Browser, compared: Path, axe: str, state: str, dark: bool
) -> None:
    shown, count = STATES[state]
    # One of them narrow, where other rules of the style hold.
    with opened(running, compared, dark=dark, width=375 if dark else 1200) as seen:
        page = seen.page
        page.get_by_label("Show").select_option(shown)
        for i in range(count):
            page.locator(".opener").nth(i).click()
            page.locator(".detail").nth(i).wait_for()
        if state == "everything open":
            page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        seen.page.evaluate(axe)
        passes, violations = seen.page.evaluate(_VIOLATIONS)
    assert violations == []
    assert passes > 20
