"""Noise sensitivity in LangSmith's experiments and beside openevals' evaluators.

Needs only the core, and a model or a recording for the verdicts. Evaluators are plain functions
there, so that nothing of LangSmith is imported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from typing_extensions import Unpack

from noisesense.errors import describe
from noisesense_adapters.evaluate.evaluator import NAME
from noisesense_adapters.evaluate.rows import (
    Arguments,
    Figure,
    RowEvaluator,
    mean_of,
    row_evaluator_of,
    summary_of,
)
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.values import is_one_text

__all__ = ["noise_sensitivity", "noise_sensitivity_summary"]

Evaluator = Callable[..., Awaitable[list[dict[str, Any]]]]
SummaryEvaluator = Callable[..., dict[str, Any]]


def noise_sensitivity(*, name: str = NAME, **arguments: Unpack[Arguments]) -> Evaluator:
    """Return an evaluator for ``evaluate``, ``aevaluate`` and wherever openevals' evaluators go.

    It gives one result for each mode, ``noise_sensitivity_relevant`` and
    ``noise_sensitivity_irrelevant``, from one judging. Scores run from 0 to 1; **lower is
    better**. An undefined or undetermined score is None, and the comment says why.

    Args:
        name: how its scores' names begin; two evaluators in one run need two.
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. ``judge`` may also be a
            chat model, as in openevals. By default the contexts are ``contexts``, ``context`` or
            ``documents`` of the outputs, then of the inputs; a function of the row gets a dict of
            ``inputs``, ``outputs``, ``reference_outputs`` and openevals' other arguments.

    Returns:
        An async function. It raises where a row cannot be evaluated, which LangSmith shows as
        that row's error.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither judge nor
            model, or both; or an unknown judge option. A wrong place or an unusable
            model fails each row.
    """
    if hasattr(arguments.get("judge"), "ainvoke") and arguments.get("model") is None:
        arguments["model"] = arguments.pop("judge", None)
    rows = RowEvaluator(HOSTS["langsmith"], structured_llm, name=name, **arguments)
    kept: dict[Any, list[dict[str, Any]]] = {}  # LangSmith hands no scores to a summary

    # Not by name only: older versions of LangSmith refuse that.
    async def noise_sensitivity(
        inputs: Any = None,
        outputs: Any = None,
        reference_outputs: Any = None,
        run: Any = None,
        example: Any = None,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        if is_one_text(kwargs.get("context")):  # openevals' argument may be one
            kwargs["context"] = [kwargs["context"]]
        row = {"outputs": outputs, "reference_outputs": reference_outputs, "inputs": inputs}
        example_id = getattr(example, "id", None)
        place = f"inputs {describe(inputs)}" if example_id is None else f"example {example_id}"
        figures = await rows.kept_figures({**row, **kwargs}, place)
        kept[getattr(run, "id", None)] = [figure.metadata for figure in figures]
        return [_shown(rows.name(figure.mode), figure) for figure in figures]

    vars(noise_sensitivity).update(rows=rows, kept=kept)
    return noise_sensitivity


def noise_sensitivity_summary(evaluator: Evaluator) -> SummaryEvaluator:
    """Return a summary evaluator: the run's means, from what ``evaluator`` found in the same run.

    Each mean comes as ``noise_sensitivity_<mode>_mean``, with its interval, its range where
    verdicts are open, and the undefined, undetermined and failed rows in the comment. It is None
    where open verdicts do not decide it. What was found is used once: at a second call for the
    same runs every row counts as failed.

    Args:
        evaluator: made by `noise_sensitivity`, and in the same call's ``evaluators``.

    Raises:
        InputError: an evaluator that is not ours.
        KeyError: one that is another host's.
    """
    rows = row_evaluator_of(evaluator)
    kept = vars(evaluator)["kept"]

    def noise_sensitivity_summary(
        runs: Sequence[Any],
        examples: Sequence[Any],  # LangSmith takes no function of the runs alone
    ) -> dict[str, Any]:
        summary = summary_of([kept.pop(run.id, ()) for run in runs], rows.definition)
        means = [mean_of(summary, mode) for mode in rows.modes]
        return {"results": [_shown(rows.name(f"{mean.mode}_mean"), mean) for mean in means]}

    return noise_sensitivity_summary


def _shown(key: str, figure: Figure) -> dict[str, Any]:
    return {
        "key": key,
        "score": figure.value,
        "comment": figure.reason,
        "metadata": figure.metadata,
    }
