"""Our metric in DeepEval's ``evaluate()``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from noisesense import RecordedJudge
from noisesense.scoring.definitions import MODES
from noisesense_adapters.demo.compare import ExampleRun, Pair, Results, by_definition
from noisesense_adapters.toolbox.extras import needs_extra

DEEPEVAL = "DeepEval evaluate"


def run_deepeval(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """One ``evaluate()`` for each definition, both modes in it."""
    with needs_extra("deepeval"):
        deepeval = import_module("deepeval")
    judge = RecordedJudge(recording)
    figures: dict[str, Pair] = {}
    for group in by_definition(runs):
        figures.update(_evaluate(deepeval, group, judge))
    return Results(deepeval.__version__, {DEEPEVAL: figures})


def _evaluate(deepeval: Any, group: Sequence[ExampleRun], judge: RecordedJudge) -> dict[str, Pair]:
    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    configs: Any = import_module("deepeval.evaluate.configs")
    metrics = [
        NoiseSensitivityMetric(mode=mode, judge=judge, definition=group[0].definition)
        for mode in MODES
    ]
    result = deepeval.evaluate(
        [_test_case(run) for run in group],
        metrics,
        display_config=configs.DisplayConfig(
            show_indicator=False, print_results=False, inspect_after_run=False
        ),
        cache_config=configs.CacheConfig(write_cache=False, use_cache=False),
    )
    # Results come in order of completion; the name says which run a result belongs to.
    names = [metric.__name__ for metric in metrics]
    return {tested.name: _pair(names, tested.metrics_data) for tested in result.test_results}


def _test_case(run: ExampleRun) -> Any:
    sample = run.example.sample
    test_case: Any = import_module("deepeval.test_case")
    return test_case.LLMTestCase(
        name=run.key,
        input=sample.user_input,
        actual_output=sample.response,
        expected_output=sample.reference,
        retrieval_context=[chunk.text for chunk in sample.retrieved_contexts],
    )


def _pair(names: Sequence[str], metrics_data: Sequence[Any]) -> Pair:
    scores = {data.name: data.score for data in metrics_data}
    return Pair(*(scores[name] for name in names))
