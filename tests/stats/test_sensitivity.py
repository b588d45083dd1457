"""Where the score moves if the judge is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from noisesense import (
    Chunk,
    InputError,
    Result,
    Score,
    Verdicts,
    score,
    sensitivity_band,
    summarize,
)
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName
from support.plain_definitions import by_words
from support.tables import Shape, random_pairs

SMALL: Any = {
    "reference_to_response": [False, True],
    "chunks_to_response": [[True, False], [False, True]],
    "chunks_to_reference": [[True, False]],
    "relevant": [None, None],
}


def scored(**table: Any) -> Score:
    return score(Verdicts.from_matrices(**table))


def test_the_expected_move_by_hand() -> None:
    """One correct claim from one relevant chunk (by label): the claim is noise as soon as it is
    called wrong and the chunk is still said to entail it, 1/4 · 3/4 of the time."""
    one = scored(reference_to_response=[True], chunks_to_response=[[True]], relevant=[True])
    found = sensitivity_band([one], false_no=0.25, simulations=4000).relevant
    assert found.mean == (0.0, 0.0)
    assert found.band == (0.0, 1.0)
    assert found.moved.value == pytest.approx(3 / 16, abs=0.03)


@pytest.mark.parametrize("chunks", [None, ("", "")])
def test_a_chunk_without_a_text_is_there_however_its_verdicts_fall(chunks: Any) -> None:
    """Of two claims one is wrong, and from a relevant chunk where both verdicts on that stay
    "yes": 1/4 of the time."""
    claim = {"text": "a", "entailed_by": [1]}
    claims = [{**claim, "correct": False}, {"text": "b", "entailed_by": [], "correct": True}]
    verdicts = {"response_claims": claims, "reference_claims": [claim], "chunks": chunks}
    one = score(Verdicts.model_validate(verdicts))
    found = sensitivity_band([one], false_no=0.5, simulations=4000)
    for mode in MODES:
        assert found.mode(mode).moved.value == pytest.approx(1 / 8, abs=0.02)
    # A chunk with a text is there though no verdict names it; a blank one is not.
    for text, moved in (("text", (0.0, 0.0)), ("", None)):
        one = score(Verdicts.model_validate({"response_claims": claims[1:], "chunks": [text]}))
        assert sensitivity_band([one], false_no=0.5).irrelevant.moved == moved


def test_the_mean_is_that_of_the_summary_also_where_nothing_claimed_is_zero() -> None:
    """One noisy claim of two, and a response without claims: (1/2 + 0) / 2."""
    noisy = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
    nothing = Verdicts(response_claims=(), chunks=("a",))
    scores = [score(each, empty="zero") for each in (noisy, nothing)]
    found = sensitivity_band(scores).relevant
    assert found.mean == summarize(scores).relevant.mean == (0.25, 0.25)
    assert found.moved == (0.25, 0.25)
    assert found.band == (0.25, 0.25)


def test_no_error_makes_noise_of_blank_chunks() -> None:
    """Nothing was retrieved, so nothing is measured, whatever a judge says; where the definition
    counts every incorrect claim, it is wrong only about these."""
    claim = {"text": "a", "correct": False, "entailed_by": []}
    verdicts = Verdicts.model_validate({"response_claims": [claim], "chunks": ["", " "]})
    assert sensitivity_band([score(verdicts)], false_yes=0.5).relevant.moved is None
    of_all = score(verdicts, definition="validmind")
    found = sensitivity_band([of_all], false_yes=0.5, simulations=4000).relevant
    assert found.moved.value == pytest.approx(1 / 2, abs=0.03)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_moved_mean_is_that_of_every_way_to_be_wrong(definition: DefinitionName) -> None:
    """By hand over all 2^8 patterns of errors, each with its probability."""
    found = sensitivity_band(
        [scored(**SMALL)],
        false_yes=float(FALSE_YES),
        false_no=float(FALSE_NO),
        definition=definition,
        simulations=4000,
    )
    expected = dict.fromkeys(MODES, Fraction(0))
    for table, chance in every_way_to_be_wrong():
        for mode in MODES:
            expected[mode] += chance * (by_words(table, definition, mode) or 0)
    for mode in MODES:
        band = found.mode(mode)
        if band is not None:
            assert band.moved.value == pytest.approx(float(expected[mode]), abs=0.03)


FALSE_YES = Fraction(1, 10)
FALSE_NO = Fraction(1, 4)


def every_way_to_be_wrong() -> Iterator[tuple[Any, Fraction]]:
    """The small table with these verdicts turned round or those, and the probability of each."""
    for pattern in product((False, True), repeat=8):
        table = copy.deepcopy(SMALL)
        cells = [table["reference_to_response"], *table["chunks_to_response"]]
        cells += table["chunks_to_reference"]
        wrong = iter(pattern)
        chance = Fraction(1)
        for row in cells:
            for i, cell in enumerate(row):
                rate = FALSE_NO if cell else FALSE_YES
                flip = next(wrong)
                chance *= rate if flip else 1 - rate
                row[i] = cell != flip
        yield table, chance


def test_without_errors_nothing_moves_and_open_cells_stay_open() -> None:
    shape = Shape(undetermined=0.2, labeled=0.3)
    scores = [score(verdicts) for _, verdicts in random_pairs(40, seed=3, shape=shape)]
    found = sensitivity_band([*scores, Result("x", error="no")], simulations=1)
    assert found.samples == 40
    assert found.failed == 1
    for mode in MODES:
        band = found.mode(mode)
        bounds = [own for each in scores if (own := each.bounds(mode))]
        assert band.mean == band.moved == band.band
        assert band.mean.low == pytest.approx(sum(low for low, _ in bounds) / len(bounds))


def test_the_same_seed_gives_the_same_band_and_plain_data() -> None:
    one = scored(**SMALL)
    first, again = (sensitivity_band([one], false_yes=0.3, seed=5) for _ in range(2))
    assert first == again == sensitivity_band([Result("a", one)], false_yes=0.3, seed=5)
    usual = sensitivity_band([one], false_yes=0.3, simulations=200, seed=0)
    assert usual == sensitivity_band([one], false_yes=0.3) != first
    data = json.loads(json.dumps(first.to_dict()))
    assert data["relevant"]["mean"] == {"value": 0.5, "low": 0.5, "high": 0.5}
    assert sensitivity_band([one], definition="validmind").irrelevant is None
    nothing = sensitivity_band([score(Verdicts(response_claims=()))]).relevant
    assert nothing.mean is None
    assert nothing.moved is None
    assert nothing.band is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"false_yes": 1.1}, "false_yes"),
        ({"false_no": -0.1}, "false_no"),
        ({"simulations": 0}, "simulations"),
        ({"definition": "ragas2"}, "definition: expected 'ragas'"),
    ],
)
def test_numbers_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sensitivity_band([scored(**SMALL)], **options)
    with pytest.raises(InputError, match="at least one sample"):
        sensitivity_band([])


def test_chunks_may_be_left_out() -> None:
    claims = [{"text": "a", "correct": False, "entailed_by": [1]}]
    reference = [{"text": "b", "entailed_by": [1]}]
    bare = Verdicts.model_validate({"response_claims": claims, "reference_claims": reference})
    listed = bare.model_copy(update={"chunks": (Chunk(text=""), Chunk(text=""))})
    both = [
        sensitivity_band([score(each)] * 9, false_yes=0.3, false_no=0.3, simulations=9)
        for each in (bare, listed)
    ]
    assert both[0] == both[1]
