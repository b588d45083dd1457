"""Results in ValidMind's terms: tables, figures and raw data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisesense import ModeSummary, Result, Summary
from noisesense.definitions import MODES
from noisesense_adapters.validmind._host import express, pandas, vm

__all__ = ["figures", "raw_data", "tables"]

_UNDEFINED = "undefined"


def tables(summary: Summary, modes: Sequence[ModeSummary]) -> dict[str, list[dict[str, Any]]]:
    """A row for each mode in the first table, and for each of its signs in the second."""
    return {
        "Aggregate Scores": [_aggregates(summary, mode) for mode in modes],
        "Signs of High Risk": [
            {
                "Mode": mode.mode,
                "Sign": sign.name,
                "Present": {True: "yes", False: "no", None: _UNDEFINED}[sign.present],
                "Figure": _shown(sign.figure),
                "Threshold": sign.threshold,
                "In Words": sign.sentence,
            }
            for mode in modes
            for sign in mode.signs
        ],
    }


def _aggregates(summary: Summary, mode: ModeSummary) -> dict[str, Any]:
    return {
        "Mode": mode.mode,
        "Definition": summary.definition,
        # Names and order as in ValidMind's test. Count is of all samples there, too.
        "Mean Score": _shown(mode.mean),
        "Median Score": _shown(mode.median),
        "Max Score": _shown(mode.maximum),
        "Min Score": _shown(mode.minimum),
        "Standard Deviation": _shown(mode.stdev),
        "Count": summary.samples,
        "Undefined": mode.undefined,
        "Failed": summary.failed,
        "Undetermined Claims": mode.undetermined_claims,
    }


def _shown(figure: float | None) -> float | str:
    return _UNDEFINED if figure is None else figure


def figures(results: Sequence[Result], modes: Sequence[ModeSummary]) -> tuple[Any, Any]:
    """Histogram and box plot of the values, with a trace for each mode."""
    points = [
        (value, mode.mode)
        for mode in modes
        for result in results
        if result.score is not None and (value := result.score.value(mode.mode)) is not None
    ]
    data = pandas.DataFrame(points, columns=["Score", "Mode"])
    shown = {"x": "Score", "color": "Mode", "range_x": [-0.05, 1.05]}
    names = " and ".join(mode.mode for mode in modes)
    histogram = express.histogram(
        data, nbins=10, barmode="group", title=f"Noise Sensitivity ({names})", **shown
    )
    box = express.box(data, y="Mode", title=f"Noise Sensitivity Distribution ({names})", **shown)
    return histogram, box


def raw_data(dataset: Any, results: Sequence[Result], summary: Summary) -> Any:
    """Each sample with both modes' scores and reasons, unrounded, and everything summed up.

    ``evaluation_results`` has the dataset's index; NaN is a score that is undefined, and a sample
    that failed has an ``error``.
    """
    table = pandas.DataFrame([_texts(result) for result in results], index=dataset._df.index)
    scores = [result.score for result in results]
    for mode in MODES:
        name = f"noise_sensitivity_{mode}"
        values = [None if score is None else score.value(mode) for score in scores]
        table[name] = pandas.array(values, dtype="float64")
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
