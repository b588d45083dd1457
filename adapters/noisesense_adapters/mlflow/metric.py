"""The scorer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import PrivateAttr

from noisesense import DefinitionName, Empty, Result, Undetermined
from noisesense.errors import describe
from noisesense_adapters.datasets.evaluator import Figure, Modes, RowEvaluator
from noisesense_adapters.datasets.rows import Column
from noisesense_adapters.mlflow.llm import bridge
from noisesense_adapters.mlflow.sample import USUAL, row_of
from noisesense_adapters.toolbox.extras import needs_extra
from noisesense_adapters.toolbox.running import run_blocking

with needs_extra("mlflow"):
    import mlflow
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.judges.utils import get_default_model
    from mlflow.genai.scorers import Scorer

_COSTS = {
    "cost": "mlflow.assessment.judgeCost",
    "input_tokens": "mlflow.assessment.judgeInputTokens",
    "output_tokens": "mlflow.assessment.judgeOutputTokens",
}


_MOST_TRACES = 1_000_000


class NoiseSensitivity(Scorer):
    """Noise sensitivity of each row, from 0 to 1. **Lower is better.**

    It gives the feedback ``noise_sensitivity/relevant`` and ``noise_sensitivity/irrelevant``,
    with a rationale, from one judging; with another definition than the default,
    ``noise_sensitivity_<definition>/…``. An undefined or undetermined score is None, which MLflow
    shows and leaves out of the mean.

    Args:
        judge: a `noisesense.Judge`, or the path of a recording.
        model: a model URI of MLflow (by default MLflow's default for judges), a LangChain chat
            model, or a `noisesense.StructuredLLM`.
        mode: ``"relevant"``, ``"irrelevant"`` or ``"both"``.
        definition: see `noisesense.score`.
        empty: likewise.
        undetermined: likewise.
        store: a `VerdictStore`, or the path of one, that keeps the model's replies.
        judge_options: further arguments of `LLMJudge`.
        contexts: where a row holds the retrieved texts or documents: a name, a dotted path such
            as ``"outputs.retrieval.documents"``, or a function of the row (a dict of ``inputs``,
            ``outputs``, ``expectations``, ``retrieved`` and ``trace``). By default what the
            top-level retriever spans of the trace returned, else ``contexts``,
            ``retrieved_contexts`` or ``documents`` of the outputs, then of the inputs.
        reference: likewise; by default ``expected_response`` of the expectations, and nothing
            else.
        response: likewise; by default the outputs, or their ``response`` or ``answer``.
        user_input: likewise; by default the inputs' ``question``, ``query`` or ``input``.
        scorer: MLflow's own fields: ``name``, ``aggregations``, ``description``, ``timeout``.

    Raises:
        InputError: an unknown mode, definition or place, or something beside a judge.
    """

    name: str = "noise_sensitivity"
    mode: Modes = "both"
    definition: DefinitionName = "ragas"
    empty: Empty = "undefined"
    undetermined: Undetermined = "none"
    _rows: RowEvaluator = PrivateAttr()

    def __init__(
        self,
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
        **scorer: Any,
    ) -> None:
        if judge is None and model is None:
            model = get_default_model()
        fields: dict[str, Any] = {**scorer, "mode": mode, "definition": definition}
        if definition != "ragas":  # MLflow averages what has one name
            fields.setdefault("name", f"noise_sensitivity_{definition}")
        rows = RowEvaluator(
            USUAL,
            bridge,
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
        fields.update(empty=empty, undetermined=undetermined)
        super().__init__(**fields)
        self._rows = rows

    # MLflow hands over what is named here; a whole session is not what this scores.
    def __call__(  # type: ignore[override]
        self,
        *,
        inputs: Any = None,
        outputs: Any = None,
        expectations: Any = None,
        trace: Any = None,
    ) -> list[Feedback]:
        """The feedback on one row.

        Raises:
            NoiseSenseError: the row cannot be evaluated; MLflow stores it as the scorer's error.
        """
        row = row_of(inputs, outputs, expectations, trace)
        name = getattr(getattr(trace, "info", None), "trace_id", None)
        place = f"inputs {describe(inputs)}" if name is None else f"trace {name}"
        evaluated = run_blocking(self._rows.evaluate(row, place))
        figures = evaluated.figures()
        figures[0].metadata["result"] = evaluated.result(name or place).to_json()
        return [self._feedback(figure) for figure in figures]

    def _feedback(self, figure: Figure) -> Feedback:
        metadata = {
            _COSTS.get(name, f"noisesense.{name}"): value
            if isinstance(value, str)
            else json.dumps(value)
            for name, value in figure.metadata.items()
        }
        judge = str(figure.metadata["judge"])
        return Feedback(
            name=f"{self.name}/{figure.mode}",
            value=figure.value,
            rationale=figure.reason,
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=judge),
            metadata=metadata,
        )


def run_results(run_id: str) -> list[Result]:
    """What became of each row of a run, for `noisesense.summarize`, results files and reports.

    MLflow's own mean is one over the rows that have a value, which are the easy ones where the
    judge left verdicts open; ``summarize(run_results(result.run_id))`` gives the range over all.

    Args:
        run_id: of ``mlflow.genai.evaluate``'s result. Rows that the scorer failed for are results
            with its error.
    """
    results: list[Result] = []
    for trace in mlflow.search_traces(run_id=run_id, return_type="list", max_results=_MOST_TRACES):
        for found in trace.info.assessments:
            line = (found.metadata or {}).get("noisesense.result")
            if line is not None:
                results.append(Result.from_json(line))
            elif found.name.startswith("noise_sensitivity") and getattr(found, "error", None):
                message = found.error.error_message or found.error.error_code
                results.append(Result(trace.info.trace_id, error=str(message)))
    return results
