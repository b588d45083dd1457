"""Through ``vm.tests.run_test``: a table, two figures and raw data, with the core's numbers."""

from __future__ import annotations

import asyncio
import inspect
import statistics
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import validmind as vm
from plotly.basedatatypes import BaseFigure
from plotly.graph_objects import Figure

from noisesense import (
    InputError,
    ModeSummary,
    Range,
    Sample,
    Verdicts,
    score,
    summarize,
    write_recording,
)
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName, Mode
from noisesense_adapters.validmind import TEST_ID, NoiseSensitivity
from noisesense_adapters.validmind.result import RiskThresholds, risk_signs
from support.tables import Shape, random_pairs

ALL = [
    (name, m) for name, d in DEFINITIONS.items() for m in MODES if m == "relevant" or d.irrelevant
]


def expected(
    pairs: list[tuple[Sample, Verdicts]], mode: Mode, definition: DefinitionName = "ragas"
) -> ModeSummary:
    found = summarize(score(v.beside(s), definition=definition) for s, v in pairs).mode(mode)
    assert found is not None
    return found


def rounded(figure: Range | float | None, missing: str = "undefined") -> float | str:
    """As a table of ValidMind shows it: no figure where its ends do not meet."""
    if isinstance(figure, Range):
        figure = figure.low if figure.low == figure.high else None
    return missing if figure is None else round(figure, 4)


def is_the_row(row: dict[str, Any], want: ModeSummary) -> None:
    assert row["Mode"] == want.mode
    missing = "undetermined" if want.undetermined else "undefined"
    assert row["Mean Score"] == rounded(want.mean, missing)
    assert row["Median Score"] == rounded(want.median, missing)
    assert row["Max Score"] == rounded(want.maximum, missing)
    lowest = [min(ends) for ends in zip(*(each for each, _ in want.ranges), strict=True)]
    assert row["Min Score"] == rounded(Range(*lowest) if lowest else None, missing)
    values = [value for value, times in want.distribution for _ in range(times)]
    stdev = None if want.undetermined or len(values) < 2 else statistics.stdev(values)
    assert row["Standard Deviation"] == rounded(stdev, missing)
    assert want.mean is not None
    assert (row["Mean Low"], row["Mean High"]) == tuple(map(rounded, want.mean))
    assert (row["Undetermined"], row["Undefined"]) == (want.undetermined, want.undefined)
    assert row["Undetermined Claims"] == want.claims.total - want.claims.determined


def rows_of(result: Any, title: str) -> list[dict[str, Any]]:
    (found,) = [each for each in result.tables if each.title == title]
    rows: list[dict[str, Any]] = found.data.to_dict("records")
    return rows


def drawn(figure: Any) -> dict[str, list[float]]:
    """The values behind each trace."""
    assert isinstance(figure.figure, BaseFigure)
    return {trace.name: sorted(trace.x) for trace in figure.figure.data}


@pytest.mark.parametrize(("definition", "mode"), ALL)
def test_table_figures_and_raw_data(
    run: Any,
    table: pd.DataFrame,
    pairs: Any,
    recording: Path,
    definition: DefinitionName,
    mode: Mode,
) -> None:
    result = run(table, judge=str(recording), definition=definition, mode=mode)
    want = expected(pairs, mode, definition)
    (row,) = rows_of(result, "Aggregate Scores")
    is_the_row(row, want)
    assert (row["Definition"], row["Count"], row["Failed"]) == (definition, 6, 0)
    # By hand, too: what the examples' documents derive.
    documented = [e.expected[definition][MODES.index(mode)] for e in reference_examples()]
    raw = result.raw_data.evaluation_results
    assert raw[f"noise_sensitivity_{mode}"].tolist() == pytest.approx(documented, abs=1e-12)
    histogram, box = result.figures
    assert drawn(histogram) == drawn(box) == {mode: sorted(raw[f"noise_sensitivity_{mode}"])}
    assert [trace.type for f in result.figures for trace in f.figure.data] == ["histogram", "box"]
    assert histogram.figure.layout.title.text == f"Noise Sensitivity ({mode})"
    assert box.figure.layout.title.text == f"Noise Sensitivity Distribution ({mode})"
    assert result.raw_data.dataset == "answers"
    assert result.raw_data.summary[mode]["mean"]["value"] == want.mean.value  # type: ignore[union-attr]


