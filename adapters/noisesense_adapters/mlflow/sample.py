"""A row of an evaluation, with what the retrievers in its trace returned."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from noisesense.errors import InputError, located
from noisesense_adapters.toolbox.given import chunks_of

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


def _retrieved(trace: Any) -> list[Any] | InputError | None:
    """What the top-level retrievers returned; None without any.

    A retriever that failed, or returned no list of texts, has not retrieved nothing: the error
    that says so is raised where the documents are needed.

    A retriever inside another one (the search behind a reranker) only feeds it: the generator has
    not seen its documents.
    """
    if trace is None:
        return None
    entities = import_module("mlflow.entities")
    kind = entities.SpanType.RETRIEVER
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
    documents: list[Any] = []
    try:
        for span in top:
            with located(f"retriever span {span.name!r}"):
                if span.status.status_code == entities.SpanStatusCode.ERROR:
                    got = span.status.description or "no reason"
                    raise InputError("a retriever that succeeded", f"one that failed: {got}")
                documents += chunks_of(span.outputs)
    except InputError as error:
        return error
    return documents if top else None
