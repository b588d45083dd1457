"""Columns by name, by path and by a function; contexts in every form; rows that cannot be read."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import validmind as vm

from noisesense import NoiseSenseError, score


def scores(result: Any) -> list[float]:
    found: list[float] = result.raw_data.evaluation_results["noise_sensitivity_relevant"].tolist()
    return found


@pytest.fixture
def want(pairs: Any) -> list[float | None]:
    return [score(verdicts).relevant for _, verdicts in pairs]


def test_columns_by_other_names_paths_and_functions_are_read(
    run: Any, table: pd.DataFrame, recording: Path, want: Any
) -> None:
    rows = table.to_dict("records")
    deep = [{"a": {"b": row}} for row in rows]
    data = pd.DataFrame({"my question": table.user_input, "rag": rows, "deep": deep})
    paths = {
        "reference_column": "rag.reference",
        "retrieved_contexts_column": "deep.a.b.retrieved_contexts",
    }
    # ValidMind's functions are given a pandas Series.
    for response, question in (
        ("rag.response", "my question"),
        (lambda row: row.rag["response"], "rag.user_input"),
    ):
        columns = {**paths, "response_column": response, "user_input_column": question}
        assert scores(run(data, judge=recording, **columns)) == want


def test_the_predictions_of_a_model_are_read(
    run: Any, table: pd.DataFrame, recording: Path, want: Any
) -> None:
    """ValidMind keeps them out of ``dataset.df``."""
    answers = {row.user_input: row for row in table.itertuples()}

    def rag(row: dict[str, Any]) -> dict[str, Any]:
        known = answers[row["user_input"]]
        return {"answer": known.response, "docs": json.dumps(known.retrieved_contexts)}

    asked = table[["user_input", "reference"]].copy()
    dataset = vm.init_dataset(dataset=asked, input_id="asked", __log=False)
    dataset.assign_predictions(vm.init_model(input_id="rag", predict_fn=rag, __log=False))
    columns = {"response_column": "rag_answer", "retrieved_contexts_column": "rag_docs"}
    assert scores(run(dataset, judge=recording, **columns)) == want


def test_a_sample_that_fails_is_loud_and_the_others_go_on(
    run: Any, table: pd.DataFrame, recording: Path
) -> None:
    table.index = pd.Index([f"q{i}" for i in range(6)])
    table.loc["q2", "response"] = np.nan
    table.loc["q3", "response"] = "Nobody recorded this."
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("noisesense").addHandler(handler)
    try:
        result = run(table, judge=recording)
    finally:
        logging.getLogger("noisesense").removeHandler(handler)
    errors = result.raw_data.evaluation_results["error"].dropna()
    assert errors.index.tolist() == ["q2", "q3"]
    assert errors["q2"].startswith("dataset 'answers', row q2, response, 'response': expected a")
    assert "row q3, " in errors["q3"]
    assert lines == [f"2 of 6 samples failed. The first: {errors['q2']}"]
    (row,) = result.tables[0].data.to_dict("records")
    assert row["Mean Score"] == 0.125  # (0.5 + 0 + 0 + 0) / 4
    assert row["Count"] == 6
    assert row["Failed"] == 2
    assert row["Undefined"] == 0
    with pytest.raises(NoiseSenseError, match=r"6 of 6 samples failed\. The first: dataset"):
        run(table.assign(response="Nobody recorded this."), judge=recording)