def test_the_mode_is_relevant_unless_said_otherwise(
    run: Any, table: pd.DataFrame, recording: Path
) -> None:
    def modes(**params: Any) -> list[str]:
        result = run(table, judge=recording, **params)
        assert len(result.figures) == 2
        found = [row["Mode"] for row in rows_of(result, "Aggregate Scores")]
        assert [list(drawn(figure)) for figure in result.figures] == [found, found]
        return found

    assert modes() == ["relevant"]
    assert modes(mode="both") == ["relevant", "irrelevant"]
    assert modes(mode="both", definition="validmind") == ["relevant"]
    with pytest.warns(DeprecationWarning, match="use mode="):
        assert modes(focus="irrelevant") == ["irrelevant"]
    with pytest.warns(DeprecationWarning, match="use mode="):
        assert modes(focus="irrelevant", mode="irrelevant") == ["irrelevant"]


def test_raw_data_hold_both_modes_with_reasons(
    run: Any, table: pd.DataFrame, pairs: Any, recording: Path
) -> None:
    raw = run(table.set_index("user_input", drop=False), judge=recording).raw_data
    found = raw.evaluation_results
    assert found.index.tolist() == table.user_input.tolist()
    for column in ("user_input", "response", "reference", "retrieved_contexts"):
        assert found[column].tolist() == table[column].tolist()
    for mode in MODES:
        scores = [score(verdicts) for _, verdicts in pairs]
        assert found[f"noise_sensitivity_{mode}"].tolist() == [s.value(mode) for s in scores]
        assert found[f"noise_sensitivity_{mode}_reason"].tolist() == [
            s.reason(mode) for s in scores
        ]
    assert found["error"].tolist() == [None] * 6
    raw.inspect(show=True)  # ValidMind's own way of looking at it: as JSON


def test_a_larger_dataset_with_undetermined_verdicts(run: Any, tmp_path: Path) -> None:
    pairs = list(random_pairs(80, seed=40, shape=Shape(undetermined=0.1, labelled=0.2)))
    write_recording(tmp_path / "v.jsonl", pairs)
    table = pd.DataFrame([sample.model_dump(mode="json") for sample, _ in pairs])
    result = run(table, judge=tmp_path / "v.jsonl", mode="both")
    for row, mode in zip(rows_of(result, "Aggregate Scores"), MODES, strict=True):
        want = expected(pairs, mode)
        is_the_row(row, want)
        assert want.undefined > 0
        assert want.undetermined > 0
        assert (row["Count"], row["Mean Score"]) == (80, "undetermined")
        assert row["Mean Low"] < row["Mean High"]
        scores = [score(v.beside(s)) for s, v in pairs]
        raw, name = result.raw_data.evaluation_results, f"noise_sensitivity_{mode}"
        values = [each.value(mode) for each in scores]
        assert known(raw[name]) == values
        assert raw[f"{name}_status"].tolist() == [each.status(mode) for each in scores]
        ends = zip(known(raw[f"{name}_low"]), known(raw[f"{name}_high"]), strict=True)
        assert list(ends) == [each.bounds(mode) or (None, None) for each in scores]
        determined = sorted(value for value in values if value is not None)
        assert len(determined) == want.determined
        for figure in result.figures:
            assert drawn(figure)[mode] == determined
            _, told = figure.figure.layout.title.text.split(", undetermined left out: ")
            assert f"{want.undetermined} {mode}" in told
        mean = result.raw_data.summary[mode]["mean"]
        assert (mean["low"], mean["high"]) == want.mean


