"""The report in a real browser."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from noisesense import Result, Sample, Verdicts, score
from noisesense_adapters.report import write_report
from support.browser import opened
from support.hostile_run import ATTACKS, hostile_run
from support.readable_run import readable_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def _open(page: Page, name: str) -> None:
    page.get_by_label("Find").fill(name)
    page.locator("#status").filter(has_text="1 to 1 of 1").wait_for()
    page.locator(".opener").click()
    page.locator(".opener[aria-expanded=true]").wait_for()  # its details are unpacked first


def test_every_part_is_there_and_nothing_is_fetched(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        page = seen.page
        heads = page.locator("h2").all_inner_texts()
        assert [head.lstrip("▲ ") for head in heads] == [
            "Before you rely on these figures",
            "Both modes",
            "Where the claims come from",
            "How the samples are distributed",
            "Documents that mislead",
            "Samples",
            "How to read this",
        ]
        plots = page.get_by_role("img").all()
        words = [plot.get_attribute("aria-label") or "" for plot in plots]
        assert [each.split()[0] for each in words] == [
            "Stacked",
            "Histogram,",
            "Histogram,",
            "Box",
        ]
        for plot in plots:
            box = plot.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) > 30
        assert page.locator("#table tbody tr").count() == 25
        assert seen.requests == [report.as_uri()]
        assert not seen.complaints


def test_of_equal_values_the_sample_with_more_noise_comes_first(
    running: Browser, tmp_path: Path
) -> None:
    """None is misled by a relevant chunk; the second by an irrelevant one."""
    tables = {
        "clean": Verdicts.from_matrices([True], [[True, False]], [[True, False]]),
        "misled": Verdicts.from_matrices([False], [[False, True]], [[True, False]]),
    }
    results = [Result(name, score(table)) for name, table in tables.items()]
    with opened(running, write_report(results, tmp_path / "r.html")) as seen:
        assert seen.page.locator(".opener").all_inner_texts() == ["misled", "clean"]


def test_an_undetermined_sample_shows_its_range(running: Browser, tmp_path: Path) -> None:
    """In its place by the lowest value it can have, and found by the filter."""
    tables = {
        "noisy": Verdicts.from_matrices([False, True], [[True]] * 2, [[True]]),
        "open": Verdicts.from_matrices([False, None], [[True]] * 2, [[True]]),
        "clean": Verdicts.from_matrices([True, True], [[True]] * 2, [[True]]),
        "empty": Verdicts.from_matrices([], [], [[True]]),
    }
    results = [Result(name, score(table)) for name, table in tables.items()]
    with opened(running, write_report(results, tmp_path / "r.html")) as seen:
        page = seen.page
        assert page.locator(".opener").all_inner_texts() == ["noisy", "open", "clean", "empty"]
        cells = page.locator("#table tbody tr td:nth-child(2)").all_inner_texts()
        assert [cell.split("\n") for cell in cells] == [
            ["0.50"],
            ["0.50 to 1.00", "undetermined"],
            ["0.00"],
            ["undefined"],
        ]
        for show, names in (("undetermined", ["open"]), ("failed", ["empty"])):
            page.get_by_label("Show").select_option(show)
            assert page.locator(".opener").all_inner_texts() == names
        assert not seen.complaints


def test_a_sample_opens_to_its_claims(running: Browser, report: Path) -> None:
    """The Mona Lisa example: one claim of two is wrong, and the only chunk entails it."""
    with opened(running, report) as seen:
        page = seen.page
        _open(page, "mona-lisa")
        assert page.locator(".opener").get_attribute("aria-expanded") == "true"
        rows = page.locator(".matrix tbody:not(.references) tr")
        assert rows.count() == 2
        wrong = rows.nth(1)
        assert "It was painted in the 15th century" in wrong.inner_text()
        assert (
            "Claim 1 is not supported by the reference and comes from relevant chunk 0."
            in wrong.inner_text()
        )
        cells = wrong.locator("td").all_inner_texts()
        assert [cell.split("\n")[0][0] for cell in cells] == ["✗", "✗"]
        assert "entails this claim, which the reference does not, relevant" in cells[1]
        right = rows.nth(0).locator("td").all_inner_texts()
        assert [cell[0] for cell in right] == ["✓", "✓"]
        assert "0, relevant" in page.locator(".matrix th.chunk").nth(1).text_content().replace(
            "rel.", ""
        )
        assert "famous portrait" in page.locator(".text p").inner_text()
        page.locator(".opener").click()
        assert page.locator(".detail").count() == 0
        assert not seen.complaints


def test_the_table_sorts_filters_and_turns_pages(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        page = seen.page

        def column(i: int) -> list[str]:
            return [
                text.split("\n")[0]
                for text in page.locator(f"#table tbody tr td:nth-child({i})").all_inner_texts()
            ]

        def status() -> str:
            return page.locator("#status").inner_text()

        assert status() == "1 to 25 of 66"
        # A range sorts by its low end.
        values = [float(text.split(" ")[0]) for text in column(2) if text[0].isdigit()]
        assert values == sorted(values, reverse=True)
        page.get_by_role("button", name="Irrelevant", exact=True).click()
        assert page.locator("[aria-sort]").inner_text().startswith("Irrelevant")
        values = [float(text) for text in column(3) if text[0].isdigit()]
        assert values == sorted(values, reverse=True)
        page.get_by_role("button", name="Sample", exact=True).click()
        assert page.locator(".question").first.inner_text() == "bridge-0000"
        page.get_by_role("button", name="Next").click()
        page.get_by_role("button", name="Next").click()
        assert status() == "51 to 66 of 66"
        assert page.get_by_role("button", name="Next").is_disabled()
        page.get_by_label("Show").select_option("failed")
        failed = [r for r in readable_run(60) if r.score is None]
        assert status() == (f"1 to {len(failed)} of {len(failed)}" if failed else "none")
        page.get_by_label("Show").select_option("hallucination")
        wanted = [r for r in readable_run(60) if r.score and r.score.partition.hallucination]
        assert status().endswith(f"of {len(wanted)}")
        page.get_by_label("Show").select_option("all")
        page.get_by_label("Find").fill("no such words anywhere")
        page.get_by_text("No sample matches.").wait_for()


def test_an_offender_opens_to_its_claims_and_their_samples(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        page = seen.page
        first = page.locator(".documents details").first
        first.locator("summary").click()
        button = first.locator("button").first
        name = button.get_attribute("data-sample")
        button.click()
        page.locator(".opened").wait_for()
        assert page.locator(".opened").count() == 1
        focused = page.evaluate("document.activeElement.closest('th').textContent")
        assert name in focused
        assert not seen.complaints


def test_hostile_text_stays_text(running: Browser, tmp_path: Path) -> None:
    file = write_report(hostile_run(), tmp_path / "a&lt;<b>.html", title=ATTACKS[0])
    with opened(running, file) as seen:
        page = seen.page
        for i, attack in enumerate(ATTACKS):
            page.locator(".opener").nth(i).click()
            shown = attack.replace("\x00", "")
            claim = page.locator(".matrix .claim").nth(2 * i).text_content() or ""
            assert claim.replace("\x00", "") == f"{shown} claim"
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        page.get_by_role("button", name="failed").click()
        assert page.locator(".error").inner_text() == f"Failed: {ATTACKS[0]} error"
        assert page.title() == ATTACKS[0]
        assert page.evaluate("window.owned") is None
        assert page.locator("img, svg:not(.plot), script[src]").count() == 0
        assert seen.requests == [file.as_uri()]
        assert not seen.complaints


def test_the_policy_stops_a_script_that_got_in(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
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


@pytest.mark.parametrize("width", [320, 375, 768, 1600])
def test_no_width_makes_the_page_scroll_sideways(
    running: Browser, report: Path, width: int
) -> None:
    with opened(running, report, width=width, height=700) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        for i in range(3):
            page.locator(".opener").nth(i).click()
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0


def test_long_words_do_not_widen_the_page(running: Browser, tmp_path: Path) -> None:
    word = "x" * 400
    chunks = [{"text": word, "id": f"{word}/{j}"} for j in range(30)]
    sample = Sample.model_validate(
        {"user_input": word, "response": word, "reference": word, "retrieved_contexts": chunks}
    )
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": word, "correct": False, "entailed_by": list(range(30))}],
            "reference_claims": [{"text": word, "entailed_by": [0]}],
        }
    ).beside(sample)
    results = [Result(word, score(verdicts), sample=sample)]
    file = write_report(results, tmp_path / "a.html", title=word)
    with opened(running, file, width=360, height=700) as seen:
        page = seen.page
        page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        page.locator(".opener").click()
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert over <= 0


def _wide() -> Result:
    """Twenty chunks, and every kind of cell there is."""
    cells = [
        {"text": "one", "correct": False, "entailed_by": [0, 19]},
        {"text": "two", "correct": True, "entailed_by": [3], "undetermined": [4]},
        {"text": "three", "correct": None, "entailed_by": [5]},
    ]
    verdicts = Verdicts.model_validate(
        {
            "response_claims": cells,
            "reference_claims": [{"text": "fact", "entailed_by": [0]}],
            "chunks": [{"text": f"chunk {j}"} for j in range(20)],
        }
    )
    return Result("wide", score(verdicts))


def test_many_chunks_on_a_phone(running: Browser, tmp_path: Path) -> None:
    path = write_report([_wide()], tmp_path / "r.html")
    with opened(running, path, width=390) as seen:
        page = seen.page
        page.locator(".opener").click()
        # What is scrolled to keeps its claim beside it.
        last = page.locator(".matrix tbody tr").first.locator("td").last
        last.scroll_into_view_if_needed()
        claim = page.locator(".matrix tbody th").first.bounding_box()
        cell = last.bounding_box()
        assert claim is not None
        assert cell is not None
        assert 0 <= claim["x"] < claim["x"] + claim["width"] <= cell["x"] < 390

        def kinds(selector: str) -> set[str]:
            found = page.locator(selector).evaluate_all(
                "cells => cells.map(cell => cell.className + cell.innerText.trim()[0])"
            )
            return set(found)

        in_table = kinds(".matrix tbody:not(.references) td")
        assert len(in_table) == 7
        assert kinds(".legend .v") == in_table


def _long_run(count: int) -> list[Result]:
    """15 chunks of 700 characters out of 3,000, 10 claims a sample."""
    rng = random.Random(1)
    corpus = [f"Passage {i}. " + "Some words of the archive. " * 26 for i in range(3000)]
    found: list[Result] = []
    for i in range(count):
        verdicts = Verdicts.from_matrices(
            [rng.random() < 0.7 for _ in range(10)],
            [[rng.random() < 0.1 for _ in range(15)] for _ in range(10)],
            [[rng.random() < 0.2 for _ in range(15)] for _ in range(8)],
            response_claims=[
                f"The archive claims fact {i}.{k} of its subject." for k in range(10)
            ],
            reference_claims=[
                f"The archive states fact {i}.{k} of its subject." for k in range(8)
            ],
            chunks=rng.sample(corpus, 15),
        )
        found.append(Result(f"sample-{i}", score(verdicts)))
    return found


@pytest.mark.broad
def test_five_thousand_samples(running: Browser, tmp_path: Path) -> None:
    """Prints how large the file is and how long it takes (``pytest -s``)."""
    results = _long_run(5000)
    start = time.perf_counter()
    file = write_report(results, tmp_path / "a.html")
    written = time.perf_counter()
    with opened(running, file) as seen:
        shown = time.perf_counter()
        page = seen.page
        inside = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        clicks = page.evaluate(
            """() => { const time = (act) => { const t = performance.now(); act();
                document.body.offsetHeight; return performance.now() - t; };
              return [time(() => document.querySelector(".opener").click()),
                time(() => document.querySelectorAll(".opener")[1].click()),
                time(() => document.querySelector("[data-sort=irrelevant] button").click())]; }"""
        )
        assert page.locator("#status").inner_text() == "1 to 25 of 5,000"
        assert page.locator(".matrix").count() >= 0
        _open(page, "fact 4321.7 ")
        assert page.locator(".opener").inner_text() == "sample-4321"
        assert page.locator(".matrix tbody:not(.references) tr").count() == 10
        assert not seen.complaints
    print(
        f"\n5,000 samples: {file.stat().st_size / 1e6:.1f} MB, written in {written - start:.1f} s, "
        f"loaded in {inside:.0f} ms (seen from outside {1000 * (shown - written):.0f} ms), "
        f"first sample opened in {clicks[0]:.0f} ms, second in {clicks[1]:.0f} ms, "
        f"sorted in {clicks[2]:.0f} ms"
    )


def test_print_has_all_that_is_selected(running: Browser, report: Path) -> None:
    with opened(running, report) as seen:
        rows = seen.page.locator("#table tbody tr")
        assert rows.count() == 25
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert rows.count() == 66
        assert seen.page.locator("#status").text_content() == "1 to 66 of 66"
        seen.page.emulate_media(media="print")
        assert seen.page.locator("#status").is_visible()
        assert not seen.page.locator("#next").is_visible()
        seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert rows.count() == 25


def test_paper_keeps_colors_that_say_something_and_cards_whole(
    running: Browser, report: Path
) -> None:
    """Browsers print no backgrounds: on paper both marks of an incorrect claim were the same."""
    with opened(running, report) as seen:
        page = seen.page
        _open(page, "mona-lisa")
        page.locator(".legend").wait_for()

        def style(name: str, *places: str) -> set[str]:
            script = "(found, name) => found.map((each) => getComputedStyle(each)[name])"
            found = [page.locator(place).evaluate_all(script, name) for place in places]
            assert all(found)
            return set().union(*found)

        colored = (".swatch", "#table .share", "#table .mark", "#table .v")
        whole = (
            ".card",
            ".plots figure",
            ".documents summary",
            "#table > tbody > tr:not(.opened)",
        )
        assert style("printColorAdjust", *colored) == {"economy"}
        page.emulate_media(media="print")
        assert style("printColorAdjust", *colored) == {"exact"}
        assert style("breakInside", *whole, ".matrix tr") == {"avoid"}
        assert style("breakAfter", "h2") == {"avoid"}


def test_quotations_in_reasons_keep_their_direction(running: Browser, tmp_path: Path) -> None:
    claim = "הגשר נבנה בשנת 1900"
    verdicts = Verdicts.from_matrices([False], [[True]], [[True]], response_claims=[claim])
    with opened(
        running, write_report([Result("a", score(verdicts))], tmp_path / "r.html")
    ) as seen:
        seen.page.locator(".opener").click()
        reason = seen.page.locator(".reason").first
        assert reason.get_attribute("dir") == "ltr"
        assert reason.locator("bdi").all_text_contents() == [f'"{claim}"']
