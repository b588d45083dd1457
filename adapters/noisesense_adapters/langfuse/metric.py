"""Factories of the evaluator of items and the evaluator of runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from noisesense import DefinitionName, Empty, Undetermined
from noisesense.errors import NoiseSenseError, describe
from noisesense_adapters.datasets.evaluator import (
    Figure,
    Modes,
    RowEvaluator,
    mean_sentence,
    rows_of,
)
from noisesense_adapters.datasets.model import structured_llm
from noisesense_adapters.datasets.rows import Column
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.given import plain

with needs_extra("langfuse"):
    from langfuse import Evaluation

if TYPE_CHECKING:
    from langfuse.experiment import ExperimentItemResult

Evaluator = Callable[..., Awaitable[list[Evaluation]]]
RunEvaluator = Callable[..., list[Evaluation]]

_USUAL = {
    "response": ("output.answer", "output.response", "output.output", "output"),
    "reference": (
        "expected_output.answer",
        "expected_output.reference",
        "expected_output.response",
        "expected_output",
    ),
    "contexts": (
        "output.contexts",
        "output.context",
        "output.documents",
        "metadata.contexts",
        "metadata.context",
        "metadata.documents",
    ),
    "user_input": ("input.question", "input.input", "input.query", "input"),
    "chunk_labels": ("metadata.chunk_labels",),
    "verdicts": ("metadata.verdicts",),
}


def noise_sensitivity(
    *,
    judge: Any = None,
    model: Any = None,
    mode: Modes = "both",
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
    store: Any = None,
    judge_options: Mapping[str, Any] | None = None,
    contexts: Column | None = None,
    reference: Column | None = None,
    response: Column | None = None,
    user_input: Column | None = None,
) -> Evaluator:
    """An evaluator for ``run_experiment(evaluators=[…])``.

    It gives ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from one judging.
    Scores run from 0 to 1; **lower is better**. Langfuse averages every number it is given and
    logs what an evaluator raises, so three things are said as text: a score that is undefined or
    undetermined is no number but ``noise_sensitivity_<mode>_status``, with the reason; and a row
    that could not be evaluated has ``noise_sensitivity_error``.

    Args:
        judge: a `noisesense.Judge`, or the path of a recording.
        model: ``"provider:model"``, a LangChain chat model, or a `noisesense.StructuredLLM` such
            as ``OpenAILLM(model, client=AsyncOpenAI())`` with the client of `langfuse.openai`.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        store: a `VerdictStore`, or the path of one, that keeps the model's replies.
        judge_options: further arguments of `LLMJudge`.
        contexts: where an item holds the retrieved texts or documents: a name, a dotted path such
            as ``"output.retrieval.documents"``, or a function of the row (a dict of ``input``,
            ``output``, ``expected_output`` and ``metadata``). By default ``contexts``,
            ``context`` or ``documents`` of the output, then of the metadata.
        reference: likewise; by default the expected output, or its ``answer``.
        response: likewise; by default the output, or its ``answer``.
        user_input: likewise; by default the input, or its ``question``.

    Raises:
        InputError: an unknown mode, definition or place, neither judge nor model, or both.
    """
    rows = RowEvaluator(
        _USUAL,
        structured_llm,
        judge=judge,
        model=model,
        mode=mode,
        definition=definition,
        empty=empty,
        undetermined=undetermined,
        store=store,
        judge_options=judge_options,
        contexts=contexts,
        reference=reference,
        response=response,
        user_input=user_input,
    )

    async def noise_sensitivity(
        *,
        input: Any = None,  # noqa: A002 - Langfuse's name
        output: Any = None,
        expected_output: Any = None,
        metadata: Any = None,
        **_: Any,
    ) -> list[Evaluation]:
        row = {"output": output, "expected_output": expected_output}
        try:
            row |= {"metadata": metadata, "input": input}
            evaluated = await rows.evaluate(row, f"item with the input {describe(input)}")
        except NoiseSenseError as error:
            name = "noise_sensitivity_error"
            return [Evaluation(name=name, value=str(error), data_type="CATEGORICAL")]
        return [_evaluation(figure) for figure in evaluated.figures()]

    vars(noise_sensitivity)["rows"] = rows
    return noise_sensitivity


def _evaluation(figure: Figure) -> Evaluation:
    name = f"noise_sensitivity_{figure.mode}"
    if figure.value is None:
        return Evaluation(
            name=f"{name}_status",
            value=figure.metadata["status"],
            comment=figure.reason,
            metadata=figure.metadata,
            data_type="CATEGORICAL",
        )
    return Evaluation(
        name=name, value=figure.value, comment=figure.reason, metadata=figure.metadata
    )


def noise_sensitivity_run(evaluator: Evaluator) -> RunEvaluator:
    """An evaluator for ``run_experiment(run_evaluators=[…])``: the run's means.

    Each mean is ``noise_sensitivity_<mode>_mean``, with its interval, its range where verdicts
    are open, and the undefined, undetermined and failed items in the comment. Where open verdicts
    do not decide it, there is ``noise_sensitivity_<mode>_mean_status`` instead.

    Args:
        evaluator: made by `noise_sensitivity`, and in the same call's ``evaluators``.

    Raises:
        InputError: some other function.
    """
    rows = rows_of(evaluator)

    def noise_sensitivity_run(
        *, item_results: Sequence[ExperimentItemResult], **_: Any
    ) -> list[Evaluation]:
        summary = rows.summary(map(_row, item_results))
        evaluations: list[Evaluation] = []
        for mode in rows.modes:
            figures, comment = summary.mode(mode), mean_sentence(summary, mode)
            name = f"noise_sensitivity_{mode}_mean"
            mean = figures.mean.value if figures and figures.mean else None
            if mean is not None:
                evaluations.append(Evaluation(name=name, value=mean, comment=comment))
                continue
            name = f"{name}_status"
            status = "undetermined" if figures is not None and figures.mean else "undefined"
            evaluations.append(
                Evaluation(name=name, value=status, comment=comment, data_type="CATEGORICAL")
            )
        return evaluations

    return noise_sensitivity_run


def _row(result: ExperimentItemResult) -> dict[str, Any]:
    item: dict[str, Any] = plain(result.item)
    names = ("expected_output", "metadata", "input")
    return {"output": result.output, **{name: item.get(name) for name in names}}