@pytest.mark.parametrize(("choice", "end"), [("low", 0), ("high", 1)])
def test_what_open_verdicts_count_as(run: Any, tmp_path: Path, choice: str, end: int) -> None:
    """The chosen values are drawn and averaged; the range stays what it is."""
    pairs = list(random_pairs(30, seed=60, shape=Shape(undetermined=0.1, labelled=0.2)))
    write_recording(tmp_path / "v.jsonl", pairs)
    table = pd.DataFrame([sample.model_dump(mode="json") for sample, _ in pairs])
    result = run(table, judge=tmp_path / "v.jsonl", mode="relevant", undetermined=choice)
    (row,) = rows_of(result, "Aggregate Scores")
    bounds = [found for s, v in pairs if (found := score(v.beside(s)).bounds("relevant"))]
    assert row["Undetermined"] == sum(low != high for low, high in bounds) > 0
    means = [round(sum(each[i] for each in bounds) / len(bounds), 4) for i in (0, 1)]
    assert [row["Mean Low"], row["Mean High"]] == means
    assert row["Mean Score"] == means[end]
    assert [drawn(f)["relevant"] for f in result.figures] == [sorted(b[end] for b in bounds)] * 2
    as_what = {"low": "as no noise", "high": "as noise"}[choice]
    for figure in result.figures:
        title = figure.figure.layout.title.text
        assert title.endswith(f", undetermined {as_what}: {row['Undetermined']} relevant")
    raw = result.raw_data.evaluation_results
    assert "counted as" in "".join(filter(None, raw["noise_sensitivity_relevant_reason"]))
    with pytest.raises(InputError, match="'none', 'low' or 'high'"):
        run(table, judge=tmp_path / "v.jsonl", undetermined="nan")


def known(column: Any) -> list[float | None]:
    return [None if value != value else value for value in column]


def test_signs_of_high_risk(run: Any, table: pd.DataFrame, pairs: Any, recording: Path) -> None:
    rows = rows_of(run(table, judge=recording, mode="both"), "Signs of High Risk")
    signs = [
        (mode, sign)
        for mode in MODES
        for sign in risk_signs(expected(pairs, mode), RiskThresholds())
    ]
    assert len(rows) == len(signs) == 6
    for row, (mode, sign) in zip(rows, signs, strict=True):
        assert (row["Mode"], row["Sign"], row["In Words"]) == (mode, sign.name, sign.sentence)
        assert row["Present"] == ("yes" if sign.present else "no")
        assert (row["Figure"], row["Threshold"]) == (rounded(sign.figure), sign.threshold)
    assert {row["Present"] for row in rows} == {"yes", "no"}


def test_responses_without_claims_are_undefined_or_as_asked(run: Any, tmp_path: Path) -> None:
    table = pd.DataFrame(
        [{"response": "I cannot say.", "reference": "It is red.", "retrieved_contexts": ["Red."]}]
    )
    sample = Sample.model_validate(table.to_dict("records")[0])
    write_recording(tmp_path / "v.jsonl", [(sample, Verdicts.from_matrices([], [], [[True]]))])
    for mode in MODES:
        result = run(table, judge=tmp_path / "v.jsonl", mode=mode)
        (row,) = rows_of(result, "Aggregate Scores")
        assert (row["Mean Score"], row["Standard Deviation"]) == ("undefined", "undefined")
        assert (row["Count"], row["Undefined"], row["Failed"]) == (1, 1, 0)
        assert {r["Present"] for r in rows_of(result, "Signs of High Risk")} == {"undefined"}
        assert [drawn(figure) for figure in result.figures] in ([{}, {}], [{mode: []}, {mode: []}])
        assert result.raw_data.evaluation_results[f"noise_sensitivity_{mode}"].isna().all()
        (row,) = rows_of(
            run(table, judge=tmp_path / "v.jsonl", mode=mode, empty="zero"), "Aggregate Scores"
        )
        assert (row["Mean Score"], row["Undefined"]) == (0.0, 0)


