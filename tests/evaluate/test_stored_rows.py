"""A run's figures from what a host stored beside its scores."""

from __future__ import annotations

import json
import math

import pytest

from noisesense import InputError, Result, Verdicts, score
from noisesense_adapters.evaluate.rows import as_scored, summary_of


def stored(definition: str = "ragas", *, echoes: bool = False) -> dict[str, object]:
    """As JSON: one incorrect claim from one relevant chunk, so that the relevant score is 1."""
    verdicts = Verdicts.from_matrices([False], [[True]], relevant=[True])
    scored = score(verdicts, definition=definition)
    kept: dict[str, object] = json.loads(json.dumps(as_scored(Result("any", scored))))
    return {"status": "determined", "scored": {**kept, "echoes": echoes}}


def test_a_row_without_a_score_has_failed() -> None:
    rows = [[stored(), {"status": "determined"}], [], [math.nan, None], [{"status": "error"}]]
    summary = summary_of(rows, "ragas")
    assert summary.samples == 4
    assert summary.failed == 3
    assert summary.relevant is not None
    assert tuple(summary.relevant.mean) == (1.0, 1.0)


def test_a_score_under_another_definition_is_another_run() -> None:
    rows = [[stored("paper"), stored()], [stored("paper")]]
    assert summary_of(rows, "ragas").failed == 1
    assert summary_of(rows, "paper").failed == 0
    with pytest.raises(InputError, match="definition"):
        summary_of(rows, "papper")  # type: ignore[arg-type]


def test_a_row_with_two_scores_under_the_definition_counts_once() -> None:
    """As of two judges, or of one evaluator for each mode."""
    echo = stored(echoes=True)
    assert summary_of([[echo, echo], [echo]], "ragas").echoes == 2
    summary = summary_of([[echo, stored()], [stored(), echo]], "ragas")
    assert summary.samples == 2
    assert summary.echoes == 1
