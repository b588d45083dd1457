"""What can be said of the report without opening it: its bytes, and runs it must not choke on."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from noisesense import (
    InputError,
    PairingError,
    RecordingError,
    Result,
    Verdicts,
    score,
    write_results,
)
from noisesense.ablation import ablate
from noisesense.fixtures import ragchecker_examples
from noisesense.scoring.scoring import Undetermined
from noisesense_adapters.report import write_png, write_report
from support.ablation_world import Mind, repeating, run_of
from support.hostile_run import hostile_run
from support.readable_run import readable_run
from support.report_page import block, packed_lines
from support.simulated import result_of
from support.sizes import few_or_many


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    pages = [write_report(readable_run(20), tmp_path / f"{i}.html") for i in range(2)]
    pictures = [write_png(readable_run(20), tmp_path / f"{i}.png", dpi=50) for i in range(2)]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert pictures[0].read_bytes().startswith(b"\x89PNG")


def test_an_ablation_is_in_the_page(tmp_path: Path) -> None:
    results = run_of([1] * 10)
    found = asyncio.run(ablate(results, repeating, Mind()))
    page = write_report(results, tmp_path / "a.html", ablation=found).read_text(encoding="utf-8")
    for sentence in found.sentences:
        assert f'<p dir="auto">{sentence}</p>' in page
    assert "Mean noise by the number of distractors: with 0 0.50, with 2 0.75." in page
    assert '<tr><th scope="row">plus-2</th><td class="n">10</td><td class="n">0.750</td>' in page
    row = '<tr><th scope="row" dir="auto">bad-0</th><td class="n">1</td><td class="n">1</td></tr>'
    assert row in page
    assert "Did the chunks do it?" not in write_report(results, tmp_path / "b.html").read_text()


def test_a_users_matplotlib_settings_change_nothing(tmp_path: Path) -> None:
    import matplotlib as mpl

    plain = write_report(readable_run(5), tmp_path / "plain.html").read_bytes()
    with mpl.rc_context({"svg.fonttype": "path", "font.size": 30, "axes.facecolor": "red"}):
        styled = write_report(readable_run(5), tmp_path / "styled.html").read_bytes()
        assert mpl.rcParams["font.size"] == 30
    assert plain == styled


def test_a_file_is_read_and_named(tmp_path: Path) -> None:
    source = tmp_path / "run <1> & more.jsonl"
    write_results(source, readable_run(5))
    page = write_report(source, tmp_path / "a.html").read_text(encoding="utf-8")
    assert "run &lt;1&gt; &amp; more.jsonl" in page
    assert len(packed_lines(page, "rows")) == 11  # six reference examples


def test_chunks_that_samples_share_are_kept_once(tmp_path: Path) -> None:
    page = write_report(readable_run(300), tmp_path / "a.html").read_text(encoding="utf-8")
    chunks = [(chunk["text"], chunk.get("id")) for chunk in packed_lines(page, "chunks")]
    assert len(chunks) == len(set(chunks)) < 100
    assert len(packed_lines(page, "details")) == 306


def test_no_text_leaves_its_place(tmp_path: Path) -> None:
    results = hostile_run()
    page = write_report(results, tmp_path / "a.html", title="</title><b>x").read_text("utf-8")
    blocks = "".join(block(page, name) for name in ("rows", "details", "chunks"))
    assert re.fullmatch(r"[\w+/=\n]+", blocks)
    assert (
        "window.owned" not in page.replace(blocks, "").split("<footer")[1].split("</script>")[-1]
    )
    assert "<img" not in page
    assert "<svg onload" not in page
    assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b", page)
    rows = packed_lines(page, "rows")
    assert [row["id"] for row in rows] == [result.id for result in results]


def test_half_a_surrogate_pair_is_written(tmp_path: Path) -> None:
    """As a broken tokenizer leaves it."""
    verdicts = Verdicts.from_matrices([False], [[True]], [[True]], response_claims=["\ud83d"])
    page = write_report([Result("\ud83d", score(verdicts))], tmp_path / "a.html")
    rows = packed_lines(page.read_text(encoding="utf-8"), "rows")
    assert rows[0]["id"] == "\ud83d"


@pytest.mark.parametrize("definition", ["ragas", "paper", "promptfoo", "validmind"])
def test_every_definition(tmp_path: Path, definition: str) -> None:
    results = [
        Result(str(i), score(example.verdicts, definition=definition))  # type: ignore[arg-type]
        for i, example in enumerate(ragchecker_examples())
    ]
    page = write_report(results, tmp_path / "a.html").read_text(encoding="utf-8")
    assert f"<code>{definition}</code>" in page
    assert ("Irrelevant noise sensitivity" in page) == (definition != "validmind")
    write_png(results, tmp_path / "a.png", dpi=50)


@pytest.mark.parametrize(
    "results",
    [
        pytest.param([], id="nothing"),
        pytest.param([Result("a", error="no")], id="all failed"),
        pytest.param([Result("a", score(Verdicts.from_matrices([], [])))], id="no claims"),
        pytest.param(
            [Result("a", score(Verdicts.from_matrices([None], [[None]], [[None]])))],
            id="nothing determined",
        ),
        pytest.param([Result("a", score(Verdicts.from_matrices([True], [[]])))], id="no chunks"),
    ],
)
def test_runs_with_little_in_them(tmp_path: Path, results: list[Result]) -> None:
    page = write_report(results, tmp_path / "a.html").read_text(encoding="utf-8")
    assert (
        "nan" not in page.lower().replace("finance", "").split("<script")[0].split("</style>")[1]
    )
    write_png(results, tmp_path / "a.png", dpi=50)


@pytest.mark.parametrize("name", ["no/folder.png", "a\0b.png", "."])
def test_a_picture_that_cannot_be_written_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        write_png(readable_run(2), tmp_path / name, dpi=50)


def test_the_figures_are_those_of_the_summary(tmp_path: Path) -> None:
    """Ten samples of one claim: three from relevant chunks, one from an irrelevant one."""
    relevant = Verdicts.from_matrices([False], [[True]], [[True]])
    irrelevant = Verdicts.from_matrices([False], [[True]], [[False]])
    clean = Verdicts.from_matrices([True], [[True]], [[True]])
    runs = [relevant] * 3 + [irrelevant] + [clean] * 6
    results = [Result(str(i), score(verdicts)) for i, verdicts in enumerate(runs)]
    page = write_report(results, tmp_path / "a.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]+>", " ", page.split("<body>")[1]).split())
    assert (
        "4 of 10 claims are not supported by the reference and come from a retrieved chunk" in text
    )
    assert "3 from relevant chunks, 1 from irrelevant ones. Lower is better." in text
    assert "0.300 mean over 10 samples" in text
    assert "0.100 mean over 10 samples" in text
    assert "0.0 to 0.1: 7; 0.9 to 1.0: 3" in page  # the histogram in words


def left_open(choice: Undetermined) -> list[Result]:
    """Ten samples of two claims: three of 1/2, five of 0, two that are 0 or 1/2."""
    noisy = Verdicts.from_matrices([False, True], [[True], [True]], [[True]])
    clean = Verdicts.from_matrices([True, True], [[True], [True]], [[True]])
    half = Verdicts.from_matrices([None, True], [[True], [True]], [[True]])
    runs = [noisy] * 3 + [clean] * 5 + [half] * 2
    return [Result(str(i), score(each, undetermined=choice)) for i, each in enumerate(runs)]


def _words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.split("<body>")[1]).split())


def test_what_is_undetermined_is_in_every_figure(tmp_path: Path) -> None:
    page = write_report(left_open("none"), tmp_path / "a.html").read_text(encoding="utf-8")
    text = _words(page)
    assert (
        "3 to 5 of 20 claims are not supported by the reference and come from a retrieved chunk"
        in text
    )
    assert "3 from relevant chunks, 0 from irrelevant ones; the judge left 2 open." in text
    # 3 and 5 of 10 samples at 1/2, and 3 to 5 of 20 claims.
    assert "0.150 to 0.250 mean over 10 samples" in text
    assert "the judge left 2 claims in 2 samples open; the interval covers the whole range" in text
    assert "Share of claims 0.150 to 0.250 3 to 5 of 20" in text
    assert "Std. deviation open" in text
    assert "Determined 8 Undetermined 2 Undefined 0" in text
    # Position 4.5 of ten: the median is 0 or 1/4.
    assert "Median 0.000 to 0.250" in text
    assert "0.0 to 0.1: 5; 0.5 to 0.6: 3; undetermined: 2." in page
    assert "Box plots. relevant, without 2 undetermined: lowest 0.00" in page
    assert "of determined samples; undetermined and left out: 2 relevant" in text
    assert "undetermined 2 0 " in text.split("The plots as a table")[1]
    # The irrelevant mode depends on nothing that is open.
    assert "0.000 mean over 10 samples" in text
    row = packed_lines(page, "rows")[-1]
    assert (row["relevant"], row["relevant_bounds"]) == (None, [0, 0.5])
    assert (row["irrelevant"], "irrelevant_bounds" in row) == (0, False)


def test_a_value_that_was_chosen_is_drawn_and_said(tmp_path: Path) -> None:
    page = write_report(left_open("high"), tmp_path / "a.html").read_text(encoding="utf-8")
    text = _words(page)
    assert "0.150 to 0.250 mean over 10 samples" in text
    assert "0.0 to 0.1: 5; 0.5 to 0.6: 3; undetermined: 2." in page
    row = packed_lines(page, "rows")[-1]
    assert (row["relevant"], row["relevant_bounds"]) == (0.5, [0, 0.5])


def test_one_cluster_has_no_interval_and_the_page_says_why(tmp_path: Path) -> None:
    together = [result_of(i, (i % 2, 2), cluster="the only one") for i in range(40)]
    page = write_report(together, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "No interval: it needs at least two clusters with claims" in page
    assert "relevant: 1 cluster only; read the interval, not the mean." in page


def test_two_definitions_are_refused(tmp_path: Path) -> None:
    verdicts = Verdicts.from_matrices([False], [[True]], [[True]])
    mixed = [Result("a", score(verdicts)), Result("b", score(verdicts, definition="paper"))]
    with pytest.raises(InputError, match="one definition"):
        write_report(mixed, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"gone\.jsonl"):
        write_report(tmp_path / "gone.jsonl", tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


@few_or_many(200, 5000)
def test_a_large_report_is_packed(tmp_path: Path, count: int) -> None:
    """The samples' details take less than a fifth of the size that they have as text."""
    page = write_report(readable_run(count), tmp_path / "a.html").read_text(encoding="utf-8")
    details = packed_lines(page, "details")
    assert len(details) == count + 6
    assert len(block(page, "details")) < len(json.dumps(details)) / 5


