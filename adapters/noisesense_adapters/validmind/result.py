"""Results in ValidMind's terms: tables, figures, signs of high risk and raw data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from statistics import stdev as stdev_of
from typing import Any

from noisesense import ModeSummary, Range, Result, Summary, Undetermined
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import Record


@dataclass(frozen=True)
class RiskThresholds:
    """When a sign counts as present. ValidMind names the signs and leaves the numbers open.

    Attributes:
        high: from this value on a sample's score is high; 0.5: every second claim.
        many: from this share of samples on high scores are many.
        gap: from this distance on the mean is far from the median.
        spread: from this standard deviation on the scores are inconsistent; 0.25 is half of the
            largest possible one, and scores spread evenly from 0 to 1 have 0.29.
    """

    high: float = 0.5
    many: float = 0.1
    gap: float = 0.1
    spread: float = 0.25


@dataclass(frozen=True)
class RiskSign(Record):
    """One sign: is it there, by which figure and threshold.

    Attributes:
        name: ``"high scores"``, ``"mean far from median"`` or ``"high standard deviation"``.
        present: does the figure reach the threshold? None where open verdicts decide it, and
            where there is nothing to measure.
        figure: what was measured, or between what it lies; None where it is undefined.
        threshold: what it was compared with.
        sentence: the same in words.
    """

    name: str
    present: bool | None
    figure: Range | None
    threshold: float
    sentence: str


def risk_signs(mode: ModeSummary, thresholds: RiskThresholds) -> tuple[RiskSign, ...]:
    """The three signs of one mode.

    1. share of samples with ``value >= high`` is at least ``many``;
    2. ``|mean − median| >= gap``, as if the two could move apart freely;
    3. sample standard deviation ``>= spread``.

    Source: ValidMind, test NoiseSensitivity, "Signs of High Risk".
    """
    share = gap = stdev = None
    if mode.mean and mode.median:
        samples = sum(times for _, times in mode.ranges)
        high = [
            sum(times for each, times in mode.ranges if each[end] >= thresholds.high) / samples
            for end in (0, 1)
        ]
        share, gap = Range(*high), mode.mean.minus(mode.median).absolute
        if mode.undetermined:
            stdev = Range(0.0, 1.0)
        elif (known := _stdev(mode)) is not None:
            stdev = Range(known, known)
    up = f"share of samples at {thresholds.high:g} up"
    return (
        _sign("high scores", share, thresholds.many, up),
        _sign("mean far from median", gap, thresholds.gap, "distance"),
        _sign("high standard deviation", stdev, thresholds.spread, "standard deviation"),
    )


def _stdev(mode: ModeSummary) -> float | None:
    """Divisor ``n − 1``; None below two samples, and where a sample is undetermined."""
    values = [value for value, times in mode.distribution for _ in range(times)]
    return None if mode.undetermined or len(values) < 2 else stdev_of(values)


def _reaches(figure: float, threshold: float) -> bool:
    """Is it at least the threshold? As fractions: 3/10 - 2/10 is 1/10, and less as floats."""
    return Fraction(figure).limit_denominator(10**9) >= Fraction(str(threshold))


def _sign(name: str, figure: Range | None, threshold: float, what: str) -> RiskSign:
    present, answer = None, "undefined"
    if figure is not None:
        low, high = figure
        sure, possible = _reaches(low, threshold), _reaches(high, threshold)
        present = sure if sure == possible else None
        what += f" {low:.3g}" if low == high else f" between {low:.3g} and {high:.3g}"
        answer = {True: "yes", False: "no", None: "undetermined"}[present]
    sentence = f"{name}: {answer} ({what}, threshold {threshold:g})"
    return RiskSign(name, present, figure, threshold, sentence)


# None of them has types. ValidMind brings the other two.
vm: Any = import_module("validmind")
pandas: Any = import_module("pandas")
express: Any = import_module("plotly.express")


def tables(
    summary: Summary, modes: Sequence[ModeSummary], undetermined: Undetermined
) -> dict[str, list[dict[str, Any]]]:
    """A row for each mode in the first table, and for each of its signs in the second."""
    return {
        "Aggregate Scores": [_aggregates(summary, mode, undetermined) for mode in modes],
        "Signs of High Risk": [
            {
                "Mode": mode.mode,
                "Sign": sign.name,
                "Present": {True: "yes", False: "no", None: _missing(mode)}[sign.present],
                "Figure": _figure(sign.figure, mode),
                "Threshold": sign.threshold,
                "In Words": sign.sentence,
            }
            for mode in modes
            for sign in risk_signs(mode, RiskThresholds())
        ],
    }


def _aggregates(summary: Summary, mode: ModeSummary, choice: Undetermined) -> dict[str, Any]:
    stdev, ranges = _stdev(mode), [each for each, _ in mode.ranges]
    lowest = Range(*map(min, zip(*ranges, strict=True))) if ranges else None
    return {
        "Mode": mode.mode,
        "Definition": summary.definition,
        # Names and order as in ValidMind's test. Count is of all samples there, too.
        "Mean Score": _figure(mode.mean, mode, choice),
        "Median Score": _figure(mode.median, mode, choice),
        "Max Score": _figure(mode.maximum, mode, choice),
        "Min Score": _figure(lowest, mode, choice),
        "Standard Deviation": _missing(mode) if stdev is None else stdev,
        "Count": summary.samples,
        "Mean Low": "undefined" if mode.mean is None else mode.mean.low,
        "Mean High": "undefined" if mode.mean is None else mode.mean.high,
        "Undetermined": mode.undetermined,
        "Undefined": mode.undefined,
        "Failed": summary.failed,
        "Undetermined Claims": mode.undetermined_claims,
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
    histogram = express.histogram(
        data, nbins=10, barmode="group", title=f"Noise Sensitivity ({names}){note}", **axes
    )
    box = express.box(
        data, y="Mode", title=f"Noise Sensitivity Distribution ({names}){note}", **axes
    )
    return histogram, box


def raw_data(dataset: Any, results: Sequence[Result], summary: Summary) -> Any:
    """Each sample with both modes' scores, bounds and reasons, and the whole summary.

    ``evaluation_results`` has the dataset's index. NaN means no score: ``…_status`` says whether
    it is undetermined (then with bounds) or undefined. A sample that failed has an ``error``.
    """
    table = pandas.DataFrame([_texts(result) for result in results], index=dataset._df.index)
    scores = [result.score for result in results]
    for mode in MODES:
        name = f"noise_sensitivity_{mode}"
        values = [None if score is None else score.value(mode) for score in scores]
        table[name] = pandas.array(values, dtype="float64")
        table[f"{name}_status"] = [None if s is None else s.status(mode) for s in scores]
        bounds = [None if s is None else s.bounds(mode) for s in scores]
        for i, end in enumerate(("low", "high")):
            table[f"{name}_{end}"] = pandas.array([b and b[i] for b in bounds], dtype="float64")
        table[f"{name}_reason"] = [None if s is None else s.reason(mode) for s in scores]
    table["error"] = [result.error for result in results]
    return vm.RawData(
        evaluation_results=table, dataset=dataset.input_id, summary=summary.to_dict()
    )


def _texts(result: Result) -> dict[str, Any]:
    names = ("user_input", "retrieved_contexts", "response", "reference")
    if result.sample is None:
        return dict.fromkeys(names)
    texts = {name: getattr(result.sample, name) for name in names}
    return texts | {"retrieved_contexts": [chunk.text for chunk in texts["retrieved_contexts"]]}
