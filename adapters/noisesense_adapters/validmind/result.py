"""Results in ValidMind's terms: tables, figures, signs of high risk and raw data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from statistics import mean, stdev
from typing import Any

from noisesense import ModeSummary, Range, Result, Summary, Undetermined
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import extent

# None of them has types. ValidMind brings the other two.
vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")

# ValidMind names the signs of high risk and leaves the numbers open.
HIGH = 0.5
"""From this value on a sample's score is high: every second claim."""
MANY = 0.1
"""From this share of samples on high scores are many."""
GAP = 0.1
"""From this distance on the mean is far from the median."""
SPREAD = 0.25
"""From this standard deviation on the scores are inconsistent; the largest possible one is 0.5."""


def _ends(mode: ModeSummary) -> tuple[list[float], list[float]]:
    """The lowest value of every sample, and the highest."""
    lows, highs = (
        [each[end] for each, times in mode.ranges for _ in range(times)] for end in (0, 1)
    )
    return lows, highs


def _stdev(mode: ModeSummary) -> Range | None:
    """Sample standard deviation; from 0 to 1 where a sample is undetermined."""
    values, _ = _ends(mode)
    if mode.undetermined:
        return Range(0.0, 1.0)
    return Range(stdev(values), stdev(values)) if len(values) > 1 else None


def tables(
    summary: Summary, modes: Sequence[ModeSummary], undetermined: Undetermined
) -> dict[str, list[dict[str, Any]]]:
    """A row for each mode in the first table, and for each of its signs in the second."""
    return {
        "Aggregate Scores": [_aggregates(summary, mode, undetermined) for mode in modes],
        "Signs of High Risk": [sign for mode in modes for sign in signs(mode)],
    }


def signs(mode: ModeSummary) -> Iterator[dict[str, Any]]:
    """Is each of the three signs of one mode there, by which figure and threshold?

    1. share of samples with ``value >= HIGH`` is at least `MANY`;
    2. ``|mean − median|`` is at least `GAP`, as if the two could move apart freely;
    3. the sample standard deviation is at least `SPREAD`.

    Where open verdicts decide it, a sign is "undetermined"; where there is nothing to measure,
    "undefined".

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".
    """
    share = gap = None
    if mode.mean and mode.median:
        share = Range(*(mean(value >= HIGH for value in ends) for ends in _ends(mode)))
        gap = mode.mean.minus(mode.median).absolute
    for name, figure, threshold in (
        (f"high scores (share of samples at {HIGH:g} up)", share, MANY),
        ("mean far from median (distance)", gap, GAP),
        ("high standard deviation", _stdev(mode), SPREAD),
    ):
        # Rounded: 3/10 - 2/10 is 1/10, and less as floats.
        reached = {round(end, 9) >= threshold for end in figure or ()}
        yield {
            "Mode": mode.mode,
            "Sign": name,
            "Present": ("yes" if True in reached else "no")
            if len(reached) == 1
            else _missing(mode),
            "Figure": _missing(mode) if figure is None else extent(figure, ".3g"),
            "Threshold": threshold,
        }


def _aggregates(summary: Summary, mode: ModeSummary, choice: Undetermined) -> dict[str, Any]:
    minimum = Range(*map(min, _ends(mode))) if mode.mean else None
    return {
        "Mode": mode.mode,
        "Definition": summary.definition,
        # Names and order as in ValidMind's test. Count is of all samples there, too.
        "Mean Score": _figure(mode.mean, mode, choice),
        "Median Score": _figure(mode.median, mode, choice),
        "Max Score": _figure(mode.maximum, mode, choice),
        "Min Score": _figure(minimum, mode, choice),
        "Standard Deviation": _figure(_stdev(mode), mode),
        "Count": summary.samples,
        "Mean Low": mode.mean.low if mode.mean else "undefined",
        "Mean High": mode.mean.high if mode.mean else "undefined",
        "Undetermined": mode.undetermined,
        "Undefined": mode.undefined,
        "Nothing Claimed": summary.nothing_claimed,
        "Nothing Retrieved": summary.nothing_retrieved,
        "Failed": summary.failed,
        "Undetermined Claims": mode.claims.undetermined,
    }


def _figure(figure: Range | None, mode: ModeSummary, choice: Undetermined = "none") -> float | str:
    """One that is open is shown as the end that was chosen, or as undetermined."""
    if figure is None or (figure.value is None and choice == "none"):
        return _missing(mode)
    return figure.high if choice == "high" else figure.low


def _missing(mode: ModeSummary) -> str:
    """Why there is no figure: it depends on open verdicts, or there is nothing to measure."""
    return "undetermined" if mode.undetermined else "undefined"


def plots(
    results: Sequence[Result], modes: Sequence[ModeSummary], undetermined: Undetermined
) -> tuple[Any, Any]:
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
    place = {"none": "left out", "low": "as no noise", "high": "as noise"}[undetermined]
    note = f", undetermined {place}: {', '.join(left_open)}" if left_open else ""
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
