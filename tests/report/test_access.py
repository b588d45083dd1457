"""The report for people who read with a screen reader, a keyboard, or weak eyes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_OPEN_ALL = """() => {
  document.querySelectorAll("details").forEach((d) => (d.open = true));
  [...document.querySelectorAll(".opener")].slice(0, 6).forEach((b) => b.click());
}"""

_FAULTS = """() => {
  const faults = [];
  const say = (node, what) => faults.push(`${what}: ${node.outerHTML.slice(0, 120)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`id twice: ${id}`);
  for (const node of document.querySelectorAll("[aria-labelledby], [aria-controls]")) {
    for (const name of ["aria-labelledby", "aria-controls"]) {
      const id = node.getAttribute(name);
      if (id && !document.getElementById(id)) say(node, `${name} of nothing`);
    }
  }
  for (const node of document.querySelectorAll("button, summary, a")) {
    if (!node.textContent.trim() && !node.getAttribute("aria-label")) say(node, "without a name");
  }
  for (const node of document.querySelectorAll("input, select")) if (!node.labels.length) say(node, "without a label");
  for (const node of document.querySelectorAll("table")) if (!node.caption?.textContent.trim()) say(node, "without a caption");
  for (const node of document.querySelectorAll("th")) if (!node.scope) say(node, "without a scope");
  for (const node of document.querySelectorAll("svg")) if (!node.getAttribute("aria-label")) say(node, "without words");
  let level = 0;
  for (const node of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(node.tagName[1]);
    if (own > level + 1) say(node, `heading after h${level}`);
    level = own;
  }
  if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
  return faults;
}"""

# WCAG 2.1: relative luminance and contrast ratio of every text with what is painted behind it.
_PALE = """() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { for (; node; node = node.parentElement) { const c = parse(getComputedStyle(node).backgroundColor); if (c[3] > 0.99) return c; } return [255, 255, 255]; };
  const pale = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || node.closest("script, style, noscript, option, .hide")) continue;
    if (node.disabled || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    if (style.visibility === "hidden") continue;
    const ink = parse(node.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    seen += 1;
    if (ratio < 4.5) pale.add(`${ratio.toFixed(2)} ${node.tagName}.${node.className.baseVal ?? node.className} ${walker.currentNode.textContent.trim().slice(0, 30)}`);
  }
  return [seen, [...pale]];
}"""


def _everything(page: Page) -> None:
    page.evaluate(_OPEN_ALL)
    _wait_for_details(page, 6)
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")


def _wait_for_details(page: Page, count: int) -> None:
    """The page unpacks them when they are opened."""
    from playwright.sync_api import expect

    expect(page.locator(".detail")).to_have_count(count)


def test_names_labels_captions_and_headings(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        _everything(seen.page)
        assert seen.page.evaluate(_FAULTS) == []


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(running: Browser, report: Path, dark: bool) -> None:
    with opened(running, report, dark=dark) as seen:
        _everything(seen.page)
        count, pale = seen.page.evaluate(_PALE)
        assert count > 500
        assert pale == []


def test_dark_is_dark(running: Browser, report: Path) -> None:
    def colors(dark: bool) -> list[str]:
        with opened(running, report, dark=dark) as seen:
            names = ["body", ".card", ".plot text", ".plot path[fill^=var]"]
            script = """(names) => names.map((name) => { const s = getComputedStyle(document.querySelector(name));
              return name.startsWith(".plot") ? s.fill : s.backgroundColor; })"""
            return seen.page.evaluate(script, names)

    light, night = colors(False), colors(True)
    assert all(a != b for a, b in zip(light, night, strict=True))


def test_the_keyboard_reaches_a_samples_claims(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        page = seen.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.locator("#find").focus()
        for _ in range(6):  # the filter, four column heads, the first row
            page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "opener"
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"
        page.keyboard.press("Enter")
        _wait_for_details(page, 1)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "scroll"


def test_it_is_read_without_scripts(running: Browser, report: Path) -> None:
    with opened(running, report, java_script_enabled=False) as seen:
        page = seen.page
        assert "claims are not supported" in page.locator("h1").inner_text()
        assert page.get_by_role("img").count() == 4
        assert page.get_by_text("scripts are turned off").is_visible()
