"""Factories of the evaluator and the summary evaluator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from noisesense import DefinitionName, Empty, Undetermined
from noisesense.errors import describe
from noisesense_adapters.datasets.evaluator import Modes, RowEvaluator, mean_sentence, rows_of
from noisesense_adapters.datasets.model import structured_llm
from noisesense_adapters.datasets.rows import Column

Evaluator = Callable[..., Awaitable[list[dict[str, Any]]]]
SummaryEvaluator = Callable[..., list[dict[str, Any]]]

_USUAL = {
    "response": ("outputs.answer", "outputs.output", "outputs.response", "outputs"),
    "reference": (
        "reference_outputs.answer",
        "reference_outputs.output",
        "reference_outputs.reference",
        "reference_outputs.response",
        "reference_outputs",
    ),
    "contexts": (
        "outputs.contexts",
        "outputs.context",
        "outputs.documents",
        "context",
        "inputs.contexts",
        "inputs.context",
        "inputs.documents",
    ),
    "user_input": ("inputs.question", "inputs.input", "inputs.query", "inputs"),
    "chunk_labels": ("reference_outputs.chunk_labels",),
    "verdicts": ("reference_outputs.verdicts",),
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
    """An evaluator for ``evaluate``, ``aevaluate`` and wherever openevals' evaluators go.

    It gives one result for each mode, ``noise_sensitivity_relevant`` and
    ``noise_sensitivity_irrelevant``, from one judging. Scores run from 0 to 1; **lower is
    better**. An undefined or undetermined score is None, and the comment says why.

    Args:
        judge: a `noisesense.Judge`, the path of a recording, or a chat model, as in openevals.
        model: ``"provider:model"``, a LangChain chat model, or a `noisesense.StructuredLLM`.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        store: a `VerdictStore`, or the path of one, that keeps the model's replies.
        judge_options: further arguments of `LLMJudge`.
        contexts: where a row holds the retrieved texts or documents: a name, a dotted path such
            as ``"outputs.retrieval.documents"``, or a function of the row (a dict of ``inputs``,
            ``outputs``, ``reference_outputs`` and openevals' other arguments). By default
            ``contexts``, ``context`` or ``documents`` of the outputs, then of the inputs.
        reference: likewise; by default ``answer``, ``output`` or ``reference`` of the reference
            outputs.
        response: likewise; by default ``answer``, ``output`` or ``response`` of the outputs.
        user_input: likewise; by default ``question``, ``input`` or ``query`` of the inputs.

    Returns:
        An async function. It raises where a row cannot be evaluated, which LangSmith shows as
        that row's error.

    Raises:
        InputError: an unknown mode, definition or place, neither judge nor model, or both.
    """
    if hasattr(judge, "ainvoke") and model is None:
        judge, model = None, judge
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

    # Not by name only: older versions of LangSmith refuse that.
    async def noise_sensitivity(
        inputs: Any = None,
        outputs: Any = None,
        reference_outputs: Any = None,
        example: Any = None,
        **kwargs: Any,
    ) -> list[dict[str, Any]]:
        row = {"outputs": outputs, "reference_outputs": reference_outputs, "inputs": inputs}
        name = getattr(example, "id", None)
        place = f"inputs {describe(inputs)}" if name is None else f"example {name}"
        evaluated = await rows.evaluate({**row, **kwargs}, place)
        return [
            {
                "key": f"noise_sensitivity_{figure.mode}",
                "score": figure.value,
                "comment": figure.reason,
                "metadata": figure.metadata,
            }
            for figure in evaluated.figures()
        ]

    vars(noise_sensitivity)["rows"] = rows
    return noise_sensitivity


def noise_sensitivity_summary(evaluator: Evaluator) -> SummaryEvaluator:
    """A summary evaluator: the run's means, from what ``evaluator`` found in the same run.

    Each mean comes as ``noise_sensitivity_<mode>_mean``, with its interval, its range where
    verdicts are open, and the undefined, undetermined and failed rows in the comment. It is None
    where open verdicts do not decide it.

    Args:
        evaluator: made by `noise_sensitivity`, and in the same call's ``evaluators``.

    Raises:
        InputError: some other function.
    """
    rows = rows_of(evaluator)

    def noise_sensitivity_summary(
        inputs: Sequence[Any], outputs: Sequence[Any], reference_outputs: Sequence[Any]
    ) -> list[dict[str, Any]]:
        names = ("inputs", "outputs", "reference_outputs")
        columns = zip(inputs, outputs, reference_outputs, strict=True)
        summary = rows.summary([dict(zip(names, values, strict=True)) for values in columns])
        results: list[dict[str, Any]] = []
        for mode in rows.modes:
            figures = summary.mode(mode)
            results.append(
                {
                    "key": f"noise_sensitivity_{mode}_mean",
                    "score": figures.mean.value if figures and figures.mean else None,
                    "comment": mean_sentence(summary, mode),
                }
            )
        return results

    return noise_sensitivity_summary
