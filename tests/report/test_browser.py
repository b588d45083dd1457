"""The report in a real browser: for the eye, for the keyboard, on a phone and on paper."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisesense import Result, Verdicts, score
from support.browser import Show
from support.hostile_run import ATTACKS, hostile_run

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _open(page: Page, name: str) -> None:
    page.get_by_label("Find").fill(name)
    page.locator("#status").filter(has_text="1 to 1 of 1").wait_for()
    page.locator(".opener").click()
    page.locator(".detail").wait_for()  # it is unpacked first


def _open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")


def test_the_table_is_saved_as_csv_and_no_cell_is_a_formula(show: Show) -> None:
    claim = {"text": "c", "correct": False, "entailed_by": [0]}
    read = Verdicts.model_validate
    noisy = score(read({"response_claims": [claim], "chunks": [{"text": "t", "relevant": True}]}))
    with show([Result('=1+"1"', noisy), Result("plain", error="failed")]) as seen:
        with seen.page.expect_download() as download:
            seen.page.get_by_role("button", name="Save as CSV").click()
        with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
    assert head[:4] == ["id", "question", "relevant_low", "relevant_high"]
    assert head[6:8] == ["claims", "not_supported"]
    assert [row[:8] for row in rows] == [
        ['\'=1+"1"', "", "1", "1", "0", "0", "1", "1"],
        ["plain", "", "", "", "", "", "", ""],
    ]


def test_a_sample_opens_to_its_claims(show: Show) -> None:
    """The Mona Lisa example: one claim of two is wrong, and the only chunk entails it."""
    with show() as seen:
        page = seen.page
        _open(page, "mona-lisa")
        assert page.locator(".opener").get_attribute("aria-expanded") == "true"
        right, wrong = page.locator(".matrix tbody:not(.references) tr").all()
        assert "It was painted in the 15th century" in wrong.inner_text()
        sentence = "Claim 1 is not supported by the reference and comes from relevant chunk 0."
        assert sentence in wrong.inner_text()
        cells = wrong.locator("td").all_inner_texts()
        assert [cell[0] for cell in cells] == ["✗", "✗"]
        assert "entails this claim, which the reference does not, relevant" in cells[1]
        assert [cell[0] for cell in right.locator("td").all_inner_texts()] == ["✓", "✓"]
        assert "famous portrait" in page.locator(".text p").inner_text()
        page.locator(".opener").click()
        assert page.locator(".detail").count() == 0
        assert not seen.complaints


def values_in(page: Any, column: int) -> list[float]:
    cells = page.locator(f"#table tbody tr td:nth-child({column})").all_inner_texts()
    return [float(text.split()[0]) for text in cells if text[0].isdigit()]


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_the_table_sorts_and_turns_pages(show: Show) -> None:
    with show() as seen:
        page = seen.page
        assert page.locator("#status").inner_text() == "1 to 25 of 66"
        press(page, "Relevant")
        relevant = values_in(page, 2)
        assert relevant[0] > 0
        assert relevant == sorted(relevant, reverse=True)
        press(page, "Irrelevant")
        assert page.locator("[aria-sort]").inner_text().startswith("Irrelevant")
        irrelevant = values_in(page, 3)
        assert irrelevant == sorted(irrelevant, reverse=True)
        press(page, "Sample")
        assert page.locator(".question").first.inner_text() == "bridge-0000"
        press(page, "Next")
        press(page, "Next")
        assert page.locator("#status").inner_text() == "51 to 66 of 66"
        assert page.get_by_role("button", name="Next").is_disabled()


def test_hostile_text_stays_text(show: Show) -> None:
    with show(hostile_run(), title=ATTACKS[0]) as seen:
        page = seen.page
        for i, attack in enumerate(ATTACKS):
            page.locator(".opener").nth(i).click()
            claim = page.locator(".matrix .claim").nth(2 * i).text_content() or ""
            assert claim.replace("\x00", "") == f"{attack} claim".replace("\x00", "")
        _open_all(page)
        page.get_by_role("button", name="failed").click()
        assert page.locator(".error").inner_text() == f"Failed: {ATTACKS[0]} error"
        assert page.title() == ATTACKS[0]
        assert page.evaluate("window.owned") is None
        assert page.locator("img, svg:not(.plot), script[src]").count() == 0
        assert seen.requests == [page.url]
        assert not seen.complaints


def test_the_policy_stops_a_script_that_got_in(show: Show) -> None:
    with show() as seen:
        seen.page.evaluate(
            """() => { const s = document.createElement("script");
            s.textContent = "window.owned = 1"; document.body.append(s); new Image().src = "https://127.0.0.1:9/x"; }"""
        )
        # Both are told of later, each in a message of its own.
        while len(seen.complaints) < 2:
            seen.page.wait_for_event("console")
        assert seen.page.evaluate("window.owned") is None
        assert len(seen.complaints) == 2
        assert all("Content Security Policy" in each for each in seen.complaints)
