"""What holds for every table."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense import Matrices, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS, MODES
from support.plain_definitions import by_words
from support.tables import Shape, matrices, random_matrices, verdicts


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("labelled", [0.0, 0.5, 1.0])
def test_a_second_implementation_agrees(definition: Any, labelled: float) -> None:
    rng = random.Random(f"{definition} {labelled}")
    for _ in range(500):
        table = random_matrices(rng, Shape(labelled=labelled))
        result = score(Verdicts.from_matrices(**table), definition=definition)
        for mode in MODES:
            expected = by_words(table, definition, mode)
            value = result.value(mode)
            assert value == (None if expected is None else pytest.approx(float(expected), 1e-12))
            assert result.bounds(mode) == (None if value is None else (value, value))


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_claims_changes_nothing(table: Matrices, rng: random.Random) -> None:
    response = list(range(len(table["reference_to_response"])))
    reference = list(range(len(table["chunks_to_reference"] or [])))
    rng.shuffle(response)
    rng.shuffle(reference)
    shuffled: Any = {
        "reference_to_response": [table["reference_to_response"][i] for i in response],
        "chunks_to_response": [table["chunks_to_response"][i] for i in response],
        "chunks_to_reference": [(table["chunks_to_reference"] or [])[i] for i in reference],
        "relevant": table["relevant"],
    }
    for definition in DEFINITIONS:
        assert _figures(shuffled, definition) == _figures(table, definition)


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_chunks_changes_nothing(table: Matrices, rng: random.Random) -> None:
    order = list(range(len(table["relevant"] or [])))
    rng.shuffle(order)
    shuffled = _with_columns(table, order)
    for definition in ("ragas", "paper", "validmind"):
        assert _figures(shuffled, definition) == _figures(table, definition)
    # The source rule looks at the first chunk that entails a claim: the relevant mode alone
    # cannot tell the order.
    assert _figures(shuffled, "promptfoo")["relevant"] == _figures(table, "promptfoo")["relevant"]


def test_the_order_of_chunks_is_the_source_rule() -> None:
    table: Any = {
        "reference_to_response": [False],
        "chunks_to_response": [[True, True]],
        "chunks_to_reference": [[True, False]],
        "relevant": [None, None],
    }
    assert _figures(table, "promptfoo")["irrelevant"] == (0.0, (0.0, 0.0))
    assert _figures(_with_columns(table, [1, 0]), "promptfoo")["irrelevant"] == (1.0, (1.0, 1.0))


@given(matrices(chunks=(1, 5)), st.data())
def test_a_chunk_retrieved_twice_changes_nothing(table: Matrices, data: st.DataObject) -> None:
    count = len(table["relevant"] or [])
    copied = data.draw(st.integers(0, count - 1))
    # The source rule neither: the copy comes after the chunk it copies.
    for definition in DEFINITIONS:
        twice = _with_columns(table, [*range(count), copied])
        assert _figures(twice, definition) == _figures(table, definition)


@given(verdicts(undetermined=False, reference_claims=(1, 4)))
def test_determined_shares_add_up_to_one(judged: Verdicts) -> None:
    result = score(judged)
    if not judged.response_claims or not judged.chunk_count:
        assert result.relevant is result.irrelevant is None
        return
    assert result.partition.undetermined == 0
    correct, hallucination = map(result.partition.share, ("correct", "hallucination"))
    total = correct + result.relevant + result.irrelevant + hallucination
    assert total == pytest.approx(1, abs=1e-12)


@given(verdicts())
def test_the_partition_adds_up_and_is_the_same_for_every_definition(judged: Verdicts) -> None:
    (partition,) = {score(judged, definition=name).partition for name in DEFINITIONS}
    assert partition.total == sum(partition) == len(judged.response_claims)


@given(verdicts())
def test_robustness_is_the_nearest_float_to_one_minus_the_exact_value(judged: Verdicts) -> None:
    """Counted, not subtracted: 1 - 0.9 is less than 0.1."""
    for definition in DEFINITIONS:
        found = score(judged, definition=definition)
        for mode in MODES:
            counts = found.counts(mode)
            if found.value(mode) is None or counts is None:
                assert found.robustness(mode) is None
            else:
                exact = 1 - Fraction(counts.noisy, counts.total)
                assert found.robustness(mode) == float(exact)


@given(matrices())
def test_matrices_round_trip(table: Matrices) -> None:
    judged = Verdicts.from_matrices(**table)
    assert judged.to_matrices() == table
    assert Verdicts.from_matrices(**judged.to_matrices()) == judged


@given(verdicts())
def test_json_round_trips(judged: Verdicts) -> None:
    text = judged.model_dump_json()
    assert Verdicts.model_validate_json(text) == judged
    short = judged.model_dump(mode="json", exclude_defaults=True)
    assert Verdicts.model_validate(json.loads(json.dumps(short))) == judged


@given(verdicts())
def test_scores_are_json_ready_and_repeatable(judged: Verdicts) -> None:
    for definition in DEFINITIONS:
        first = score(judged, definition=definition).to_dict()
        again = score(Verdicts.model_validate(judged.model_dump()), definition=definition)
        # NaN and infinity are not JSON: there is none.
        assert json.dumps(first, allow_nan=False) == json.dumps(again.to_dict(), allow_nan=False)


def _with_columns(table: Matrices, order: list[int]) -> Matrices:
    return {
        "reference_to_response": table["reference_to_response"],
        "chunks_to_response": [[row[j] for j in order] for row in table["chunks_to_response"]],
        "chunks_to_reference": [
            [row[j] for j in order] for row in table["chunks_to_reference"] or []
        ],
        "relevant": [(table["relevant"] or [])[j] for j in order],
    }


def _figures(table: Matrices, definition: Any) -> dict[str, Any]:
    result = score(Verdicts.from_matrices(**table), definition=definition)
    return {mode: (result.value(mode), result.bounds(mode)) for mode in MODES}
