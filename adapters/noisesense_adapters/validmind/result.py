"""Results in ValidMind's terms: a table, figures and raw data."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from statistics import stdev
from typing import Any

from noisesense import ModeSummary, Range, Result, Summary
from noisesense.scoring.definitions import MODES

# None of them has types. ValidMind brings the other two.
vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")


def aggregates(summary: Summary, mode: ModeSummary) -> dict[str, Any]:
    """One mode's row in the table."""
    lowest = [min((each[end] for each, _ in mode.ranges), default=0.0) for end in (0, 1)]
    values = [each.low for each, times in mode.ranges for _ in range(times)]
    has_spread = len(values) > 1 and not mode.undetermined
    return {
        "Mode": mode.mode,
        "Definition": summary.definition,
        # Names and order as in ValidMind's test. Count is of all samples there, too.
        "Mean Score": _figure(mode.mean, mode),
        "Median Score": _figure(mode.median, mode),
        "Max Score": _figure(mode.maximum, mode),
        "Min Score": _figure(Range(*lowest) if mode.mean else None, mode),
        "Standard Deviation": stdev(values) if has_spread else _missing(mode),
        "Count": summary.samples,
        "Mean Low": mode.mean.low if mode.mean else "undefined",
        "Mean High": mode.mean.high if mode.mean else "undefined",
        "Undetermined": mode.undetermined,
        "Undefined": mode.undefined,
        "Failed": summary.failed,
        "Undetermined Claims": mode.undetermined_claims,
    }


def _figure(figure: Range | None, mode: ModeSummary) -> float | str:
    return _missing(mode) if figure is None or figure.value is None else figure.value


def _missing(mode: ModeSummary) -> str:
    """Why there is no figure: it depends on open verdicts, or there is nothing to measure."""
    return "undetermined" if mode.undetermined else "undefined"


def plots(results: Sequence[Result], modes: Sequence[ModeSummary]) -> tuple[Any, Any]:
    """Histogram and box plot, a trace for each mode; the titles count undetermined samples."""
    points = [
        (value, mode.mode)
        for mode in modes
        for result in results
        if result.score is not None and (value := result.score.value(mode.mode)) is not None
    ]
    data = pandas.DataFrame(points, columns=["Score", "Mode"])
    axes = {"x": "Score", "color": "Mode", "range_x": [-0.05, 1.05]}
    names = " and ".join(mode.mode for mode in modes)
    left_open = [f"{mode.undetermined} {mode.mode}" for mode in modes if mode.undetermined]
    note = f", undetermined left out: {', '.join(left_open)}" if left_open else ""
    title, spread = "Noise Sensitivity", "Noise Sensitivity Distribution"
    return (
        express.histogram(
            data, nbins=10, barmode="group", title=f"{title} ({names}){note}", **axes
        ),
        express.box(data, y="Mode", title=f"{spread} ({names}){note}", **axes),
    )


def raw_data(dataset: Any, results: Sequence[Result], summary: Summary) -> Any:
    """Each sample with both modes' scores, bounds and reasons, and the whole summary.

    ``evaluation_results`` has the dataset's index. NaN means no score: ``…_status`` says whether
    it is undetermined (then with bounds) or undefined. A sample that failed has an ``error``.
    """
    rows = [_raw(result) for result in results]
    table = pandas.DataFrame(rows, index=dataset._df.index)
    numbers = [name for name in rows[0] if name.endswith(("relevant", "_low", "_high"))]
    return vm.RawData(
        evaluation_results=table.astype(dict.fromkeys(numbers, "float64")),
        dataset=dataset.input_id,
        summary=summary.to_dict(),
    )


def _raw(result: Result) -> dict[str, Any]:
    names = ("user_input", "retrieved_contexts", "response", "reference")
    row: dict[str, Any] = {name: getattr(result.sample, name, None) for name in names}
    if result.sample is not None:
        row["retrieved_contexts"] = [chunk.text for chunk in result.sample.retrieved_contexts]
    for mode in MODES:
        name, score = f"noise_sensitivity_{mode}", result.score
        low, high = (score and score.bounds(mode)) or (None, None)
        row[name] = score and score.value(mode)
        row[f"{name}_status"] = score and score.status(mode)
        row[f"{name}_low"], row[f"{name}_high"] = low, high
        row[f"{name}_reason"] = score and score.reason(mode)
    return row | {"error": result.error}
