"""A trace as a sample, the scorer, and MLflow's models as the judge's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any, cast

from pydantic import BaseModel, PrivateAttr
from typing_extensions import Unpack

from noisesense import StructuredLLM, Summary
from noisesense.errors import InputError, describe, error_context
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Usage
from noisesense_adapters.evaluate.evaluator import NAME, suffix
from noisesense_adapters.evaluate.rows import (
    Arguments,
    Figure,
    RowEvaluator,
    summary_of,
)
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.models.bridge import Bridge, Reply
from noisesense_adapters.models.failures import made
from noisesense_adapters.models.identity import identity
from noisesense_adapters.models.running import in_thread
from noisesense_adapters.reading.chunks import chunks_of
from noisesense_adapters.reading.places import HOSTS

with needs_extra("mlflow"):
    from mlflow import get_run, search_traces
    from mlflow.entities import AssessmentSource, Feedback, SpanStatusCode, SpanType, Trace
    from mlflow.genai.judges.utils import get_default_model
    from mlflow.genai.scorers import Scorer


class MLflowLLM(Bridge):
    """A `noisesense.StructuredLLM` over a model URI of MLflow.

    MLflow's client reports no tokens: only calls are counted. The length of a reply is left to
    the model.

    Args:
        uri: e.g. ``"openai:/gpt-4.1-mini"``, ``"endpoints:/my-endpoint"`` or ``"databricks"``.

    Raises:
        JudgeError: MLflow does not know the model.
    """

    def __init__(self, uri: str) -> None:
        self.name = uri
        self.identity = identity(uri=uri, temperature=0)
        backend: Any = import_module("mlflow.genai.scorers.llm_backend")
        self._client = made(lambda: backend.ScorerLLMClient(uri), uri)

    async def ask(self, prompt: str, schema: type[BaseModel] | None) -> Reply:
        """See `Bridge.ask`."""
        form = {} if schema is None else {"response_format": schema}
        messages = [{"role": "user", "content": prompt}]
        call = partial(self._client.complete, messages, temperature=0, **form)
        text = await in_thread(call)
        return Reply(str(text or ""), Usage(calls=1))


def bridge(model: object) -> StructuredLLM:
    """Return a model by MLflow's URI, or any other that `structured_llm` takes.

    Raises:
        InputError: neither.
        JudgeError: MLflow does not know the model, or as `structured_llm`.
        MissingExtraError: as `structured_llm`.
    """
    if isinstance(model, str) and (":/" in model or model == "databricks"):
        return MLflowLLM(model)
    return structured_llm(model)


def _retrieved(trace: Any) -> list[Any] | InputError | None:
    """Return what the top-level retrievers returned; None without any.

    A retriever that failed, or returned no list of texts, has not retrieved nothing: the error
    that says so is raised where the documents are needed.

    A retriever inside another one (the search behind a reranker) only feeds it: the generator has
    not seen its documents.
    """
    if trace is None:
        return None
    spans = {span.span_id: span for span in trace.search_spans()}
    retrievers = trace.search_spans(span_type=SpanType.RETRIEVER)
    ids = {span.span_id for span in retrievers}
    documents: list[Any] = []
    try:
        for span in retrievers:
            if not _is_inside(span, ids, spans):
                documents += _documents(span)
    except InputError as error:
        return error
    return documents if retrievers else None


def _is_inside(span: Any, outer_ids: set[Any], spans: dict[Any, Any]) -> bool:
    """Tell whether a span is inside one with such an id, at any depth."""
    parent = spans.get(span.parent_id)
    while parent is not None and parent.span_id not in outer_ids:
        parent = spans.get(parent.parent_id)
    return parent is not None


def _documents(span: Any) -> list[Any]:
    """Return what a retriever returned. Raises `InputError`."""
    with error_context(f"retriever span {span.name!r}"):
        if span.status.status_code == SpanStatusCode.ERROR:
            got = span.status.description or "no reason"
            raise InputError("a retriever that succeeded", f"one that failed: {got}")
        return chunks_of(span.outputs)


_SCORED = "noisesense.scored"
_RUN = "mlflow.assessment.sourceRunId"
_COSTS = {
    "cost": "mlflow.assessment.judgeCost",
    "input_tokens": "mlflow.assessment.judgeInputTokens",
    "output_tokens": "mlflow.assessment.judgeOutputTokens",
}


class NoiseSensitivity(Scorer):
    """Noise sensitivity of each row, from 0 to 1. **Lower is better.**

    It gives the feedback ``noise_sensitivity/relevant`` and ``noise_sensitivity/irrelevant``,
    with a rationale, from one judging; of another definition ``noise_sensitivity_paper/relevant``.
    An undefined or undetermined score is None, which MLflow shows and leaves out of its mean: see
    `run_summary` for the mean of a run with open scores.

    Args:
        name: of the scorer; by default with the definition, if it is not ``"ragas"``.
        aggregations: MLflow's own, as ``description`` and ``timeout``.
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. ``model`` is a model URI
            of MLflow, by default its default for judges. By default the contexts are what the
            top-level retriever spans of the trace returned, else ``contexts``,
            ``retrieved_contexts`` or ``documents`` of the outputs, then of the inputs; the
            reference is ``expected_response`` of the expectations and nothing else. A function
            of the row gets a dict of ``inputs``, ``outputs``, ``expectations``, ``trace`` and,
            if the trace has retrievers, ``retrieved``.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; something that a
            judge does not use beside it; or an unknown judge option. A wrong place or an
            unusable model fails each row.
    """

    name: str = NAME
    _rows: RowEvaluator = PrivateAttr()

    def __init__(
        self,
        *,
        name: str | None = None,
        aggregations: Any = None,
        description: str | None = None,
        timeout: float | None = None,
        **arguments: Unpack[Arguments],
    ) -> None:
        if arguments.get("judge") is None and arguments.get("model") is None:
            arguments["model"] = get_default_model()
        rows = RowEvaluator(HOSTS["mlflow"], bridge, **arguments)
        super().__init__(
            name=name or NAME + suffix(rows.definition),
            aggregations=aggregations,
            description=description,
            timeout=timeout,
        )
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
        """Return the feedback on one row.

        Raises:
            NoiseSenseError: the row cannot be evaluated; MLflow stores it as the scorer's error.
        """
        row = {"outputs": outputs, "expectations": expectations, "inputs": inputs, "trace": trace}
        retrieved = _retrieved(trace)
        if retrieved is not None:
            row["retrieved"] = retrieved
        name = None if trace is None else trace.info.trace_id
        place = f"inputs {describe(inputs)}" if name is None else f"trace {name}"
        figures = run_blocking(self._rows.kept_figures(row, place))
        return [self._feedback(figure) for figure in figures]

    def _feedback(self, figure: Figure) -> Feedback:
        metadata: dict[str, str] = {}
        for name, value in figure.metadata.items():
            key = _COSTS.get(name, f"noisesense.{name}")
            metadata[key] = value if isinstance(value, str) else json.dumps(value)
        judge = str(figure.metadata["judge"])
        return Feedback(
            name=f"{self.name}/{figure.mode}",
            value=figure.value,
            rationale=figure.reason,
            source=AssessmentSource(source_type="LLM_JUDGE", source_id=judge),
            metadata=metadata,
        )


def run_summary(run_id: str, *, name: str = NAME) -> Summary:
    """Return the means of a run's rows as ranges, with intervals.

    MLflow's own mean is over the rows that have a number: the easy ones, where a judge left
    verdicts open. Here every row counts: an undetermined one by its bounds, and failed and
    undefined ones are counted apart. Rows of which MLflow kept no trace count as failed. Other
    runs over the same traces are not counted.

    Args:
        run_id: ``mlflow.genai.evaluate(…).run_id``.
        name: of the scorer.

    Raises:
        InputError: the run has no feedback of that scorer. Of an unknown run MLflow raises an
            error of its own.
    """
    rows: list[list[dict[str, Any]]] = []
    for trace in cast("list[Trace]", search_traces(run_id=run_id, return_type="list")):
        feedback = _feedback_on(trace, run_id, name)
        if feedback:
            rows.append([{"scored": json.loads(each.get(_SCORED, "null"))} for each in feedback])
    if not rows:
        raise InputError(f"a run with feedback of {name!r}", describe(run_id), where="run_id")
    untraced = _row_count(run_id) - len(rows)
    return summary_of(rows + [[]] * untraced)


def _feedback_on(trace: Trace, run_id: str, name: str) -> list[Mapping[str, str]]:
    """Return the metadata of what the run's scorers of that name said of a row.

    What names no run counts as the run's.
    """
    found: list[Mapping[str, str]] = []
    for assessment in trace.info.assessments or ():
        metadata: Mapping[str, str] = assessment.metadata or {}
        is_of_run = metadata.get(_RUN, run_id) == run_id  # a trace keeps what every run said
        if is_of_run and name in (assessment.name, assessment.name.rpartition("/")[0]):
            found.append(metadata)  # an error has the scorer's name alone
    return found


def _row_count(run_id: str) -> int:
    """Return the number of rows that the run was given, as MLflow noted it."""
    inputs: Any = get_run(run_id).inputs
    count = 0
    for dataset_input in inputs.dataset_inputs:
        if any(tag.key == "mlflow.data.context" for tag in dataset_input.tags):
            continue  # logged by the user, such as a corpus, and not what was evaluated
        profile = json.loads(dataset_input.dataset.profile or "{}")
        count += profile.get("num_rows") or 0
    return count
