"""Results for ValidMind: tables, figures, signs of high risk and raw data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from statistics import mean, median, stdev
from typing import Any

from noisesense import ModeSummary, Result, Summary, Undetermined
from noisesense.scoring.definitions import MODES, Mode

# Modules without types. ValidMind installs the other two.
vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")

HIGH = 0.5
"""Scores from this value are high: every second claim."""


def _deviation(values: Sequence[float]) -> float | str:
    """Return the sample standard deviation; ``"undefined"`` of fewer than two values."""
    return stdev(values) if len(values) > 1 else "undefined"


def _share_of_high(values: Sequence[float]) -> float:
    return sum(value >= HIGH for value in values) / len(values)


def _gap(values: Sequence[float]) -> float:
    return abs(mean(values) - median(values))


# Names and order as in ValidMind's test.
_FIGURES: dict[str, Callable[[Sequence[float]], float | str]] = {
    "Mean Score": mean,
    "Median Score": median,
    "Max Score": max,
    "Min Score": min,
    "Standard Deviation": _deviation,
}

# ValidMind describes the signs of high risk without numbers. The largest standard deviation is
# 0.5 of many samples, and 0.71 of two.
_SIGNS = (
    (f"high scores (share of samples at {HIGH:g} up)", _share_of_high, 0.1),
    ("mean far from median (distance)", _gap, 0.1),
    ("high standard deviation", _deviation, 0.25),
)


def _values(results: Sequence[Result], mode: Mode) -> list[float]:
    """Return the scores of one mode, where there are some."""
    values: list[float] = []
    for result in results:
        value = None if result.score is None else result.score.value(mode)
        if value is not None:
            values.append(value)
    return values


def tables(
    results: Sequence[Result],
    summary: Summary,
    modes: Sequence[ModeSummary],
    undetermined: Undetermined,
) -> dict[str, list[dict[str, Any]]]:
    """Return two tables: one row per mode, and one row per mode and sign of high risk.

    In place of the figures of a mode stands "undefined" if it has no score, or "undetermined" if
    some sample is; in the first table not where ``undetermined`` is "low" or "high".
    """
    aggregates: list[dict[str, Any]] = []
    risks: list[dict[str, Any]] = []
    for mode in modes:
        values = _values(results, mode.mode)
        missing = "" if values else "undefined"
        if mode.undetermined:
            missing = "undetermined"
        risks += signs(mode.mode, values, missing)
        if values and undetermined != "none":
            missing = ""
        aggregates.append(_aggregates(summary, mode, values, missing))
    return {"Aggregate Scores": aggregates, "Signs of High Risk": risks}


def signs(mode: Mode, values: Sequence[float], missing: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the three signs of high risk of a mode.

    1. The share of samples with ``value >= HIGH`` is at least 0.1.
    2. ``|mean - median|`` is at least 0.1.
    3. The sample standard deviation is at least 0.25.

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".

    Args:
        mode: of the scores.
        values: all scores.
        missing: why there are none, or not all: "undefined" or "undetermined", which then stands
            in place of every figure; else empty.
    """
    for name, figure_of, threshold in _SIGNS:
        figure = missing or figure_of(values)
        present = figure
        if not isinstance(figure, str):
            # Rounded, as 3/10 - 2/10 is 1/10, but less as floats.
            present = "yes" if round(figure, 9) >= threshold else "no"
        yield {
            "Mode": mode,
            "Sign": name,
            "Present": present,
            "Figure": figure,
            "Threshold": threshold,
        }


def _aggregates(
    summary: Summary, mode: ModeSummary, values: Sequence[float], missing: str
) -> dict[str, Any]:
    row: dict[str, Any] = {"Mode": mode.mode, "Definition": summary.definition}
    for name, figure_of in _FIGURES.items():
        row[name] = missing or figure_of(values)
    low, high = mode.mean or ("undefined", "undefined")
    return {
        **row,
        "Count": summary.samples,  # of all samples, as in ValidMind's test
        "Mean Low": low,
        "Mean High": high,
        "Undetermined": mode.undetermined,
        "Undefined": mode.undefined,
        "Nothing Claimed": summary.nothing_claimed,
        "Nothing Retrieved": summary.nothing_retrieved,
        "Failed": summary.failed,
    }


def plots(
    results: Sequence[Result], modes: Sequence[ModeSummary], undetermined: Undetermined
) -> tuple[Any, Any]:
    """Histogram and box plot with a trace for each mode."""
    points: list[tuple[float, str]] = []
    note = f"({' and '.join(mode.mode for mode in modes)})"
    for mode in modes:
        points += [(value, mode.mode) for value in _values(results, mode.mode)]
        if mode.undetermined and undetermined == "none":
            note += f", {mode.undetermined} {mode.mode} undetermined and left out"
    data = pandas.DataFrame(points, columns=["Score", "Mode"])
    axes = {"x": "Score", "color": "Mode", "range_x": [-0.05, 1.05]}
    title = f"Noise Sensitivity {note}"
    histogram = express.histogram(data, nbins=10, barmode="group", title=title, **axes)
    title = f"Noise Sensitivity Distribution {note}"
    return histogram, express.box(data, y="Mode", title=title, **axes)


def raw_data(dataset: Any, results: Sequence[Result], summary: Summary) -> Any:
    """Return the scores, bounds and reasons of each sample in both modes, and the summary.

    The results are those of the dataset's rows, one each. ``evaluation_results`` has the
    dataset's index. NaN is no score: ``…_status`` says whether it is undetermined (with bounds)
    or undefined. A failed sample has an ``error``.
    """
    rows = [_raw_row(result) for result in results]
    return vm.RawData(
        evaluation_results=pandas.DataFrame(rows, index=dataset._df.index),
        dataset=dataset.input_id,
        summary=summary.to_dict(),
    )


def _raw_row(result: Result) -> dict[str, Any]:
    """Return a result's row of `raw_data`, without the fields of a sample or score it lacks."""
    row: dict[str, Any] = {}
    sample = result.sample
    if sample is not None:
        row = dict(sample)
        row["retrieved_contexts"] = [chunk.text for chunk in sample.retrieved_contexts]
    score = result.score
    if score is not None:
        for mode in MODES:
            name = f"noise_sensitivity_{mode}"
            row[name] = score.value(mode)
            row[f"{name}_status"] = score.status(mode)
            row[f"{name}_low"], row[f"{name}_high"] = score.bounds(mode) or (None, None)
            row[f"{name}_reason"] = score.reason(mode)
    return row | {"error": result.error}
