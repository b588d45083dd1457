"""DeepEval's cache of results (``deepeval test run -c``) never serves another metric's number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepeval.constants import HIDDEN_DIR
from deepeval.test_run import cache as results_cache

from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import MindModel, case_of, run_one
from support.mind import Mind

EXAMPLE = reference_examples()[0]


@pytest.fixture(autouse=True)
def cache(offline: None) -> Iterator[None]:
    """The cache manager lives as long as the process; it starts and ends empty here."""
    Path(HIDDEN_DIR).mkdir()
    manager = results_cache.global_test_run_cache_manager
    manager.cached_test_run = manager.temp_cached_test_run = None
    yield
    manager.cached_test_run = manager.temp_cached_test_run = manager.disable_write_cache = None


@pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])
def test_what_the_cache_does_not_know_of_counts_all_the_same(run_async: bool) -> None:
    """Its key has neither modes nor definitions, labels, verdicts or the judge."""

    def measured(metadata: Any = None, **arguments: Any) -> float | None:
        case = case_of(EXAMPLE.sample, metadata=metadata)
        model = MindModel(Mind([(EXAMPLE.sample, EXAMPLE.verdicts)]))
        metric = NoiseSensitivityMetric(model=model, **arguments)
        # A new process that has measured one case: it reads the file, and knows the model.
        results_cache.global_test_run_cache_manager.cached_test_run = None
        metric.evaluation_model = model.name
        return run_one(case, metric, run_async=run_async, cache=True)[1].score

    none: dict[str, Any] = {"response_claims": [{"text": "", "correct": True, "entailed_by": []}]}
    for _ in range(2):
        for mode, figure in zip(MODES, EXAMPLE.expected["paper"], strict=True):
            assert measured(mode=mode, definition="paper") == figure
        assert [measured(mode=mode) for mode in MODES] == [0.5, 0]
        assert measured({"chunk_labels": [False]}) == 0
        assert measured({"chunk_labels": [True]}) == 0.5
        assert measured({"verdicts": none}) == 0