def test_what_to_look_at_first_and_the_earlier_run(tmp_path: Path) -> None:
    """By hand: 0.5 and 0.5 before; 1.0 and 0.5 after. Chunk d entails all three incorrect claims."""

    def run(*shares: int) -> list[Result]:
        results = []
        for i, wrong in enumerate(shares):
            claim = {"text": "a claim", "entailed_by": [0]}
            verdicts = Verdicts.model_validate(
                {
                    "response_claims": [{**claim, "correct": j >= wrong} for j in range(2)],
                    "reference_claims": [claim],
                    "chunks": [{"text": "a text", "id": "the <b>document</b>"}],
                }
            )
            results.append(Result(f"s{i}", score(verdicts)))
        return results

    before = tmp_path / "before.jsonl"
    write_results(before, run(1, 1))
    page = write_report(run(2, 1), tmp_path / "a.html", baseline=before).read_text("utf-8")
    header = re.sub(
        r"\s+", " ", re.sub("<[^>]+>", "", page.split("<header")[1].split("</header")[0])
    )
    assert "Look first at the document the &lt;b&gt;document&lt;/b&gt;: all these claims" in header
    assert "Since before.jsonl: relevant 0.500 → 0.750 (+0.250, which may be chance)" in header
    assert "irrelevant 0.000 → 0.000 (+0.000, which may be chance)" in header
    plain = write_report(run(2, 1), tmp_path / "b.html").read_text("utf-8")
    assert "Since" not in plain.split("<header")[1].split("</header")[0]
    with pytest.raises(PairingError):
        write_report(run(2, 1), tmp_path / "c.html", baseline=[Result("other", run(1)[0].score)])
