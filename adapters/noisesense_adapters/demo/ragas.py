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
from noisesense_adapters.demo.compare import (
    Case,
    Figures,
    NotComparable,
    Pair,
    Results,
    by_definition,
)
from noisesense_adapters.toolbox.extras import needs_extra

__all__ = ["ASCORE", "EVALUATE", "OWN", "run_ragas"]

EVALUATE = "ragas evaluate"
ASCORE = "ragas ascore"
OWN = "ragas' own"
_NO_LABELS = "it takes no chunk labels but derives relevance from the reference's claims"


def run_ragas(wanted: Sequence[Case], recording: Path) -> Results:
    """Both ways of our metric, and ragas' own metric where it can be asked."""
    with needs_extra("ragas"):
        ragas = import_module("ragas")
    judge = RecordedJudge(recording)
    evaluated: dict[str, Pair] = {}
    for group in by_definition(wanted).values():
        evaluated.update(_evaluate(ragas, group, judge))
    return Results(
        ragas.__version__,
        {
            EVALUATE: evaluated,
            ASCORE: asyncio.run(_ascore(wanted, judge)),
            OWN: _own(wanted, judge),
        },
    )


def _evaluate(ragas: Any, group: Sequence[Case], judge: RecordedJudge) -> dict[str, Pair]:
    from noisesense_adapters.demo.ragas_peer import ragas_row
    from noisesense_adapters.ragas import NoiseSensitivity

    metrics = [
        NoiseSensitivity(mode=mode, judge=judge, definition=group[0].definition) for mode in MODES
    ]
    dataset = ragas.EvaluationDataset.from_list([ragas_row(case.example.sample) for case in group])
    result = ragas.evaluate(dataset, metrics=metrics, show_progress=False, raise_exceptions=True)
    return {
        case.key: Pair(*(_figure(row[f"noise_sensitivity(mode={mode})"]) for mode in MODES))
        for case, row in zip(group, result.scores, strict=True)
    }


async def _ascore(wanted: Sequence[Case], judge: RecordedJudge) -> dict[str, Pair]:
    from noisesense_adapters.demo.ragas_peer import ragas_row
    from noisesense_adapters.ragas import NoiseSensitivity

    figures: dict[str, Pair] = {}
    for case in wanted:
        values: list[float | None] = []
        for mode in MODES:
            metric = NoiseSensitivity(mode=mode, judge=judge, definition=case.definition)
            found = await metric.ascore(**ragas_row(case.example.sample))
            values.append(_figure(found.value))
        figures[case.key] = Pair(*values)
    return figures


def _own(wanted: Sequence[Case], judge: RecordedJudge) -> Figures:
    """ragas' own metric, both modes, given the same verdicts by a scripted model."""
    from noisesense_adapters.demo.ragas_mind import why_not_comparable
    from noisesense_adapters.demo.ragas_peer import collections_scores

    figures: dict[str, Pair | NotComparable] = {}
    for case in wanted:
        sample = case.example.sample
        verdicts = judge.lookup(sample)
        why = why_not_comparable(verdicts)
        if case.definition != "ragas":
            figures[case.key] = NotComparable("it computes no definition but its own")
        elif why:
            figures[case.key] = NotComparable(f"{_NO_LABELS}; {why}")
        else:
            modes = (collections_scores([(sample, verdicts)], mode) for mode in MODES)
            figures[case.key] = Pair(*(_figure(values[0]) for values in modes))
    return figures


def _figure(value: Any) -> float | None:
    """ragas says undefined with NaN."""
    return None if value is None or math.isnan(value) else float(value)
