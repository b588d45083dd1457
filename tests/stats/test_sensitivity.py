"""Where the score moves if the judge is wrong."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from noisesense import Chunk, InputError, Result, Verdicts, score, sensitivity_band
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName
from noisesense.stats.labels_cells import CellKind
from noisesense.stats.sensitivity import CELLS
from support.plain_definitions import by_words
from support.tables import Shape, random_pairs

SMALL: Any = {
    "reference_to_response": [False, True],
    "chunks_to_response": [[True, False], [False, True]],
    "chunks_to_reference": [[True, False]],
    "relevant": [None, None],
}


def test_the_expected_move_by_hand() -> None:
    # One incorrect claim from nowhere, one relevant chunk (by label): each false yes makes it
    # noisy, so the mean over simulations is the rate. A certain one moves it to 1.
    table = Verdicts.from_matrices([False], [[False]], relevant=[True])
    found = sensitivity_band([table], false_yes=0.25, cells=["response"], simulations=4000)
    assert found.relevant.mean == (0.0, 0.0)
    assert found.relevant.moved.value == pytest.approx(0.25, abs=0.03)
    assert found.relevant.band == (0.0, 1.0)
    certain = sensitivity_band([table], false_yes=1.0, cells=["response"]).relevant
    assert certain.moved == certain.band == (1.0, 1.0)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_moved_mean_is_that_of_every_way_to_be_wrong(definition: DefinitionName) -> None:
    """By hand over all 2^8 patterns of errors, each with its probability."""
    false_yes, false_no = Fraction(1, 10), Fraction(1, 4)
    cells = [("reference_to_response", i, None) for i in range(2)]
    cells += [(n, i, j) for n in list(SMALL)[1:3] for i in range(len(SMALL[n])) for j in range(2)]
    expected = dict.fromkeys(MODES, Fraction(0))
    for pattern in product((False, True), repeat=len(cells)):
        table, chance = json.loads(json.dumps(SMALL)), Fraction(1)
        for (name, i, j), wrong in zip(cells, pattern, strict=True):
            row, at = (table[name], i) if j is None else (table[name][i], j)
            rate = false_no if row[at] else false_yes
            chance *= rate if wrong else 1 - rate
            row[at] = row[at] != wrong
        for mode in MODES:
            expected[mode] += chance * (by_words(table, definition, mode) or 0)
    found = sensitivity_band(
        [Verdicts.from_matrices(**SMALL)],
        false_yes=float(false_yes),
        false_no=float(false_no),
        definition=definition,
        simulations=4000,
    )
    for mode in MODES:
        if (band := found.mode(mode)) is not None:
            assert band.moved.value == pytest.approx(float(expected[mode]), abs=0.03)


def test_without_errors_nothing_moves_and_open_cells_stay_open() -> None:
    shape = Shape(undetermined=0.2, labelled=0.3)
    tables = [verdicts for _, verdicts in random_pairs(40, seed=3, shape=shape)]
    found = sensitivity_band([*tables, Result("x", error="no")], simulations=2)
    assert (found.samples, found.failed) == (40, 1)
    for mode in MODES:
        band = found.mode(mode)
        bounds = [each for table in tables if (each := score(table).bounds(mode))]
        assert band.mean == band.moved == band.band
        assert band.mean.low == pytest.approx(sum(low for low, _ in bounds) / len(bounds))


@pytest.mark.parametrize("kind", CELLS)
def test_only_cells_of_the_kinds_asked_for_are_turned(kind: CellKind) -> None:
    table = Verdicts.from_matrices([False], [[False]], [[False]])
    found = sensitivity_band([table], false_yes=1.0, cells=[kind], simulations=1)
    # A chunk entails the claim: irrelevant noise. The reference does, or the chunk is relevant.
    assert found.irrelevant.moved == ((1.0, 1.0) if kind == "response" else (0.0, 0.0))


def test_the_same_seed_gives_the_same_band_and_plain_data() -> None:
    table = Verdicts.from_matrices(**SMALL)
    first, again = (sensitivity_band([table], false_yes=0.3, seed=5) for _ in range(2))
    assert first == again
    data = json.loads(json.dumps(first.to_dict()))
    assert data["relevant"]["mean"] == {"value": 0.5, "low": 0.5, "high": 0.5}
    assert sensitivity_band([table], definition="validmind").irrelevant is None
    nothing = sensitivity_band([Verdicts(response_claims=())]).relevant
    assert (nothing.mean, nothing.moved, nothing.band) == (None, None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_yes": 1.1}, "false_yes"),
        ({"false_no": -0.1}, "false_no"),
        ({"cells": ["chunks"]}, "cells"),
        ({"simulations": 0}, "simulations"),
        ({"definition": "ragas2"}, "definition: expected 'ragas'"),
    ],
)
def test_numbers_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sensitivity_band([Verdicts.from_matrices(**SMALL)], **options)
    with pytest.raises(InputError, match="at least one sample"):
        sensitivity_band([])


def test_verdicts_scores_and_results_are_one_thing() -> None:
    tables = [
        Verdicts.from_matrices([False, True], [[True], [False]], [[True]]),
        Verdicts.from_matrices([], [], [[True]]),
    ]
    scores = [score(each) for each in tables]
    results = [Result(str(i), each) for i, each in enumerate(scores)]
    found = sensitivity_band(tables, false_yes=0.3, simulations=20)
    assert sensitivity_band(scores, false_yes=0.3, simulations=20) == found
    assert sensitivity_band(results, false_yes=0.3, simulations=20) == found
    assert (found.samples, found.failed) == (2, 0)


def test_chunks_may_be_left_out() -> None:
    claims = [{"text": "a", "correct": False, "entailed_by": [1]}]
    reference = [{"text": "b", "entailed_by": [1]}]
    bare = Verdicts.model_validate({"response_claims": claims, "reference_claims": reference})
    listed = bare.model_copy(update={"chunks": (Chunk(text=""), Chunk(text=""))})
    both = [
        sensitivity_band([each] * 9, false_yes=0.3, false_no=0.3, simulations=9)
        for each in (bare, listed)
    ]
    assert both[0] == both[1]
