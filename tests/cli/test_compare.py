"""The demo's comparison: what counts as agreement, and what is said where there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from noisesense.errors import InputError
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense_adapters.demo import run_demo
from noisesense_adapters.demo.compare import (
    Figures,
    Pair,
    Place,
    Report,
    as_documented,
    compare,
    example_runs,
)

MONA_LISA, CAPITAL = (
    next(e for e in reference_examples() if e.id == name)
    for name in ("mona-lisa", "capital-of-france")
)
# Two incorrect claims would be needed for anything else: see the examples' `expected`.
RIGHT: Figures = {
    "mona-lisa/ragas": Pair(0.5, 0.0),
    "capital-of-france/ragas": Pair(0.0, 0.5),
    "capital-of-france/promptfoo": Pair(0.5, 0.5),
}


def report(
    figures: Figures,
    examples: tuple[ReferenceExample, ...] = (MONA_LISA, CAPITAL),
    missing: tuple[str, ...] = (),
) -> Report:
    place = Place("DeepEval evaluate", "deepeval", "compared", "4.3.1", figures)
    return compare(example_runs(examples), [place], missing)


def test_all_agree() -> None:
    found = report(RIGHT)
    # 3 cases x 2 modes, and the documented figures: mona-lisa has one, capital-of-france two.
    assert len(found.checks) == 6 + 3
    assert found.agrees
    assert found.verdict == "all 9 comparisons agree"


@pytest.mark.parametrize("wrong", [0.5 + 2e-9, math.nan, None])
def test_a_figure_that_differs(wrong: float | None) -> None:
    found = report({**RIGHT, "mona-lisa/ragas": Pair(wrong, 0.0)})
    assert not found.agrees
    assert found.verdict == "1 of 9 comparisons differs"
    assert next(text for text, agrees in found.checks if not agrees).startswith(
        "mona-lisa, relevant, definition ragas: DeepEval evaluate gives"
    )


def test_a_figure_within_the_tolerance_agrees() -> None:
    assert report({**RIGHT, "mona-lisa/ragas": Pair(0.5 + 5e-13, 0.0)}).agrees


def test_a_case_left_out_is_a_disagreement() -> None:
    figures = {key: pair for key, pair in RIGHT.items() if key != "mona-lisa/ragas"}
    assert report(figures).verdict == "2 of 9 comparisons differ"


def test_undefined_agrees_with_undefined_only() -> None:
    example = replace(MONA_LISA, documented={}, expected={"ragas": (None, 0.0)})
    assert report({"mona-lisa/ragas": Pair(None, 0.0)}, (example,)).agrees
    assert not report({"mona-lisa/ragas": Pair(0.0, 0.0)}, (example,)).agrees


@pytest.mark.parametrize(
    ("value", "documented", "fits"),
    [
        (1 / 3, 0.33, True),
        (1 / 3, 0.333, True),
        (1 / 3, 0.3333333333333333, True),
        (1 / 3, 0.34, False),
        (1 / 3, 0.3334, False),
        (2 / 3, 0.67, True),
        (2 / 3, 0.66, False),
        (0.5, 0.5, True),
    ],
)
def test_documented_figures_count_to_the_precision_printed(
    value: float, documented: float, fits: bool
) -> None:
    example = replace(
        MONA_LISA, documented={"relevant": documented}, expected={"ragas": (value, 0.0)}
    )
    found = report({"mona-lisa/ragas": Pair(value, 0.0)}, (example,))
    assert found.rows[0].documented_agrees is fits
    assert found.agrees is fits


def test_a_figure_of_another_definition_is_told_and_not_compared() -> None:
    found = report(RIGHT)
    row = found.rows[2]
    assert (row.example, row.mode, row.definition) == ("capital-of-france", "relevant", "ragas")
    assert row.documented == 0.5
    assert row.documented_agrees is None
    [note] = found.notes
    assert "another definition, promptfoo" in note


def test_a_framework_that_fails_is_no_agreement() -> None:
    places = [
        Place("core", "", "compared", "1", RIGHT),
        Place("Promptfoo eval", "promptfoo", "failed", "NoiseSenseError: no output"),
    ]
    found = compare(example_runs([MONA_LISA, CAPITAL]), places, [])
    assert not found.agrees
    assert found.verdict == "Promptfoo eval failed"
    assert "Promptfoo eval: failed. NoiseSenseError: no output" in found.notes


def test_json_has_every_figure() -> None:
    data = report({**RIGHT, "mona-lisa/ragas": Pair(0.25, 0.0)}).to_dict()
    assert data["agrees"] is False
    assert data["rows"][0]["figures"] == {"DeepEval evaluate": 0.25}
    assert data["rows"][0]["agrees"] == {"DeepEval evaluate": False}
    assert data["differing"] == [
        "mona-lisa, relevant, definition ragas: DeepEval evaluate gives 0.2500, not 0.5000"
    ]


def test_documented_figures_are_shown_as_printed() -> None:
    shown = [as_documented(value) for value in (0.5, 0.33, 0.333, 1 / 3, 0.0, None)]
    assert shown == ["0.5", "0.33", "0.333", "0.3333", "0.0", "-"]


def test_a_promptfoo_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the promptfoo command, got no such file"):
        run_demo(promptfoo=tmp_path / "promptfoo")
