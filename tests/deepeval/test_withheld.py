"""A judge that withholds verdicts: no number, no pass that they do not decide, and it says so."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepeval import assert_test, evaluate
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig

from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import MindModel, case_of, run
from support.faults import STRUCK, mind
from support.sizes import by_turns, named
from support.withheld import SAMPLE, WAYS, SpoiledMind, Way

BOTH = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
NAMED = {way.name: way for way in WAYS}
each_way_both = pytest.mark.parametrize(
    ("way", "run_async"), by_turns(NAMED, {"async": True, "sync": False})
)
LIMITS = (0.2, 0.5, 0.7, 1.0)


def metric(way: Way, mode: Any, threshold: float | None, **options: Any) -> NoiseSensitivityMetric:
    options.setdefault("model", MindModel(SpoiledMind(way)))
    return NoiseSensitivityMetric(threshold=threshold, mode=mode, **options)


def passes(way: Way, mode: str, threshold: float | None) -> bool | None:
    """Only if the highest value that the replies leave possible is within the threshold."""
    if threshold is None:
        return None
    bounds = getattr(way, mode)
    return bounds is not None and bounds[1] / 3 <= threshold


def check(way: Way, data: Any, mode: str, threshold: float | None) -> None:
    assert (data.score, data.error) == (None, None)
    assert data.success is passes(way, mode, threshold)
    assert "is undetermined: " in data.reason
    bounds = getattr(way, mode)
    if bounds is None:
        return
    low, high = bounds[0] / 3, bounds[1] / 3
    assert f"is undetermined: it lies between {low:.4g} and {high:.4g}" in data.reason
    if threshold is not None and not data.success:
        told = f"Whether it is above the threshold {threshold:.4g} cannot be decided"
        if bounds[0] / 3 > threshold:
            told = f"It is above the threshold {threshold:.4g}, whatever the open verdicts are."
        assert told in data.reason
    assert "undetermined" in data.verbose_logs


def _measure(one: NoiseSensitivityMetric) -> None:
    assert one.measure(case_of(SAMPLE), _show_indicator=False) is None


def _a_measure(one: NoiseSensitivityMetric) -> None:
    assert asyncio.run(one.a_measure(case_of(SAMPLE), _show_indicator=False)) is None


def _blocking(one: NoiseSensitivityMetric) -> None:
    one.async_mode = False
    _measure(one)


@pytest.mark.parametrize(
    ("way", "measure"), by_turns(NAMED, named([_measure, _a_measure, _blocking]))
)
def test_measure(way: Way, measure: Callable[[NoiseSensitivityMetric], None]) -> None:
    for mode in MODES:
        for threshold in (*LIMITS, None):
            one = metric(way, mode, threshold, include_reason=False)
            measure(one)
            check(way, one, mode, threshold)
            assert one.success is one.is_successful()


@each_way_both
def test_evaluate(way: Way, run_async: bool) -> None:
    model = MindModel(SpoiledMind(way))
    asked = [(mode, threshold) for mode in MODES for threshold in LIMITS]
    metrics = [metric(way, mode, threshold, model=model) for mode, threshold in asked]

    (result,) = run([case_of(SAMPLE, name="a")], metrics, run_async=run_async)

    for data, (mode, threshold) in zip(result.metrics_data, asked, strict=True):
        check(way, data, mode, threshold)
    assert result.success is False


@each_way_both
def test_assert_test(way: Way, run_async: bool) -> None:
    for mode in MODES:
        for threshold in (0.2, 0.7):
            one = metric(way, mode, threshold)
            if passes(way, mode, threshold):
                assert_test(case_of(SAMPLE), [one], run_async=run_async)
                continue
            with pytest.raises(AssertionError, match="is undetermined: ") as caught:
                assert_test(case_of(SAMPLE), [one], run_async=run_async)
            assert f"threshold: {threshold}" in str(caught.value)


@BOTH
def test_an_outage_is_no_zero_in_tables_averages_and_the_run_file(
    run_async: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sample is judged well, of another the judge says nothing, a third has no claims."""
    ways = {way.name: way for way in WAYS}

    class Half:
        def answer(self, prompt: str) -> str:
            struck = "Alba" in prompt
            return (SpoiledMind(ways["garbage for chunks"]) if struck else mind()).answer(prompt)

    good = SAMPLE.model_validate_json(SAMPLE.model_dump_json().replace("Alba", STRUCK))
    cases = [
        case_of(good, name="good"),
        case_of(SAMPLE, name="outage"),
        case_of(good, name="no claims", metadata={"verdicts": {"response_claims": []}}),
    ]
    one = NoiseSensitivityMetric(threshold=0.4, model=MindModel(Half()))
    evaluate(
        cases,
        [one],
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(
            show_indicator=False, inspect_after_run=False, results_folder=str(tmp_path / "runs")
        ),
    )

    printed = " ".join(capsys.readouterr().out.split())
    # DeepEval's own average: of what has a score, here the one true third.
    assert "0.33" in printed
    assert not re.search(r"\bnan\b", printed, re.IGNORECASE)
    # Cases that do not fail are one line each; the one that does shows no number.
    assert re.search(r"FAIL │ Noise Sensitivity │ N/A │ 0\.40 │", printed)
    (path,) = (tmp_path / "runs").rglob("test_run_*.json")
    written = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    (scores,) = written["metricsScores"]
    assert scores["scores"] == [pytest.approx(1 / 3)]
    assert (scores["passes"], scores["fails"]) == (1, 0)
    assert scores["errors"] == 2
    assert (written["testPassed"], written["testFailed"]) == (2, 1)
    found = {
        item["name"]: (item["success"], *_brief(item["metricsData"][0]))
        for item in written["testCases"]
    }
    assert found == {
        "good": (True, pytest.approx(1 / 3), True, "is 0.3333"),
        "outage": (False, None, False, "is undetermined"),
        "no claims": (True, None, None, "is undefined"),
    }


