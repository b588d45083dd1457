"""What can be said of the report without opening it: its bytes, and runs it must not choke on."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    LabeledVerdicts,
    RecordingError,
    Result,
    Verdicts,
    compare,
    score,
    trust,
)
from noisesense_adapters.datasets import ablate
from noisesense_adapters.evaluate.wording import ablation_sentences
from noisesense_adapters.report import write_report
from support.ablation_world import Mind, repeating, run_of
from support.hostile_run import hostile_run
from support.readable_run import readable_run
from support.report_page import block, packed_lines

NOISY = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
CLEAN = Verdicts.from_matrices([True, True], [[True], [True]], [[True]])
OPEN = Verdicts.from_matrices([None, True], [[True], [True]], [[True]])


def _words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.split("<body>")[1]).split())


def _page(results: Any, folder: Path, **options: Any) -> str:
    return write_report(results, folder / "a.html", **options).read_text("utf-8")


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    assert _page(readable_run(20), tmp_path) == _page(readable_run(20), tmp_path)


def test_an_ablation_is_in_the_page(tmp_path: Path) -> None:
    results = run_of([1] * 10)
    found = asyncio.run(ablate(results, repeating, Mind(), variants=["without", "plus-2"]))
    page = _page(results, tmp_path, ablation=found)
    for sentence in ablation_sentences(found):
        assert page.count(sentence) == 1
    assert '<th scope="row" dir="auto">plus-2</th><td class="n">10</td>' in page


def test_hostile_texts_stay_in_their_packed_blocks(tmp_path: Path) -> None:
    results = hostile_run()
    page = _page(results, tmp_path, title="</title><b>x")
    blocks = "".join(block(page, name) for name in ("rows", "details"))
    assert re.fullmatch(r"[\w+/=\n]+", blocks)
    rest = page.replace(blocks, "")
    assert "window.owned" not in rest.split("<footer")[1].split("</script>")[-1]
    assert re.findall('<img|<svg (?!class="plot)', page) == []
    assert "{{" not in rest.replace("{{ 7 * 7 }}", "")
    rows = packed_lines(page, "rows")
    assert [row["id"] for row in rows] == [result.id for result in results]


@pytest.mark.parametrize(
    "results",
    [
        pytest.param([], id="nothing"),
        pytest.param([Result("a", error="no")], id="all failed"),
        pytest.param([Result("\ud83d", score(Verdicts.from_matrices([], [])))], id="no claims"),
        pytest.param([Result("a", score(OPEN))], id="nothing determined"),
        pytest.param([Result("a", score(Verdicts.from_matrices([True], [[]])))], id="no chunks"),
    ],
)
def test_runs_with_little_in_them_have_their_rows_and_no_nan(
    tmp_path: Path, results: list[Result]
) -> None:
    """One of them with half a surrogate pair, as a broken tokenizer leaves it."""
    page = _page(results, tmp_path)
    assert not re.search(r"\bnan\b", _words(page), re.IGNORECASE)
    assert [row["id"] for row in packed_lines(page, "rows")] == [each.id for each in results]


@pytest.fixture
def partly_open(tmp_path: Path) -> str:
    """Ten samples of two claims: three of 1/2, five of 0, two that are 0 or 1/2."""
    runs = [NOISY] * 3 + [CLEAN] * 5 + [OPEN] * 2
    return _page([Result(str(i), score(each)) for i, each in enumerate(runs)], tmp_path)


@pytest.mark.parametrize(
    "figure",
    [
        "3 to 5 of 20 claims are wrong and came from a retrieved document",
        "3 from relevant documents, 0 from irrelevant ones; the judge left 2 open.",
        # 3 and 5 of 10 samples at 1/2, and 3 to 5 of 20 claims.
        "Relevant mode, mean 0.150 to 0.250",
        "Share of claims 0.150 to 0.250 3 to 5 of 20",
        "left open by the judge 2 0 rerun: asks only these; or another model",
        # The irrelevant mode depends on nothing that is open.
        "Irrelevant mode, mean 0.000",
    ],
)
def test_what_is_undetermined_is_in_every_figure(partly_open: str, figure: str) -> None:
    assert figure in _words(partly_open)


def test_what_cannot_be_reported_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    mixed = [Result("a", score(NOISY)), Result("b", score(NOISY, definition="paper"))]
    with pytest.raises(InputError, match="one definition"):
        _page(mixed, tmp_path)
    with pytest.raises(RecordingError, match=r"gone\.jsonl"):
        _page(tmp_path / "gone.jsonl", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_earlier_run_and_trust_in_the_judge_stand_at_the_top(tmp_path: Path) -> None:
    """By hand: 0.5 and 0.5 before; 1.0 and 0.5 after. One chunk entails all incorrect claims."""

    def run(*shares: int) -> list[Result]:
        claim = {"text": "a claim", "entailed_by": [0]}
        other = {
            "reference_claims": [claim],
            "chunks": [{"text": "a text", "id": "the <b>document</b>"}],
        }
        tables = [[{**claim, "correct": j >= wrong} for j in range(2)] for wrong in shares]
        read = Verdicts.model_validate
        return [
            Result(f"s{i}", score(read({"response_claims": each, **other})))
            for i, each in enumerate(tables)
        ]

    def header(page: str) -> str:
        return page.split("Before you rely")[0]

    trusted = trust("m", [LabeledVerdicts(CLEAN, CLEAN, "a")])
    baseline = compare(run(1, 1), run(2, 1))
    whole = _words(_page(run(2, 1), tmp_path, baseline=baseline, trust=[trusted]))
    said = header(whole)
    assert "Since the earlier run : relevant too few to say; irrelevant" in said
    assert "The judge : 5 verdicts of m compared with the labels." in said
    assert "relevant 0.500 0.750 +0.250 -1.000 to 1.000 too few to say" in whole
    assert "claim in reference 2 - 0.0%" in whole
    assert "Since" not in header(_words(_page(run(2, 1), tmp_path)))
