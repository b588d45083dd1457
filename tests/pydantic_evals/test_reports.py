"""Dataset files with a schema, and a report with several evaluators over the same cases."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from noisesense import Sample, Verdicts


class Fixed:
    """A judge by which one of two claims is incorrect, or both are; the chunk entails them."""

    def __init__(self, name: str, incorrect: int) -> None:
        self.name, self.incorrect = name, incorrect

    def __repr__(self) -> str:
        return self.name

    async def judge(self, sample: Sample) -> Verdicts:
        correct = [number >= self.incorrect for number in range(2)]
        return Verdicts.from_matrices(correct, [[True], [True]], relevant=[True])


def dataset(*evaluators: Any, report_evaluators: Any = ()) -> Any:
    from pydantic_evals import Case, Dataset

    case: Any = Case(
        name="one", inputs="q", expected_output="r", metadata={"contexts": ["A portrait."]}
    )
    return Dataset[str, str, dict[str, Any]](
        name="rag", cases=[case], evaluators=evaluators, report_evaluators=report_evaluators
    )


def test_a_dataset_is_written_with_its_schema(tmp_path: Path) -> None:
    from pydantic_evals import Dataset

    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    path = tmp_path / "rag.yaml"
    given = NoiseSensitivity(model="openai:gpt-4.1-mini", definition="paper")
    dataset(given).to_file(path, custom_evaluator_types=[NoiseSensitivity])
    assert "NoiseSensitivity" in (tmp_path / "rag_schema.json").read_text("utf-8")
    read: Any = Dataset[str, str, dict[str, Any]].from_file(
        path, custom_evaluator_types=[NoiseSensitivity]
    )
    assert read.evaluators == [given]


def test_each_evaluator_has_its_own_name_and_table() -> None:
    from noisesense_adapters.pydantic_evals import NoiseSensitivity, NoiseSensitivitySummary

    half, all_of_it = Fixed("first", 1), Fixed("second", 2)
    evaluators = [
        NoiseSensitivity(judge=half, mode="relevant"),
        NoiseSensitivity(judge=all_of_it, mode="relevant"),
        NoiseSensitivity(judge=half, mode="relevant", definition="paper"),
    ]
    run = dataset(*evaluators, report_evaluators=[NoiseSensitivitySummary()])
    report = asyncio.run(run.evaluate(lambda _: "An answer.", progress=False))
    scores = {name: result.value for name, result in report.cases[0].scores.items()}
    assert scores.pop("noise_sensitivity_relevant_paper") == 0.5
    assert sorted(scores.values()) == [0.5, 1.0]
    means = {table.title: table.rows[0][1] for table in report.analyses}
    assert means == {
        "Noise sensitivity (definition ragas, judge first)": 0.5,
        "Noise sensitivity (definition ragas, judge second)": 1.0,
        "Noise sensitivity (definition paper, judge first)": 0.5,
    }
