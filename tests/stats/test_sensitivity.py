"""Where the score moves if the judge is wrong."""

from __future__ import annotations

import json
import random

import pytest

from noisesense import InputError, Result, Score, Verdicts, score, sensitivity_band, summarize
from noisesense.scoring.definitions import MODES
from noisesense.stats.cells import CellKind
from noisesense.stats.sensitivity import CELLS, Cells
from support.simulated import ragchecker_like
from support.tables import Shape, random_pairs


def test_with_many_chunks_a_false_yes_outweighs_ten_times_as_many_missed_ones() -> None:
    rng = random.Random(15)
    tables = [ragchecker_like(rng, chunks=15) for _ in range(150)]
    entailment: tuple[CellKind, ...] = ("response", "reference")
    false = sensitivity_band(tables, false_yes=0.02, cells=entailment, simulations=40)
    missed = sensitivity_band(tables, false_no=0.2, cells=entailment, simulations=40)
    assert false.relevant is not None
    assert missed.relevant is not None
    assert false.relevant.mean == pytest.approx(0.34, abs=0.03)
    assert false.relevant.shift is not None
    assert missed.relevant.shift is not None
    assert false.relevant.shift > 0.05
    assert abs(missed.relevant.shift) < 0.04
    assert false.relevant.shift > 2.5 * abs(missed.relevant.shift)
    # Outside what chance explains: the whole band lies above the value.
    assert false.relevant.low is not None
    assert false.relevant.low > 0.34 + 0.03


def test_with_one_chunk_it_does_not() -> None:
    rng = random.Random(1)
    tables = [ragchecker_like(rng, chunks=1) for _ in range(150)]
    false = sensitivity_band(tables, false_yes=0.02, simulations=40).relevant
    assert false is not None
    assert false.shift is not None
    assert abs(false.shift) < 0.03


def test_the_expected_move_by_hand() -> None:
    # One incorrect claim from nowhere, one relevant chunk (by label): each false yes makes it
    # noisy, so the mean over simulations is the rate. A certain one moves it to 1.
    table = Verdicts.from_matrices([False], [[False]], relevant=[True])
    found = sensitivity_band([table], false_yes=0.25, cells=["response"], simulations=4000)
    assert found.relevant is not None
    assert found.relevant.mean == 0.0
    assert found.relevant.moved == pytest.approx(0.25, abs=0.03)
    assert (found.relevant.low, found.relevant.high) == (0.0, 1.0)
    certain = sensitivity_band([table], false_yes=1.0, cells=["response"]).relevant
    assert certain is not None
    assert (certain.moved, certain.low, certain.high, certain.shift) == (1.0, 1.0, 1.0, 1.0)
    # A false yes on correctness too: noisy with 0.25 · 0.75.
    both = sensitivity_band([table], false_yes=0.25, simulations=4000).relevant
    assert both is not None
    assert both.moved == pytest.approx(0.1875, abs=0.03)


def test_without_errors_nothing_moves() -> None:
    tables = [verdicts for _, verdicts in random_pairs(20, shape=Shape(undetermined=0.2))]
    found = sensitivity_band(tables, simulations=3)
    for mode in MODES:
        band = found.mode(mode)
        assert band is not None
        assert band.undetermined > 0
        assert band.mean is band.moved is band.shift is None
        assert band.bounds == (band.low, band.high)
        assert band.moved_bounds == pytest.approx(band.bounds)
        plain = summarize(score(table) for table in tables).mode(mode)
        assert plain is not None
        assert band.bounds == pytest.approx(plain.bounds)
        assert (band.undetermined, band.undefined) == (plain.undetermined, plain.undefined)
    known = [verdicts for _, verdicts in random_pairs(20)]
    for each in (sensitivity_band(known, simulations=3).mode(mode) for mode in MODES):
        assert each is not None
        assert each.mean is not None
        assert each.mean == each.low == each.high == pytest.approx(each.moved)


def test_the_same_seed_gives_the_same_band() -> None:
    tables = [verdicts for _, verdicts in random_pairs(10)]
    first, again, other = (
        sensitivity_band(tables, false_yes=0.1, simulations=20, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_of_a_kind_can_be_turned_and_no_other(kind: CellKind) -> None:
    for _, verdicts in random_pairs(30, shape=Shape(undetermined=0.2, labelled=0.5)):
        wrong = Cells(verdicts, [kind]).perturbed(random.Random(0), false_yes=1, false_no=1)
        before, after = verdicts.to_matrices(), wrong.to_matrices()
        turned = {
            "correct": [before["reference_to_response"]],
            "response": before["chunks_to_response"],
            "reference": before["chunks_to_reference"] or [],
        }
        expected = {
            name: [
                [None if cell is None else (not cell if name == kind else cell) for cell in row]
                for row in rows
            ]
            for name, rows in turned.items()
        }
        assert [after["reference_to_response"]] == expected["correct"]
        assert after["chunks_to_response"] == expected["response"]
        assert (after["chunks_to_reference"] or []) == expected["reference"]
        assert after["relevant"] == before["relevant"]
        # What was not checked again is still valid, and still reads as the same.
        assert Verdicts.model_validate(wrong.model_dump()) == wrong


def test_rates_are_rates() -> None:
    rng = random.Random(8)
    table = Verdicts.from_matrices([True] * 20, [[True, False] * 10] * 20, [[False] * 20])
    yes = no = 0
    for _ in range(200):
        wrong = Cells(table, ["response"]).perturbed(rng, false_yes=0.02, false_no=0.3)
        for claim in wrong.response_claims:
            yes += sum(j % 2 for j in claim.entailed_by)
            no += 10 - sum(j % 2 == 0 for j in claim.entailed_by)
    # Of 40,000 cells each: standard errors 0.0007 and 0.0023.
    assert yes / 40_000 == pytest.approx(0.02, abs=0.003)
    assert no / 40_000 == pytest.approx(0.3, abs=0.01)


def test_scores_and_results_are_read_and_open_cells_counted() -> None:
    table = Verdicts.from_matrices([True, None], [[None], [False]], [[True]])
    items: list[Verdicts | Score | Result] = [
        table,
        score(table),
        Result("a", score(table)),
        Result("b", error="no"),
    ]
    found = sensitivity_band(items, simulations=1)
    assert (found.samples, found.open_cells) == (3, 6)


def test_a_definition_without_irrelevant_mode() -> None:
    table = Verdicts.from_matrices([True], [[True]], [[True]])
    found = sensitivity_band([table], false_no=1, definition="validmind", simulations=1)
    assert found.irrelevant is None
    assert found.relevant is not None
    assert (found.relevant.mean, found.relevant.moved) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_yes": 2}, "false_yes: expected a number from 0 to 1, got 2"),
        ({"false_no": -0.1}, "false_no"),
        ({"cells": ["chunks"]}, "cells"),
        ({"simulations": 0}, "simulations"),
    ],
)
def test_numbers_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sensitivity_band([Verdicts(response_claims=())], **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one sample"):
        sensitivity_band([])


def test_plain_data() -> None:
    table = Verdicts.from_matrices([False], [[True]], [[True]])
    found = sensitivity_band([table], false_yes=0.1, simulations=1, definition="validmind")
    data = json.loads(json.dumps(found.to_dict()))
    assert data["cells"] == ["correct", "response", "reference"]
    assert (data["relevant"]["mean"], data["relevant"]["bounds"]) == (1.0, [1.0, 1.0])
    assert data["irrelevant"] is None
