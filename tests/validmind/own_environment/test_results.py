"""Through ``vm.tests.run_test``: tables, two figures and raw data, with the core's numbers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import pandas as pd
import pytest
import validmind as vm
from plotly.graph_objects import Figure

from noisesense import Result, Verdicts, score, summarize, write_recording
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName, Mode
from noisesense_adapters.validmind import NoiseSensitivity
from noisesense_adapters.validmind.result import tables
from support.tables import Shape, random_pairs

ALL = [
    (name, m) for name, d in DEFINITIONS.items() for m in MODES if m == "relevant" or d.irrelevant
]


def rows_of(result: Any, title: str) -> list[dict[str, Any]]:
    (found,) = [each for each in result.tables if each.title == title]
    rows: list[dict[str, Any]] = found.data.to_dict("records")
    return rows


def drawn(figure: Any) -> dict[str, list[float]]:
    """The values behind each trace."""
    return {trace.name: sorted(trace.x) for trace in figure.figure.data}


@pytest.mark.parametrize(("definition", "mode"), ALL)
def test_table_figures_and_raw_data_show_the_documented_scores(
    run: Any, table: pd.DataFrame, recording: Path, definition: DefinitionName, mode: Mode
) -> None:
    result = run(table, judge=str(recording), definition=definition, mode=mode)
    # By hand: what the examples' documents derive.
    values: list[Any] = [e.expected[definition][MODES.index(mode)] for e in reference_examples()]
    assert rows_of(result, "Aggregate Scores") == [
        {
            "Mode": mode,
            "Definition": definition,
            "Mean Score": round(mean(values), 4),
            "Median Score": round(median(values), 4),
            "Max Score": round(max(values), 4),
            "Min Score": round(min(values), 4),
            "Standard Deviation": round(stdev(values), 4),
            "Count": 6,
            "Mean Low": round(mean(values), 4),
            "Mean High": round(mean(values), 4),
            "Undetermined": 0,
            "Undefined": 0,
            "Nothing Claimed": 0,
            "Nothing Retrieved": 0,
            "Failed": 0,
        }
    ]
    raw = result.raw_data.evaluation_results
    assert raw[f"noise_sensitivity_{mode}"].tolist() == pytest.approx(values, abs=1e-12)
    histogram, box = result.figures
    assert drawn(histogram) == drawn(box) == {mode: sorted(raw[f"noise_sensitivity_{mode}"])}
    assert [trace.type for f in result.figures for trace in f.figure.data] == ["histogram", "box"]
    assert histogram.figure.layout.title.text == f"Noise Sensitivity ({mode})"
    assert result.raw_data.dataset == "answers"
    assert result.raw_data.summary[mode]["mean"]["value"] == pytest.approx(mean(values))


@pytest.mark.parametrize(("choice", "end"), [("none", None), ("low", 0), ("high", 1)])
def test_open_verdicts_leave_a_range_whatever_they_count_as(
    run: Any, tmp_path: Path, choice: Any, end: int | None
) -> None:
    pairs = list(random_pairs(80, seed=40, shape=Shape(undetermined=0.1, labeled=0.2)))
    write_recording(tmp_path / "v.jsonl", pairs)
    table = pd.DataFrame([sample.model_dump(mode="json") for sample, _ in pairs])
    result = run(table, judge=tmp_path / "v.jsonl", mode="both", undetermined=choice)
    scores = [score(v.with_sample(sample), undetermined=choice) for sample, v in pairs]
    for row, mode in zip(rows_of(result, "Aggregate Scores"), MODES, strict=True):
        summary = summarize(scores).mode(mode)
        means = [round(each, 4) for each in summary.mean]
        shown = "undetermined" if end is None else means[end]
        assert [row[f"Mean {name}"] for name in ("Low", "High", "Score")] == [*means, shown]
        assert (row["Standard Deviation"] == "undetermined") is (end is None)
        counts = (80, summary.undefined, summary.undetermined)
        assert (row["Count"], row["Undefined"], row["Undetermined"]) == counts
        for figure in result.figures:
            title = figure.figure.layout.title.text
            told = f"{summary.undetermined} {mode} undetermined and left out"
            assert (told in title) is (end is None)


def test_a_sign_at_its_threshold_is_there_and_an_open_one_is_undetermined() -> None:
    def present(*samples: list[bool | None]) -> list[str]:
        """Of samples with one claim each where the reference entails it or not."""
        results = [
            Result("any", score(Verdicts.from_matrices(each, [[True]] * len(each), [[True]])))
            for each in samples
        ]
        summary = summarize(results)
        shown = tables(results, summary, [summary.relevant], "none")
        return [sign["Present"] for sign in shown["Signs of High Risk"]]

    clean = [True]
    noisy = [False]
    open_one = [None]
    # A tenth at 1: a mean of 1/10, a median of 0; a standard deviation of 0.316.
    assert present(noisy, *[clean] * 9) == ["yes", "yes", "yes"]
    assert present(noisy, *[clean] * 19) == ["no", "no", "no"]
    # 3/10 and 2/10 differ by 1/10, and by less as floats.
    fifth: list[bool | None] = [False, True, True, True, True]
    assert present(fifth, fifth, [False, True])[1] == "yes"
    assert present(open_one, *[clean] * 9) == ["undetermined"] * 3
    assert present([]) == ["undefined"] * 3


def test_called_in_a_running_loop_it_returns_table_figures_and_raw_data(
    table: pd.DataFrame, recording: Path
) -> None:
    """There a loop is running while the test is called."""
    dataset = vm.init_dataset(dataset=table, input_id="answers", __log=False)

    async def cell() -> Any:
        return NoiseSensitivity(dataset, judge=recording)

    shown, histogram, box, raw = asyncio.run(cell())
    assert shown["Aggregate Scores"][0]["Mean Score"] == pytest.approx(7 / 36)  # unrounded
    assert isinstance(histogram, Figure)
    assert isinstance(box, Figure)
    assert isinstance(raw, vm.RawData)
