"""A run's figures from what a host stored beside its scores."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest

from noisesense import InputError, Result, Sample, Verdicts, gate_run, score
from noisesense.scoring.definitions import MODES, Mode
from noisesense_adapters.evaluate.rows import as_scored, mean_of, summary_of


def stored(
    definition: str = "ragas",
    *,
    echoes: bool = False,
    modes: Sequence[Mode] = MODES,
) -> dict[str, object]:
    """As JSON: one incorrect claim from one relevant chunk, so that the relevant score is 1."""
    response = "It is so." if echoes else "It is not."
    sample = Sample(response=response, reference="It is so.", retrieved_contexts=["c"])  # type: ignore[list-item]
    verdicts = Verdicts.from_matrices([False], [[True]], relevant=[True]).with_sample(sample)
    result = Result("any", score(verdicts, definition=definition), sample=sample)
    scored = json.loads(json.dumps(as_scored(result, modes)))
    return {"status": "determined", "scored": scored}


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


def test_a_row_with_an_evaluator_for_each_mode_counts_once() -> None:
    both = [stored(echoes=True, modes=[mode]) for mode in MODES]
    summary = summary_of([both] * 5, "ragas")
    assert summary.samples == 5
    assert "the response is the reference, word for word, in 5 of 5 samples" in summary.notes


@pytest.mark.parametrize("mode", MODES)
def test_the_gate_of_a_run_reads_both_modes(mode: Mode) -> None:
    """The relevant mean is 1, whatever the evaluator was asked for."""
    summary = summary_of([[stored(modes=[mode])]] * 2, "ragas")
    assert gate_run(summary, 0.5).outcome == "fail"
    assert gate_run(summary, 0.5, mode="irrelevant").passed


def test_the_signs_of_a_broken_run_are_seen_without_the_texts() -> None:
    """Four of six rows have one page of an error for a chunk, and it supports nothing."""
    page = "<html><title>503</title>" + "The service is down. " * 10
    rows: list[list[object]] = []
    for number in range(6):
        is_down = number < 4
        sample = Sample(
            response=f"An answer, which is longer than what is kept of it, to question {number}.",
            reference="It is so.",
            retrieved_contexts=(page if is_down else f"Chunk {number}.",),  # type: ignore[arg-type]
        )
        verdicts = Verdicts.from_matrices([not is_down], [[not is_down]], [[not is_down]])
        result = Result("any", score(verdicts.with_sample(sample)), sample=sample)
        kept = json.dumps(as_scored(result, ["relevant"]))
        assert "The service is down" not in kept
        rows.append([{"scored": json.loads(kept)}])
    summary = summary_of(rows, "ragas")
    assert [sign.name for sign in summary.signs] == ["same-context"]
    assert (
        "A sign that the run is broken: the chunks are the same, in 4 of 6 samples"
        in mean_of(summary, "relevant").reason
    )
    assert gate_run(summary, 0.5).outcome == "not measured"
