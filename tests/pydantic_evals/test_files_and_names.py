"""A dataset's file with our evaluator in it, and what a summary of several shows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic_evals import Case, Dataset

from noisesense import Sample, Verdicts
from noisesense_adapters.pydantic_evals import NoiseSensitivity, NoiseSensitivitySummary


class Fixed:
    """One claim, which the chunk entails, or not."""

    def __init__(self, name: str, *, noisy: bool) -> None:
        self.name = name
        self._noisy = noisy

    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts.from_matrices([False], [[self._noisy]], [[True]])


def test_a_file_with_the_evaluator_is_written_and_read(tmp_path: Path) -> None:
    evaluator = NoiseSensitivity(judge="verdicts.jsonl", mode="relevant", max_noise=0.2)
    dataset = Dataset[str, str, Any](name="rag", cases=[Case(inputs="q")], evaluators=[evaluator])
    dataset.to_file(tmp_path / "rag.yaml", custom_evaluator_types=[NoiseSensitivity])
    read = Dataset[str, str, Any].from_file(
        tmp_path / "rag.yaml", custom_evaluator_types=[NoiseSensitivity]
    )
    assert read.evaluators == [evaluator]


def test_the_averages_say_what_share_of_the_cases_they_are_over() -> None:
    """The mean of two of four cases read as that of all."""
    cases = [
        Case(name=str(n), inputs="q", expected_output="e", metadata={"contexts": ["c"] * (n < 2)})
        for n in range(4)
    ]
    judge = Fixed("a", noisy=True)
    dataset = Dataset(name="rag", cases=cases, evaluators=[NoiseSensitivity(judge=judge)])
    report = asyncio.run(dataset.evaluate(lambda _: "r", progress=False))
    averages = report.averages()
    assert averages is not None
    assert averages.scores["noise_sensitivity_relevant"] == 1.0
    shares = averages.labels["noise_sensitivity_relevant_status"]
    assert shares == {"determined": 0.5, "undefined": 0.5}


def test_an_undefined_score_fails_its_assertion() -> None:
    """Of two answers one has nothing to measure."""
    documents = ({"contexts": ["c"]}, {"contexts": []})
    cases = [Case(inputs="q", expected_output="e", metadata=each) for each in documents]
    evaluator = NoiseSensitivity(judge=Fixed("a", noisy=False), mode="relevant", max_noise=0.2)
    dataset = Dataset(
        name="rag",
        cases=cases,
        evaluators=[evaluator],
        report_evaluators=[NoiseSensitivitySummary()],
    )
    report = asyncio.run(dataset.evaluate(lambda _: "r", progress=False))
    assert report.averages().assertions == 0.5
    (table,) = report.analyses
    row = dict(zip(table.columns, table.rows[0], strict=True))  # type: ignore[union-attr]
    assert (row["undefined"], row["failed"]) == (1, 0)
    assert "For 1 of 2 questions nothing was retrieved" in table.description  # type: ignore[union-attr]


def test_the_repetitions_of_a_case_are_answers_to_one_question() -> None:
    cases = [
        Case(name=question, inputs=question, expected_output="e", metadata={"contexts": ["c"]})
        for question in ("one?", "two?")
    ]
    dataset = Dataset(
        name="rag",
        cases=cases,
        evaluators=[NoiseSensitivity(judge=Fixed("mine", noisy=True))],
        report_evaluators=[NoiseSensitivitySummary()],
    )
    report = asyncio.run(dataset.evaluate(lambda _: "r", progress=False, repeat=3))
    (table,) = report.analyses
    assert "6 answers to 2 questions" in table.description
