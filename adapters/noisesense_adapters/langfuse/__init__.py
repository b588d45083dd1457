"""Noise sensitivity in Langfuse's experiments. Needs the extra ``langfuse``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from noisesense.errors import NoiseSenseError, describe
from noisesense_adapters.evaluate.evaluator import NAME
from noisesense_adapters.evaluate.rows import (
    Arguments,
    Figure,
    RowEvaluator,
    mean_of,
    row_evaluator_of,
    summary_of,
)
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.reading.places import HOSTS

with needs_extra("langfuse"):
    from langfuse import Evaluation

if TYPE_CHECKING:
    from langfuse.experiment import ExperimentItemResult

__all__ = ["noise_sensitivity", "noise_sensitivity_run"]

Evaluator = Callable[..., Awaitable[list[Evaluation]]]
RunEvaluator = Callable[..., list[Evaluation]]


def noise_sensitivity(*, name: str = NAME, **arguments: Unpack[Arguments]) -> Evaluator:
    """Return an evaluator for ``run_experiment(evaluators=[…])``.

    It gives ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from one judging.
    Scores run from 0 to 1; **lower is better**. Langfuse averages every number it is given and
    logs what an evaluator raises, so three things are said as text: a score that is undefined or
    undetermined is no number but ``noise_sensitivity_<mode>_status``, with the reason; and a row
    that could not be evaluated has ``noise_sensitivity_error``.

    Args:
        name: how its scores' names begin; two evaluators in one run need two.
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. ``model`` may be
            ``OpenAILLM(model, client=AsyncOpenAI())`` with the client of `langfuse.openai`. By
            default the contexts are ``contexts``, ``context`` or ``documents`` of the output, then
            of the metadata; a function of the row gets a dict of ``input``, ``output``,
            ``expected_output`` and ``metadata``.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither judge nor
            model, or both; or an unknown judge option. A wrong place or an unusable
            model fails each row.
    """
    rows = RowEvaluator(HOSTS["langfuse"], structured_llm, name=name, **arguments)

    async def noise_sensitivity(
        *,
        input: Any = None,  # noqa: A002 - Langfuse's name
        output: Any = None,
        expected_output: Any = None,
        metadata: Any = None,
        **_: Any,
    ) -> list[Evaluation]:
        row = {"output": output, "expected_output": expected_output, "metadata": metadata}
        try:
            place = f"item with the input {describe(input)}"
            figures = await rows.kept_figures({**row, "input": input}, place)
        except NoiseSenseError as error:
            title = rows.name("error")
            return [Evaluation(name=title, value=str(error), data_type="CATEGORICAL")]
        return [_shown(rows.name(figure.mode), figure) for figure in figures]

    vars(noise_sensitivity)["rows"] = rows
    return noise_sensitivity


def noise_sensitivity_run(evaluator: Evaluator) -> RunEvaluator:
    """Return an evaluator for ``run_experiment(run_evaluators=[…])``: the run's means.

    Each mean is ``noise_sensitivity_<mode>_mean``, with its interval, its range where verdicts
    are open, and the undefined, undetermined and failed items in the comment. Where open verdicts
    do not decide it, there is ``noise_sensitivity_<mode>_mean_status`` instead.

    Args:
        evaluator: made by `noise_sensitivity`, and in the same call's ``evaluators``.

    Raises:
        InputError: an evaluator that is not ours.
    """
    rows = row_evaluator_of(evaluator)

    def noise_sensitivity_run(
        *, item_results: Sequence[ExperimentItemResult], **_: Any
    ) -> list[Evaluation]:
        metadata = [[each.metadata for each in item.evaluations] for item in item_results]
        summary = summary_of(metadata, rows.definition, rows.score_prefix)
        means = [mean_of(summary, mode) for mode in rows.modes]
        return [_shown(rows.name(f"{mean.mode}_mean"), mean) for mean in means]

    return noise_sensitivity_run


def _shown(name: str, figure: Figure) -> Evaluation:
    """Return the figure's value as a number, or else its status as text."""
    _, value, reason, metadata = figure
    data_type: Any = None
    if value is None:
        name = f"{name}_status"
        value = metadata["status"]
        data_type = "CATEGORICAL"
    return Evaluation(
        name=name, value=value, comment=reason, metadata=metadata, data_type=data_type
    )
