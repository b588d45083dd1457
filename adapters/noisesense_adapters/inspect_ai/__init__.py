"""Noise sensitivity as a scorer of Inspect. Needs the extra ``inspect-ai``."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from typing_extensions import Unpack

from noisesense import DefinitionName, InputError, Summary
from noisesense_adapters.evaluate.rows import Arguments, RowEvaluator, summary_of
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.reading.places import HOSTS

with needs_extra("inspect-ai", "inspect_ai"):
    from inspect_ai.log import EvalLog
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState

__all__ = ["noise_sensitivity", "run_summary"]


@scorer(metrics={"noise_sensitivity_*": [mean(), stderr()]})
def noise_sensitivity(**arguments: Unpack[Arguments]) -> Scorer:
    """Return a scorer for ``Task(scorer=…)``.

    It gives ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from one judging.
    Scores run from 0 to 1; **lower is better**. An undefined or undetermined score is NaN, which
    Inspect's metrics skip and count as unscored; the explanation says why.

    Args:
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. By default the contexts are
            ``contexts``, ``documents`` and the like of the store, then of the metadata; a function
            of the row gets a dict of ``input``, ``output``, ``target``, ``metadata`` and
            ``store``.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither judge nor
            model, or both; or an unknown judge option. A wrong place or an unusable
            model fails each row.
    """
    rows = RowEvaluator(HOSTS["inspect"], structured_llm, **arguments)

    async def score(state: TaskState, target: Target) -> Score:
        _check_loop()
        row = {
            "input": state.input_text,
            "output": state.output.completion,
            # Inspect's `text` joins several without anything between them.
            "target": target.text if len(target) == 1 else [*target],
            "metadata": state.metadata,
            "store": dict(state.store.items()),
        }
        figures = await rows.kept_figures(row, f"sample {state.sample_id}")
        values: dict[str, Any] = {}
        metadata: dict[str, Any] = {}
        for figure in figures:
            name = rows.name(figure.mode)
            # Inspect counts None as 0, a perfect score.
            values[name] = math.nan if figure.value is None else figure.value
            metadata[name] = figure.metadata
        reasons = [figure.reason for figure in figures]
        return Score(value=values, explanation="\n".join(reasons), metadata=metadata)

    return score


def _check_loop() -> None:
    """Raise `InputError` under trio, where no client of a model over asyncio works."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        hint = "leave INSPECT_ASYNC_BACKEND unset, or set it to asyncio"
        where = "Inspect's event loop"
        raise InputError("asyncio's", "another, as trio's", where=where, hint=hint) from None


def run_summary(
    log: EvalLog, definition: DefinitionName = "ragas", *, scorer: str | None = None
) -> Summary:
    """Return the means of a log's samples as ranges, with intervals.

    Inspect's own means are over the samples that have a number. Here every sample counts: an
    undetermined one by its bounds, and failed and undefined ones are counted apart. A sample
    without such a score is a failed one. The epochs of a sample are answers to one question, and
    count as one in the intervals.

    Args:
        log: what ``eval`` or ``read_eval_log`` returned, with its samples.
        definition: of the scores in question.
        scorer: the log's name of the scorer, where the task has several of ours.

    Raises:
        InputError: an unknown definition, or several scorers among which ``scorer`` does not
            choose.
    """
    rows: list[list[Any]] = []
    for sample in log.samples or ():
        metadata: list[Any] = []
        for name, score in (sample.scores or {}).items():
            if scorer in (None, name):
                metadata += (score.metadata or {}).values()
        rows.append(metadata)
    return summary_of(rows, definition)
