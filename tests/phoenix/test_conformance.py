"""The evaluator in Phoenix's own ``evaluate_dataframe``, row by row and at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import DefinitionName, Judge, Sample
from noisesense.scoring.definitions import MODES
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, score_name, usage_in
from support.row_hosts import by_phoenix, by_phoenix_in_turn, rows_of_samples

# Of its own older modules, when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:The phoenix.evals.*deprecated:DeprecationWarning")


def shown_row(row: Any, definition: str) -> ShownRow:
    (details,) = (row[name] for name in row if name.endswith("_execution_details"))
    if details["status"] != "COMPLETED":
        return ShownRow(error=str(details["exceptions"]))
    modes: dict[Any, Shown] = {}
    for mode in MODES:
        score = row.get(f"{score_name(mode, definition)}_score")
        if score is not None:
            assert score["direction"] == "minimize"
            modes[mode] = Shown(score.get("score"), score["explanation"])
    return ShownRow(modes)


def averages(dataframe: Any, definition: str) -> dict[Any, float]:
    """By the dataframe that Phoenix uploads as annotations."""
    from phoenix.evals.utils import to_annotation_dataframe

    spans = dataframe.assign(span_id=[str(number) for number in range(len(dataframe))])
    annotations = to_annotation_dataframe(dataframe=spans)
    if annotations.empty:
        return {}
    means = annotations.groupby("annotation_name")["score"].mean()
    names = {mode: score_name(mode, definition) for mode in MODES}
    return {mode: float(means[name]) for mode, name in names.items() if name in means}


class TestPhoenix(ExperimentTests):
    at_once = False  # which takes a second until its workers end, in each run

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from noisesense_adapters.phoenix import NoiseSensitivity  # not in every process

        evaluator = NoiseSensitivity(judge=judge, definition=definition)
        evaluated = by_phoenix if self.at_once else by_phoenix_in_turn
        dataframe = evaluated(rows_of_samples(samples), evaluator)
        rows = dataframe.to_dict("records")
        scores = [row[name] for row in rows for name in row if name.endswith("_score")]
        return HostRun(
            [shown_row(row, definition) for row in rows],
            stored=repr(rows),
            averages=averages(dataframe, definition),
            usage=usage_in(score["metadata"] for score in scores if score is not None),
        )

    def test_concurrent_rows_do_not_mix(self) -> None:
        self.at_once = True
        super().test_concurrent_rows_do_not_mix()

    def test_two_runs_at_once(self) -> None:
        self.at_once = True
        super().test_two_runs_at_once()

    def test_failure_stays_in_its_row(self) -> None:
        self.at_once = True
        super().test_failure_stays_in_its_row()


def test_the_column_reference_is_what_phoenix_retrieved() -> None:
    """Taken for the reference, the retrieved text would support every noisy claim."""
    from noisesense.errors import InputError
    from noisesense_adapters.phoenix import NoiseSensitivity
    from support.table_judge import TableJudge

    row = {"input": "q", "output": "It is red.", "reference": "It is red.", "context": ["It is."]}
    evaluator = NoiseSensitivity(judge=TableJudge([]))
    with pytest.raises(InputError, match="the reference at 'expected_output' or"):
        evaluator.evaluate(row)


def test_columns_are_bound_by_our_names() -> None:
    """To any column; older versions of Phoenix handed on what was bound, and nothing else."""
    from phoenix.evals import bind_evaluator

    from noisesense_adapters.phoenix import NoiseSensitivity
    from support.table_judge import TableJudge, all_from

    sample = Sample(user_input="q", response="r", reference="g", retrieved_contexts=("c",))
    evaluator = NoiseSensitivity(judge=TableJudge([all_from(sample, False)]))
    bound = bind_evaluator(
        evaluator=evaluator, input_mapping={"reference": "gold", "response": "bot.text"}
    )
    row = {"input": "q", "bot": {"text": "r"}, "gold": "g", "reference": "c", "context": ["c"]}
    assert [score.score for score in bound.evaluate(row)] == [1.0, 0.0]


def test_a_frame_read_from_csv_has_the_same_summaries(tmp_path: Path) -> None:
    """Its cells are texts: every row counted as failed. Phoenix keeps one judge of a name."""
    import pandas as pd
    from phoenix.evals import evaluate_dataframe

    from noisesense_adapters.phoenix import NoiseSensitivity, run_summary
    from support.table_judge import TableJudge, all_from

    samples = [
        Sample(user_input=f"q{i}", response="r", reference="g", retrieved_contexts=("c",))
        for i in range(2)
    ]
    strict, lenient = (
        TableJudge([all_from(sample, correct) for sample in samples]) for correct in (False, True)
    )
    rows = [
        {"input": f"q{i}", "output": "r", "expected_output": "g", "retrieved_contexts": ["c"]}
        for i in range(2)
    ]
    frame = pd.DataFrame(rows)
    metrics: list[Any] = [NoiseSensitivity(judge=strict)]
    metrics.append(NoiseSensitivity(name="lenient", judge=lenient))
    evaluated = evaluate_dataframe(dataframe=frame, evaluators=metrics)
    evaluated.to_csv(tmp_path / "run.csv")
    assert run_summary(evaluated).relevant.mean == (1.0, 1.0)
    assert run_summary(evaluated, name="lenient").relevant.mean == (0.0, 0.0)
    assert run_summary(pd.read_csv(tmp_path / "run.csv")) == run_summary(evaluated)
