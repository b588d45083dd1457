"""DeepEval's cache of results (``deepeval test run -c``) never serves another metric's number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepeval.constants import HIDDEN_DIR
from deepeval.test_run import cache as results_cache

from noisesense import RecordedJudge, VerdictStore, write_recording
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.deepeval import NoiseSensitivityMetric
from support.deepeval_run import MindModel, case_of, run_one
from support.mind import Mind

EXAMPLES = reference_examples()
PAIRS = [(example.sample, example.verdicts) for example in EXAMPLES]
BOTH = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


@pytest.fixture(autouse=True)
def cache(offline: None) -> Iterator[None]:
    """The cache manager lives as long as the process; it starts and ends empty here."""
    Path(HIDDEN_DIR).mkdir()
    manager = results_cache.global_test_run_cache_manager
    manager.cached_test_run = manager.temp_cached_test_run = None
    yield
    manager.cached_test_run = manager.temp_cached_test_run = manager.disable_write_cache = None


def model() -> MindModel:
    return MindModel(Mind(PAIRS[:1]))


def measured(run_async: bool, metadata: Any = None, **arguments: Any) -> float | None:
    case = case_of(EXAMPLES[0].sample, metadata=metadata)
    _, data = run_one(case, NoiseSensitivityMetric(**arguments), run_async=run_async, cache=True)
    return data.score


@BOTH
def test_modes_and_definitions_are_kept_apart(run_async: bool) -> None:
    for _ in range(2):
        for definition, expected in EXAMPLES[0].expected.items():
            for mode, figure in zip(MODES, expected, strict=True):
                arguments: Any = {"mode": mode, "definition": definition}
                assert measured(run_async, model=model(), **arguments) == figure


@BOTH
def test_what_the_cache_does_not_know_of_counts_all_the_same(
    run_async: bool, tmp_path: Path
) -> None:
    """Its key has neither labels nor verdicts nor the judge."""
    none: dict[str, Any] = {"response_claims": [{"text": "", "correct": True, "entailed_by": []}]}
    write_recording(tmp_path / "verdicts.jsonl", PAIRS)
    judge = RecordedJudge(tmp_path / "verdicts.jsonl")
    for _ in range(2):
        assert measured(run_async, model=model()) == 0.5
        assert measured(run_async, {"chunk_labels": [False]}, model=model()) == 0
        assert measured(run_async, {"chunk_labels": [True]}, model=model()) == 0.5
        assert measured(run_async, {"verdicts": none}) == 0
        assert measured(run_async, judge=judge) == 0.5


@BOTH
def test_a_store_saves_the_calls_of_the_next_run(run_async: bool) -> None:
    first, second = model(), model()
    assert measured(run_async, model=first, store=VerdictStore("verdicts.db")) == 0.5
    assert measured(run_async, model=second, store=VerdictStore("verdicts.db")) == 0.5
    # Two decompositions, one check against the reference, one chunk.
    assert (len(first.prompts), second.prompts) == (4, [])
