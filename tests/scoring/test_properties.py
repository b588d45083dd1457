"""What holds for every table."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense import Matrices, Verdicts, score
from noisesense.scoring.definitions import DEFINITIONS, MODES
from support.plain_definitions import by_words
from support.tables import Shape, matrices, random_matrices, verdicts


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("labeled", [0.0, 0.5, 1.0])
def test_a_second_implementation_agrees(definition: Any, labeled: float) -> None:
    """Robustness is counted, not subtracted: 1 - 0.9 is less than 0.1."""
    rng = random.Random(f"{definition} {labeled}")
    for _ in range(500):
        table = random_matrices(rng, Shape(labeled=labeled))
        result = score(Verdicts.from_matrices(**table), definition=definition)
        for mode in MODES:
            expected = by_words(table, definition, mode)
            value = result.value(mode)
            assert value == (None if expected is None else pytest.approx(float(expected), 1e-12))
            assert result.bounds(mode) == (None if value is None else (value, value))
            robust = None if expected is None else float(1 - expected)
            assert result.robustness(mode) == robust


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_of_claims_changes_nothing(table: Matrices, rng: random.Random) -> None:
    rows = [*zip(table["reference_to_response"], table["chunks_to_response"], strict=True)]
    reference = [*(table["chunks_to_reference"] or [])]
    rng.shuffle(rows)
    rng.shuffle(reference)
    shuffled: Any = {
        "reference_to_response": [correct for correct, _ in rows],
        "chunks_to_response": [row for _, row in rows],
        "chunks_to_reference": reference,
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
    correct, hallucination = map(result.partition.share, ("correct", "hallucination"))
    total = correct + result.relevant + result.irrelevant + hallucination
    assert total == pytest.approx(1, abs=1e-12)


@given(verdicts())
def test_every_definition_has_the_same_partition_and_finite_json(judged: Verdicts) -> None:
    partitions = set()
    for definition in DEFINITIONS:
        found = score(judged, definition=definition)
        partitions.add(found.partition)
        again = score(Verdicts.model_validate(judged.model_dump()), definition=definition)
        # NaN and infinity are not JSON: there is none.
        data = json.dumps(found.to_dict(), allow_nan=False)
        assert data == json.dumps(again.to_dict(), allow_nan=False)
    (partition,) = partitions
    assert partition.total == sum(partition) == len(judged.response_claims)


@given(matrices())
def test_matrices_and_json_round_trip(table: Matrices) -> None:
    judged = Verdicts.from_matrices(**table)
    assert judged.to_matrices() == table
    assert Verdicts.model_validate_json(judged.model_dump_json()) == judged
    short = judged.model_dump(mode="json", exclude_defaults=True)
    assert Verdicts.model_validate(json.loads(json.dumps(short))) == judged


def _with_columns(table: Matrices, order: list[int]) -> Matrices:
    def picked(rows: Any) -> list[Any]:
        return [[row[j] for j in order] for row in rows]

    return {
        "reference_to_response": table["reference_to_response"],
        "chunks_to_response": picked(table["chunks_to_response"]),
        "chunks_to_reference": picked(table["chunks_to_reference"]),
        "relevant": picked([table["relevant"]])[0],
    }


def _figures(table: Matrices, definition: Any) -> dict[str, Any]:
    result = score(Verdicts.from_matrices(**table), definition=definition)
    return {mode: (result.value(mode), result.bounds(mode)) for mode in MODES}