def _brief(data: dict[str, Any]) -> tuple[Any, Any, str]:
    said = [
        words
        for words in ("is 0.3333", "is undetermined", "is undefined")
        if words in data["reason"]
    ]
    return data.get("score"), data.get("success"), said[0]


@each_way_both
def test_an_end_chosen_as_the_number_changes_no_gate(way: Way, run_async: bool) -> None:
    model = MindModel(SpoiledMind(way))
    asked: list[Any] = [(mode, end) for mode in MODES for end in ("low", "high")]
    metrics = [metric(way, mode, 0.5, model=model, undetermined=end) for mode, end in asked]

    (result,) = run([case_of(SAMPLE, name="a")], metrics, run_async=run_async)

    for data, (mode, end) in zip(result.metrics_data, asked, strict=True):
        bounds = getattr(way, mode)
        assert data.success is passes(way, mode, 0.5)
        assert data.name == f"Noise Sensitivity ({mode}, undetermined={end})"
        if bounds is None:
            assert data.score is None
            assert "is undetermined: " in data.reason
            continue
        assert data.score == pytest.approx(bounds[end == "high"] / 3)
        assert f"with what is undetermined counted as {'no ' * (end == 'low')}noise" in data.reason
        assert data.success or "cannot be decided: it lies between" in data.reason


def test_strict_mode_passes_only_where_nothing_can_count() -> None:
    open_but_zero = {
        "response_claims": [
            {"text": "a", "correct": None, "entailed_by": []},
            {"text": "b", "correct": True, "entailed_by": []},
        ]
    }
    open_cell = {"response_claims": [{"text": "a", "correct": False, "undetermined": [0]}]}
    for verdicts, score, success in ((open_but_zero, 0.0, True), (open_cell, None, False)):
        verdicts["response_claims"][0].setdefault("entailed_by", [])
        case = case_of(SAMPLE, metadata={"verdicts": verdicts})
        one = NoiseSensitivityMetric(strict_mode=True)
        assert one.measure(case, _show_indicator=False) == score
        assert one.success is success


@BOTH
def test_a_number_above_the_threshold_says_so(run_async: bool) -> None:
    one = NoiseSensitivityMetric(model=MindModel(mind()), threshold=0.2)
    (result,) = run([case_of(SAMPLE, name="a")], [one], run_async=run_async)
    (data,) = result.metrics_data
    assert math.isclose(data.score, 1 / 3)
    assert data.reason.endswith("It is above the threshold 0.2.")
