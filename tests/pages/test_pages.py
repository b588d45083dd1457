"""Every page runs from its top to its bottom, and prints what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisesense.fixtures import reference_examples
from noisesense_adapters.reading.places import FILES
from support.npm import npm_cache
from support.pages import (
    PAGES,
    ROOT,
    blocks_of,
    check_page,
    has_snippets,
    model_environment,
    page_named,
)
from support.promptfoo_cli import LATEST, evaluate, install

OWN_ENVIRONMENT = ("validmind",)  # its page's snippets run there, see tests/validmind
RUN = [page for page in PAGES if page.parent.name not in OWN_ENVIRONMENT and has_snippets(page)]


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    with model_environment() as environment:
        yield environment


@pytest.mark.broad
@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, env: dict[str, str]) -> None:
    """With all extras: `run_each_alone.py` does it with those that the page installs."""
    check_page(page, tmp_path, env)


def test_each_tools_columns_on_the_page_are_those_that_are_read() -> None:
    page = page_named("cli").read_text("utf-8")
    table = page.split("| | response | reference | retrieved_contexts | user_input |\n")[1]
    read = [
        f"| {tool} | {' | '.join(f'`{n}`' for n in names.split())} |"
        for tool, names in FILES.items()
    ]
    rows = table.split("\n\n")[0].splitlines()[1:]
    assert len(rows) > 5
    for row in rows:
        assert row in read, f"{row} is not what is read"


@pytest.mark.broad
def test_promptfoos_page_alone_makes_a_test_that_passes(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In a new folder, with nothing but what the page prints: its test passes."""
    titled = {b.title: b.text for b in blocks_of(page_named("promptfoo")) if b.title}
    for title in ("noise_sensitivity.py", "promptfooconfig.yaml"):
        (tmp_path / title).write_text(titled[title], "utf-8")
    evaluate(install(LATEST, npm_cache(request.config)), tmp_path)
    [result] = json.loads((tmp_path / "out.json").read_text("utf-8"))["results"]["results"]
    assert result["gradingResult"]["pass"] is True
    assert result["namedScores"]["noise_sensitivity_relevant"] == 0.0
    assert result["namedScores"]["noise_sensitivity_irrelevant"] == 0.5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_a_file_and_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text("utf-8")):
        if target.startswith(("http:", "https:")):
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors_of(linked), f"{target}#{anchor}"


def anchors_of(page: Path) -> list[str]:
    """Return the names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_the_readme_has_at_most_900_words() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 900


def test_the_table_of_definitions_is_what_the_examples_give() -> None:
    page = page_named("scoring").read_text("utf-8")
    for example in reference_examples():
        cells = [
            " / ".join("–" if value is None else f"{value:.4g}" for value in values)
            for values in example.expected.values()
        ]
        assert f"| {example.id} | {' | '.join(cells)} |" in page
