"""Through ``vm.tests.run_test``: tables, two figures and raw data, with the core's numbers."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import pandas as pd
import pytest
import validmind as vm
from plotly.graph_objects import Figure

from noisesense import Sample, Verdicts, score, write_recording
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName, Mode
from noisesense_adapters.validmind import TEST_ID, NoiseSensitivity
from support.tables import Shape, random_pairs

ALL = [
    (name, m) for name, d in DEFINITIONS.items() for m in MODES if m == "relevant" or d.irrelevant
]


def rows_of(result: Any) -> list[dict[str, Any]]:
    (found,) = result.tables
    rows: list[dict[str, Any]] = found.data.to_dict("records")
    return rows


def drawn(figure: Any) -> dict[str, list[float]]:
    """The values behind each trace."""
    return {trace.name: sorted(trace.x) for trace in figure.figure.data}


@pytest.mark.parametrize(("definition", "mode"), ALL)
def test_table_figures_and_raw_data(
    run: Any, table: pd.DataFrame, recording: Path, definition: DefinitionName, mode: Mode
) -> None:
    result = run(table, judge=str(recording), definition=definition, mode=mode)
    # By hand: what the examples' documents derive.
    values: list[Any] = [e.expected[definition][MODES.index(mode)] for e in reference_examples()]
    middle = round(mean(values), 4)
    assert rows_of(result) == [
        {
            **{"Mode": mode, "Definition": definition},
            **{"Mean Score": middle, "Median Score": round(median(values), 4)},
            **{"Max Score": round(max(values), 4), "Min Score": round(min(values), 4)},
            **{"Standard Deviation": round(stdev(values), 4), "Count": 6},
            **{"Mean Low": middle, "Mean High": middle, "Undetermined Claims": 0},
            **{"Undetermined": 0, "Undefined": 0, "Failed": 0},
        }
    ]
    raw = result.raw_data.evaluation_results
    assert raw[f"noise_sensitivity_{mode}"].tolist() == pytest.approx(values, abs=1e-12)
    histogram, box = result.figures
    assert drawn(histogram) == drawn(box) == {mode: sorted(raw[f"noise_sensitivity_{mode}"])}
    assert [trace.type for f in result.figures for trace in f.figure.data] == ["histogram", "box"]
    assert histogram.figure.layout.title.text == f"Noise Sensitivity ({mode})"
    assert result.raw_data.dataset == "answers"
    assert raw["response"].tolist() == table["response"].tolist()
    result.raw_data.inspect(show=True)  # ValidMind's own way of looking at it: as JSON
    assert result.raw_data.summary[mode]["mean"]["value"] == pytest.approx(mean(values))


def test_the_mode_is_relevant_unless_said_otherwise(
    run: Any, table: pd.DataFrame, recording: Path
) -> None:
    def modes(**params: Any) -> list[str]:
        result = run(table, judge=recording, **params)
        found = [row["Mode"] for row in rows_of(result)]
        assert [list(drawn(figure)) for figure in result.figures] == [found, found]
        return found

    assert modes() == ["relevant"]
    assert modes(mode="both") == ["relevant", "irrelevant"]
    assert modes(mode="both", definition="validmind") == ["relevant"]
    assert modes(focus="irrelevant") == ["irrelevant"]


def test_open_verdicts_leave_a_range(run: Any, tmp_path: Path) -> None:
    pairs = list(random_pairs(80, seed=40, shape=Shape(undetermined=0.1, labelled=0.2)))
    write_recording(tmp_path / "v.jsonl", pairs)
    table = pd.DataFrame([sample.model_dump(mode="json") for sample, _ in pairs])
    result = run(table, judge=tmp_path / "v.jsonl", mode="both")
    scores = [score(verdicts.beside(sample)) for sample, verdicts in pairs]
    for row, mode in zip(rows_of(result), MODES, strict=True):
        bounds = [found for each in scores if (found := each.bounds(mode))]
        left_open = sum(low != high for low, high in bounds)
        means = [round(mean(each[i] for each in bounds), 4) for i in (0, 1)]
        assert [row["Mean Low"], row["Mean High"]] == means
        assert row["Mean Score"] == row["Standard Deviation"] == "undetermined"
        assert (row["Count"], row["Undefined"]) == (80, 80 - len(bounds))
        assert row["Undetermined"] == left_open > 0
        raw, name = result.raw_data.evaluation_results, f"noise_sensitivity_{mode}"
        values = [each.value(mode) for each in scores]
        assert [None if v != v else v for v in raw[name]] == values
        assert raw[f"{name}_status"].tolist() == [each.status(mode) for each in scores]
        ends = zip(raw[f"{name}_low"].dropna(), raw[f"{name}_high"].dropna(), strict=True)
        assert list(ends) == bounds
        for figure in result.figures:
            assert drawn(figure)[mode] == sorted(value for value in values if value is not None)
            assert f"{left_open} {mode}" in figure.figure.layout.title.text


def test_responses_without_claims_are_undefined_or_as_asked(run: Any, tmp_path: Path) -> None:
    table = pd.DataFrame(
        [{"response": "I cannot say.", "reference": "It is red.", "retrieved_contexts": ["Red."]}]
    )
    sample = Sample.model_validate(table.to_dict("records")[0])
    write_recording(tmp_path / "v.jsonl", [(sample, Verdicts.from_matrices([], [], [[True]]))])
    result = run(table, judge=tmp_path / "v.jsonl", mode="irrelevant")
    (row,) = rows_of(result)
    names = ("Mean Score", "Max Score", "Min Score", "Standard Deviation", "Mean Low")
    assert [row[name] for name in names] == ["undefined"] * 5
    assert (row["Count"], row["Undefined"], row["Failed"]) == (1, 1, 0)
    zero = run(table, judge=tmp_path / "v.jsonl", mode="irrelevant", empty="zero")
    (row,) = rows_of(zero)
    assert (row["Mean Score"], row["Undefined"]) == (0.0, 0)


def test_validmind_describes_the_test(table: pd.DataFrame, recording: Path) -> None:
    details = vm.tests.describe_test(TEST_ID, raw=True)
    assert details["Name"] == "Noise Sensitivity"
    assert list(details["Required Inputs"]) == ["dataset"]
    # ValidMind's own first, in its order.
    assert list(details["Params"]) == [
        *("response_column", "retrieved_contexts_column", "reference_column", "focus"),
        *("user_input_column", "judge_llm", "judge_embeddings"),
        *("mode", "judge", "definition", "empty", "store"),
    ]
    headings = [line[4:] for line in details["Description"].splitlines() if line[:4] == "### "]
    own = ["Purpose", "Test Mechanism", "Signs of High Risk", "Strengths", "Limitations"]
    assert headings == own
    # It looks for tables and figures in the return type.
    annotation = inspect.signature(NoiseSensitivity).return_annotation
    assert vm.tests.load._inspect_return_type(annotation) == (True, True)
    # Offline ValidMind writes no text of its own about a result and shows the docstring.
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)
    params = {"judge": str(recording)}
    result = vm.tests.run_test(TEST_ID, inputs={"dataset": dataset}, params=params, show=False)
    assert "<h3>Signs of High Risk</h3>" in result.description


def test_called_as_a_function_in_a_notebook(table: pd.DataFrame, recording: Path) -> None:
    """There a loop is running while the test is called."""
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)

    async def cell() -> Any:
        return NoiseSensitivity(dataset, judge=recording)

    tables, histogram, box, raw = asyncio.run(cell())
    assert tables["Aggregate Scores"][0]["Mean Score"] == pytest.approx(7 / 36)  # unrounded
    assert isinstance(histogram, Figure)
    assert isinstance(box, Figure)
    assert isinstance(raw, vm.RawData)


def test_it_is_listed_and_found_by_its_tags() -> None:
    for search in ({}, {"filter": "noise"}, {"tags": ["noisesense"]}, {"task": "text_qa"}):
        assert TEST_ID in vm.tests.list_tests(pretty=False, **search)
    assert vm.tests.load_test(TEST_ID, reload=True) is NoiseSensitivity
    with pytest.raises(Exception, match=r"Unable to load test 'noisesense[.]Other'"):
        vm.tests.load_test("noisesense.Other")
