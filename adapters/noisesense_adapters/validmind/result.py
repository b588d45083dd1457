"""Results for ValidMind: tables, figures, signs of high risk and raw data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from statistics import median, stdev
from typing import Any

from noisesense import ModeSummary, Range, Result, Score, Summary, Undetermined
from noisesense.scoring.definitions import MODES, Mode
from noisesense.scoring.outcomes import extent

# Modules without types. ValidMind installs the other two.
vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")

# ValidMind describes the signs of high risk without numbers.
HIGH = 0.5
"""Scores from this value are high: every second claim."""
MANY = 0.1
"""High scores are many from this share of samples."""
GAP = 0.1
"""The mean is far from the median from this distance."""
SPREAD = 0.25
"""Scores are inconsistent from this standard deviation; the largest is 0.5 of many samples, and
0.71 of two."""


def _stdev(mode: ModeSummary) -> Range | None:
    """Sample standard deviation; from 0 to 1 if a sample is undetermined."""
    if mode.undetermined:
        return Range(0.0, 1.0)
    values: list[float] = []
    for value, count in mode.distribution:
        values += [value] * count
    if len(values) < 2:
        return None
    deviation = stdev(values)
    return Range(deviation, deviation)


def tables(
    summary: Summary, modes: Sequence[ModeSummary], undetermined: Undetermined
) -> dict[str, list[dict[str, Any]]]:
    """Return two tables: one row per mode, and one row per mode and sign of high risk."""
    aggregates: list[dict[str, Any]] = []
    risks: list[dict[str, Any]] = []
    for mode in modes:
        aggregates.append(_aggregates(summary, mode, undetermined))
        risks += signs(mode)
    return {"Aggregate Scores": aggregates, "Signs of High Risk": risks}


def signs(mode: ModeSummary) -> Iterator[dict[str, Any]]:
    """Yield a row for each of the three signs of high risk of a mode.

    1. The share of samples with ``value >= HIGH`` is at least `MANY`.
    2. ``|mean − median|`` is at least `GAP`; its bounds take the two as independent.
    3. The sample standard deviation is at least `SPREAD`.

    A sign that depends on undetermined verdicts is "undetermined"; with nothing to measure it is
    "undefined".

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".
    """
    share = gap = None
    middle = _median(mode)
    if mode.mean and middle:
        share = _share_of_high(mode)
        gap = mode.mean.minus(middle).absolute
    yield _sign(mode, f"high scores (share of samples at {HIGH:g} up)", share, MANY)
    yield _sign(mode, "mean far from median (distance)", gap, GAP)
    yield _sign(mode, "high standard deviation", _stdev(mode), SPREAD)


def _median(mode: ModeSummary) -> Range | None:
    """Return the middle of the lowest values, and that of the highest."""
    lows: list[float] = []
    highs: list[float] = []
    for values, count in mode.ranges:
        lows += [values.low] * count
        highs += [values.high] * count
    return Range(median(lows), median(highs)) if lows else None


def _share_of_high(mode: ModeSummary) -> Range:
    """Return the share of samples with claims whose score is high."""
    least = 0
    most = 0
    for values, count in mode.ranges:
        if values.low >= HIGH:
            least += count
        if values.high >= HIGH:
            most += count
    samples = mode.determined + mode.undetermined
    return Range(least / samples, most / samples)


def _sign(mode: ModeSummary, name: str, figure: Range | None, threshold: float) -> dict[str, Any]:
    missing = _missing(mode)
    present = missing
    shown = missing
    if figure is not None:
        present = _reaches(figure, threshold) or missing
        shown = extent(figure, ".3g")
    return {
        "Mode": mode.mode,
        "Sign": name,
        "Present": present,
        "Figure": shown,
        "Threshold": threshold,
    }


def _reaches(figure: Range, threshold: float) -> str | None:
    """``"yes"`` or ``"no"``; None if the threshold is within the range."""
    # Rounded, as 3/10 - 2/10 is 1/10, but less as floats.
    if round(figure.low, 9) >= threshold:
        return "yes"
    if round(figure.high, 9) < threshold:
        return "no"
    return None


def _aggregates(summary: Summary, mode: ModeSummary, choice: Undetermined) -> dict[str, Any]:
    minimum = None
    maximum = None
    low: float | str = "undefined"
    high: float | str = "undefined"
    if mode.mean is not None:
        ranges = [values for values, _ in mode.ranges]
        minimum = Range(*map(min, zip(*ranges, strict=True)))
        maximum = Range(*map(max, zip(*ranges, strict=True)))
        low, high = mode.mean
    return {
        "Mode": mode.mode,
        "Definition": summary.definition,
        # Names and order as in ValidMind's test, where Count is of all samples, too.
        "Mean Score": _figure(mode.mean, mode, choice),
        "Median Score": _figure(_median(mode), mode, choice),
        "Max Score": _figure(maximum, mode, choice),
        "Min Score": _figure(minimum, mode, choice),
        "Standard Deviation": _figure(_stdev(mode), mode),
        "Count": summary.samples,
        "Mean Low": low,
        "Mean High": high,
        "Undetermined": mode.undetermined,
        "Undefined": mode.undefined,
        "Nothing Claimed": summary.nothing_claimed,
        "Nothing Retrieved": summary.nothing_retrieved,
        "Failed": summary.failed,
        "Undetermined Claims": mode.claims.undetermined,
    }


def _figure(figure: Range | None, mode: ModeSummary, choice: Undetermined = "none") -> float | str:
    """Return the figure; if undetermined, the chosen end of its range."""
    if figure is None or (figure.value is None and choice == "none"):
        return _missing(mode)
    return figure.high if choice == "high" else figure.low


def _missing(mode: ModeSummary) -> str:
    """Why there is no figure: it depends on undetermined verdicts, or nothing can be measured."""
    return "undetermined" if mode.undetermined else "undefined"


_SHOWN_AS: dict[Undetermined, str] = {
    "none": "left out",
    "low": "as no noise",
    "high": "as noise",
}
"""How the figures show undetermined scores, by the choice."""


def plots(
    results: Sequence[Result], modes: Sequence[ModeSummary], undetermined: Undetermined
) -> tuple[Any, Any]:
    """Histogram and box plot with a trace for each mode."""
    points: list[tuple[float, str]] = []
    for mode in modes:
        for result in results:
            value = None if result.score is None else result.score.value(mode.mode)
            if value is not None:
                points.append((value, mode.mode))
    data = pandas.DataFrame(points, columns=["Score", "Mode"])
    axes = {"x": "Score", "color": "Mode", "range_x": [-0.05, 1.05]}
    names = " and ".join(mode.mode for mode in modes)
    note = f"({names})"
    counts = [f"{mode.undetermined} {mode.mode}" for mode in modes if mode.undetermined]
    if counts:
        note += f", undetermined {_SHOWN_AS[undetermined]}: {', '.join(counts)}"
    title = f"Noise Sensitivity {note}"
    histogram = express.histogram(data, nbins=10, barmode="group", title=title, **axes)
    title = f"Noise Sensitivity Distribution {note}"
    return histogram, express.box(data, y="Mode", title=title, **axes)


def raw_data(dataset: Any, results: Sequence[Result], summary: Summary) -> Any:
    """Return the scores, bounds and reasons of each sample in both modes, and the summary.

    ``evaluation_results`` has the dataset's index. NaN is no score: ``…_status`` says whether it
    is undetermined (with bounds) or undefined. A failed sample has an ``error``.
    """
    rows = [_raw_row(result) for result in results]
    table = pandas.DataFrame(rows, index=dataset._df.index)
    numbers = [name for name in rows[0] if name.endswith(("relevant", "_low", "_high"))]
    return vm.RawData(
        evaluation_results=table.astype(dict.fromkeys(numbers, "float64")),
        dataset=dataset.input_id,
        summary=summary.to_dict(),
    )


_TEXTS = ("user_input", "retrieved_contexts", "response", "reference")


def _raw_row(result: Result) -> dict[str, Any]:
    """Return a result's row of `raw_data`. Without texts or a score their columns are None."""
    sample = result.sample
    row: dict[str, Any] = dict.fromkeys(_TEXTS)
    if sample is not None:
        row["user_input"] = sample.user_input
        row["retrieved_contexts"] = [chunk.text for chunk in sample.retrieved_contexts]
        row["response"] = sample.response
        row["reference"] = sample.reference
    for mode in MODES:
        row |= _mode_columns(result.score, mode)
    return row | {"error": result.error}


def _mode_columns(score: Score | None, mode: Mode) -> dict[str, Any]:
    name = f"noise_sensitivity_{mode}"
    columns = (name, f"{name}_status", f"{name}_low", f"{name}_high", f"{name}_reason")
    if score is None:
        return dict.fromkeys(columns)
    bounds = score.bounds(mode) or (None, None)
    cells = (score.value(mode), score.status(mode), *bounds, score.reason(mode))
    return dict(zip(columns, cells, strict=True))