def test_validmind_compares_runs(run: Any, table: pd.DataFrame, recording: Path) -> None:
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)
    result = vm.tests.run_test(
        TEST_ID,
        inputs={"dataset": dataset},
        param_grid={"mode": ["relevant", "both"], "judge": [str(recording)]},
        show=False,
        generate_description=False,
    )
    rows = result.tables[0].data.to_dict("records")
    assert [row["Mode"] for row in rows] == ["relevant", "relevant", "irrelevant"]
    assert [row["mode"] for row in rows] == ["relevant", "both", "both"]
    assert len(result.figures) == 4


def test_validmind_describes_the_test(
    table: pd.DataFrame, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    details = vm.tests.describe_test(TEST_ID, raw=True)
    assert details["Name"] == "Noise Sensitivity"
    assert list(details["Required Inputs"]) == ["dataset"]
    ours = ["mode", "judge", "definition", "empty", "store", "undetermined"]
    assert list(details["Params"]) == [
        *("response_column", "retrieved_contexts_column", "reference_column", "focus"),
        *("user_input_column", "judge_llm", "judge_embeddings"),
        *ours,
    ]
    headings = [line[4:] for line in details["Description"].splitlines() if line[:4] == "### "]
    assert headings == [
        *("Purpose", "Test Mechanism", "Signs of High Risk", "Strengths", "Limitations")
    ]
    assert NoiseSensitivity.__tasks__ == ["text_qa", "text_generation", "text_summarization"]
    assert NoiseSensitivity.__tags__ == ["noisesense", "llm", "rag_performance"]
    # It looks for tables and figures in the return type.
    annotation = inspect.signature(NoiseSensitivity).return_annotation
    assert vm.tests.load._inspect_return_type(annotation) == (True, True)
    # Offline ValidMind writes no text of its own about a result and shows the docstring.
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)
    params = {"judge": str(recording)}
    result = vm.tests.run_test(TEST_ID, inputs={"dataset": dataset}, params=params, show=False)
    assert "<h3>Signs of High Risk</h3>" in result.description
    assert '<script type="math/tex; mode=display">' in result.description


def test_the_thresholds_in_the_description_are_those_of_the_signs() -> None:
    words = inspect.getdoc(NoiseSensitivity) or ""
    risk = RiskThresholds()
    assert f"score of {risk.high:g} or more" in words
    assert "every tenth sample" in words
    assert risk.many == 0.1
    assert f"are {risk.gap:g} or more apart" in words
    assert f"standard deviation of {risk.spread:g} or more" in words


def test_in_a_notebook(run: Any, table: pd.DataFrame, pairs: Any, recording: Path) -> None:
    """There a loop is running while the test is called."""

    async def cell() -> Any:
        return run(table, judge=recording)

    (row,) = rows_of(asyncio.run(cell()), "Aggregate Scores")
    is_the_row(row, expected(pairs, "relevant"))


def test_called_as_a_function(table: pd.DataFrame, recording: Path) -> None:
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)
    tables, histogram, box, raw = NoiseSensitivity(dataset, judge=recording)
    assert tables["Aggregate Scores"][0]["Mean Score"] == pytest.approx(7 / 36)  # unrounded
    assert isinstance(histogram, Figure)
    assert isinstance(box, Figure)
    assert isinstance(raw, vm.RawData)


def test_it_is_listed_and_found_by_its_tags(pairs: Any) -> None:
    assert TEST_ID in vm.tests.list_tests(pretty=False)
    for search in ({"filter": "noise"}, {"tags": ["noisesense"]}, {"task": "text_qa"}):
        assert TEST_ID in vm.tests.list_tests(pretty=False, **search)
    assert vm.tests.load_test(TEST_ID, reload=True) is NoiseSensitivity
    with pytest.raises(Exception, match=r"Unable to load test 'noisesense[.]Other'"):
        vm.tests.load_test("noisesense.Other")
