"""Our metric in ragas, through ``evaluate()`` and through ``ascore``, and ragas' own metric."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from noisesense import RecordedJudge
from noisesense.scoring.definitions import MODES
from noisesense_adapters.demo import compare
from noisesense_adapters.demo.compare import ExampleRun, Figures, NotComparable, Pair, Results
from noisesense_adapters.toolbox.extras import needs_extra

EVALUATE = "ragas evaluate"
ASCORE = "ragas ascore"
OWN = "ragas' own"
_NO_LABELS = "it takes no chunk labels but derives relevance from the reference's claims"


def run_ragas(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """Our metric through both APIs, and ragas' own metric where it can be compared."""
    with needs_extra("ragas"):
        ragas = import_module("ragas")
    judge = RecordedJudge(recording)
    evaluated: dict[str, Pair] = {}
    for group in compare.by_definition(runs):
        evaluated.update(_evaluate(ragas, group, judge))
    scored = asyncio.run(_ascore(runs, judge))
    places = {EVALUATE: evaluated, ASCORE: scored, OWN: _own(runs, judge)}
    return Results(ragas.__version__, places)


def _evaluate(ragas: Any, group: Sequence[ExampleRun], judge: RecordedJudge) -> dict[str, Pair]:
    from noisesense_adapters.demo.ragas_peer import ragas_row
    from noisesense_adapters.ragas import NoiseSensitivity

    metrics = [
        NoiseSensitivity(mode=mode, judge=judge, definition=group[0].definition) for mode in MODES
    ]
    dataset = ragas.EvaluationDataset.from_list([ragas_row(run.example.sample) for run in group])
    result = ragas.evaluate(dataset, metrics=metrics, show_progress=False, raise_exceptions=True)
    return {
        run.key: Pair(*(_figure(row[f"{metric.name}(mode={metric.mode})"]) for metric in metrics))
        for run, row in zip(group, result.scores, strict=True)
    }


async def _ascore(runs: Sequence[ExampleRun], judge: RecordedJudge) -> dict[str, Pair]:
    from noisesense_adapters.demo.ragas_peer import ragas_row
    from noisesense_adapters.ragas import NoiseSensitivity

    figures: dict[str, Pair] = {}
    for run in runs:
        values: list[float | None] = []
        for mode in MODES:
            metric = NoiseSensitivity(mode=mode, judge=judge, definition=run.definition)
            result = await metric.ascore(**ragas_row(run.example.sample))
            values.append(_figure(result.value))
        figures[run.key] = Pair(*values)
    return figures


def _own(runs: Sequence[ExampleRun], judge: RecordedJudge) -> Figures:
    """ragas' own metric, both modes, given the same verdicts by a scripted model."""
    from noisesense_adapters.demo.ragas_mind import why_not_comparable
    from noisesense_adapters.demo.ragas_peer import collections_scores

    figures: dict[str, Pair | NotComparable] = {}
    for run in runs:
        sample = run.example.sample
        verdicts = judge.lookup(sample)
        reason = why_not_comparable(verdicts)
        if run.definition != "ragas":
            figures[run.key] = NotComparable("it computes no definition but its own")
        elif reason:
            figures[run.key] = NotComparable(f"{_NO_LABELS}; {reason}")
        else:
            modes = (collections_scores([(sample, verdicts)], mode) for mode in MODES)
            figures[run.key] = Pair(*(_figure(values[0]) for values in modes))
    return figures


def _figure(value: Any) -> float | None:
    """An undefined value is NaN in ragas."""
    return None if value is None or math.isnan(value) else float(value)
