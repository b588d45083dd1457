"""Columns by name, by path and by a function; contexts in every form; rows that cannot be read."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import validmind as vm

from noisesense import InputError, NoiseSenseError, RecordedJudge, score, summarize
from noisesense_adapters.validmind import NoiseSensitivity


def scores(result: Any) -> list[float]:
    found: list[float] = result.raw_data.evaluation_results["noise_sensitivity_relevant"].tolist()
    return found


@pytest.fixture
def want(pairs: Any) -> list[float | None]:
    return [score(verdicts).relevant for _, verdicts in pairs]


def test_other_names(run: Any, table: pd.DataFrame, recording: Path, want: Any) -> None:
    renamed = table.rename(columns=lambda name: f"my {name}").assign(response="another text")
    columns = {f"{name}_column": f"my {name}" for name in table.columns}
    assert scores(run(renamed, judge=recording, **columns)) == want


def test_paths_into_a_column_of_dictionaries(
    run: Any, table: pd.DataFrame, recording: Path, want: Any
) -> None:
    rows = table.to_dict("records")
    nested = pd.DataFrame({"rag": rows, "deep": [{"a": {"b": row}} for row in rows]})
    result = run(
        nested,
        judge=recording,
        response_column="rag.response",
        reference_column="rag.reference",
        retrieved_contexts_column="deep.a.b.retrieved_contexts",
        user_input_column="rag.user_input",
    )
    assert scores(result) == want


def test_functions_of_the_row(run: Any, table: pd.DataFrame, recording: Path, want: Any) -> None:
    parts = table.assign(
        said=[text.split(" ") for text in table.response],
        docs=[[{"body": text} for text in texts] for texts in table.retrieved_contexts],
    ).drop(columns=["response", "retrieved_contexts"])
    result = run(
        parts,
        judge=recording,
        response_column=lambda row: " ".join(row["said"]),
        # As an attribute: ValidMind's functions are given a pandas Series.
        retrieved_contexts_column=lambda row: [doc["body"] for doc in row.docs],
    )
    assert scores(result) == want


def test_the_predictions_of_a_model(
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
    result = run(
        dataset,
        judge=recording,
        response_column="rag_answer",
        retrieved_contexts_column="rag_docs",
    )
    assert scores(result) == want


@pytest.mark.parametrize(
    "form",
    [
        tuple,
        np.array,
        json.dumps,
        repr,
        lambda texts: [{"text": text, "rank": i} for i, text in enumerate(texts)],
        lambda texts: [{"page_content": text, "metadata": {}} for text in texts],
    ],
    ids=["tuple", "array", "JSON", "Python", "objects", "LangChain's documents"],
)
def test_forms_of_contexts(
    run: Any, table: pd.DataFrame, recording: Path, want: Any, form: Any
) -> None:
    cells = pd.Series([form(texts) for texts in table.retrieved_contexts], dtype=object)
    assert scores(run(table.assign(retrieved_contexts=cells), judge=recording)) == want


def test_one_text_is_no_list(run: Any, table: pd.DataFrame, recording: Path) -> None:
    texts = table.assign(retrieved_contexts=[texts[0] for texts in table.retrieved_contexts])
    expected = "row 0, retrieved_contexts_column: expected a list of texts, got '.*lambda row: "
    with pytest.raises(InputError, match=expected):
        run(texts, judge=recording)


def test_where_nothing_was_retrieved_there_is_nothing_to_measure(
    run: Any, table: pd.DataFrame, recording: Path, want: Any
) -> None:
    cells = pd.Series([[], *table.retrieved_contexts[1:]], dtype=object)
    result = run(table.assign(retrieved_contexts=cells), judge=recording)
    first, *others = scores(result)
    assert want[0] == 0.5
    assert math.isnan(first)
    assert others == want[1:]
    reasons = result.raw_data.evaluation_results["noise_sensitivity_relevant_reason"]
    assert reasons[0].endswith("is undefined: nothing was retrieved.")
    assert (result.raw_data.summary["failed"], result.raw_data.summary["samples"]) == (0, 6)


def test_labels_win(run: Any, table: pd.DataFrame, pairs: Any, recording: Path) -> None:
    """With every chunk labelled irrelevant there is no noise from relevant ones."""
    labelled = [[{"text": t, "relevant": False} for t in c] for c in table.retrieved_contexts]
    result = run(table.assign(retrieved_contexts=labelled), judge=recording, mode="both")
    assert scores(result) == [0.0] * len(pairs)
    assert result.raw_data.summary["irrelevant"]["mean"]["low"] > 0


def test_a_polars_table(run: Any, table: pd.DataFrame, recording: Path, want: Any) -> None:
    data = pl.DataFrame(table.to_dict("list"))
    dataset = vm.init_dataset(dataset=data, input_id="answers", __log=False)
    assert scores(run(dataset, judge=recording)) == want


def test_a_question_is_not_needed(run: Any, table: pd.DataFrame, tmp_path: Path) -> None:
    class Judge:
        async def judge(self, sample: Any) -> Any:
            assert sample.user_input == ""
            return sample

    # The judge was asked, and gave no verdicts.
    with pytest.raises(NoiseSenseError, match="Judge failed with AttributeError"):
        run(table.drop(columns="user_input"), judge=Judge())
    with pytest.raises(InputError, match="row 0, user_input_column: expected a column 'asked'"):
        run(table.drop(columns="user_input"), judge=Judge(), user_input_column="asked")


def test_a_column_that_is_not_there(run: Any, table: pd.DataFrame, recording: Path) -> None:
    where = "dataset 'answers', row 0, reference_column: expected a"
    with pytest.raises(InputError, match=f"{where} column 'truth', got only 'user_input', 'resp"):
        run(table, judge=recording, reference_column="truth")
    with pytest.raises(InputError, match=f"{where} row that the given function can read"):
        run(table, judge=recording, reference_column=lambda row: row["truth"])
    with pytest.raises(InputError, match=r"^reference_column: expected a column's name, a dotted"):
        run(table, judge=recording, reference_column=3)


def test_no_rows_and_no_dataset(run: Any, table: pd.DataFrame, recording: Path) -> None:
    with pytest.raises(InputError, match="dataset 'answers': expected at least one row, got none"):
        run(table.iloc[:0], judge=recording)
    with pytest.raises(InputError, match="dataset: expected a ValidMind dataset, got str"):
        NoiseSensitivity("answers.csv", judge=recording)


def test_a_sample_that_fails_is_loud_and_the_others_go_on(
    run: Any, table: pd.DataFrame, pairs: Any, recording: Path
) -> None:
    table.index = pd.Index([f"q{i}" for i in range(6)])
    table.loc["q2", "response"] = np.nan
    table.loc["q3", "response"] = "Nobody recorded this."
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("noisesense").addHandler(handler)
    try:
        result = run(table, judge=RecordedJudge(recording))
    finally:
        logging.getLogger("noisesense").removeHandler(handler)
    unread = "dataset 'answers', row q2, response: expected a string, got None"
    errors = result.raw_data.evaluation_results["error"].dropna()
    assert errors.index.tolist() == ["q2", "q3"]
    assert errors["q2"] == unread
    assert "row q3, " in errors["q3"]
    assert "line 4 differs only in response" in errors["q3"]
    assert lines == [f"failed: {error}" for error in errors]
    (row,) = result.tables[0].data.to_dict("records")
    others = [verdicts for i, (_, verdicts) in enumerate(pairs) if i not in (2, 3)]
    rest = summarize(map(score, others)).relevant
    assert rest is not None
    assert row["Mean Score"] == rest.mean.value == 0.125  # (0.5 + 0 + 0 + 0) / 4
    assert (row["Count"], row["Failed"], row["Undefined"]) == (6, 2, 0)
    raw = result.raw_data.evaluation_results["noise_sensitivity_relevant"]
    assert raw[["q2", "q3"]].isna().all()


def test_no_sample_is_scored(run: Any, table: pd.DataFrame, recording: Path) -> None:
    with pytest.raises(NoiseSenseError, match="none of 6 samples was scored"):
        run(table.assign(response="Nobody recorded this."), judge=recording)
