"""A row of an evaluation, with what the retrievers in its trace returned."""

from __future__ import annotations

from importlib import import_module
from typing import Any

USUAL = {
    "response": ("outputs.response", "outputs.answer", "outputs.output", "outputs"),
    # MLflow's other expectations are facts and guidelines: no part of the reference.
    "reference": ("expectations.expected_response",),
    "contexts": (
        "retrieved",
        "outputs.contexts",
        "outputs.retrieved_contexts",
        "outputs.documents",
        "inputs.contexts",
        "inputs.retrieved_contexts",
        "inputs.documents",
    ),
    "user_input": ("inputs.question", "inputs.query", "inputs.input", "inputs"),
    "chunk_labels": ("expectations.chunk_labels",),
    "verdicts": ("expectations.verdicts",),
}


def row_of(inputs: Any, outputs: Any, expectations: Any, trace: Any) -> dict[str, Any]:
    """The row that places are read from; ``retrieved`` holds the trace's documents."""
    return {
        "outputs": outputs,
        "expectations": expectations,
        "inputs": inputs,
        "retrieved": _retrieved(trace),
        "trace": trace,
    }


def _retrieved(trace: Any) -> list[Any] | None:
    """What the top-level retrievers returned; None without any.

    A retriever inside another one (the search behind a reranker) only feeds it: the generator has
    not seen its documents.
    """
    if trace is None:
        return None
    kind = import_module("mlflow.entities").SpanType.RETRIEVER
    spans = {span.span_id: span for span in trace.search_spans()}
    retrievers = trace.search_spans(span_type=kind)
    inside = {span.span_id for span in retrievers}

    def nested(span: Any) -> bool:
        parent = spans.get(span.parent_id)
        while parent is not None:
            if parent.span_id in inside:
                return True
            parent = spans.get(parent.parent_id)
        return False

    top = [span for span in retrievers if not nested(span)]
    return [document for span in top for document in span.outputs or ()] if top else None
