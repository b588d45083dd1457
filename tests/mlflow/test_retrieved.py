"""What the retriever spans of a real trace hold, and what a run's results are."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from noisesense import Judge, Sample, Verdicts

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("tracking")]


class Seen(Judge):
    """Keeps the chunks; everything but the claims is open or wrong as a test needs it."""

    def __init__(self) -> None:
        self.chunks: list[list[str]] = []

    async def judge(self, sample: Sample) -> Verdicts:
        self.chunks.append([chunk.text for chunk in sample.retrieved_contexts])
        count = len(sample.retrieved_contexts)
        claim = {"text": "c", "correct": False, "entailed_by": [], "undetermined": [0]}
        if "open" not in sample.response:
            claim = {"text": "c", "correct": False, "entailed_by": [0]}
        data = {"response_claims": [claim], "reference_claims": [], "chunks": [
            {"text": chunk.text, "relevant": True} for chunk in sample.retrieved_contexts
        ]}  # fmt: skip
        assert count
        return Verdicts.model_validate(data)


def _run(outputs: Any, *, response: str = "r", judge: Seen | None = None, **options: Any) -> Any:
    import mlflow
    from mlflow.entities import SpanType

    from noisesense_adapters.mlflow import NoiseSensitivity

    @mlflow.trace(span_type=SpanType.RETRIEVER, name="search")
    def retrieve() -> Any:
        if isinstance(outputs, Exception):
            raise outputs
        return outputs

    @mlflow.trace
    def application(question: str) -> str:
        with contextlib.suppress(ConnectionError):
            retrieve()
        return response

    judge = judge or Seen()
    data = [{"inputs": {"question": "q"}, "expectations": {"expected_response": "e"}}]
    scorers = [NoiseSensitivity(judge=judge, **options)]
    result = mlflow.genai.evaluate(data=data, predict_fn=application, scorers=scorers)
    (trace,) = mlflow.search_traces(run_id=result.run_id, return_type="list")
    found = [each for each in trace.info.assessments if each.name.startswith("noise_sensitivity")]
    return result, judge.chunks, found


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"documents": ["a"], "scores": [1]}, "expected a list of chunks, got {'documents'"),
        ("one text", "expected JSON, got 'one text'"),
        (7, "expected a list of chunks, got 7"),
        (None, "expected a list of chunks, got None"),
        ([1, 2], "chunk 0: expected a text, or an object that holds one, got 1"),
        (ConnectionError("no index"), "expected a retriever that succeeded, got one that failed"),
    ],
)
def test_what_is_no_list_of_texts_is_an_error_that_names_the_span(outputs: Any, says: str) -> None:
    _, chunks, (found,) = _run(outputs)
    assert chunks == []
    assert "retriever span 'search'" in found.error.error_message
    assert says in found.error.error_message


def test_metadata_never_replaces_a_documents_text() -> None:
    from mlflow.entities import Document

    documents = [Document(page_content="the text", metadata={"text": "Title", "content": "Blurb"})]
    _, chunks, _ = _run(documents)
    assert chunks == [["the text"]]


def test_nothing_retrieved_is_undefined_and_no_judge_is_asked() -> None:
    result, chunks, found = _run([])
    assert chunks == []
    assert [each.value for each in found] == [None, None]
    assert all("othing was retrieved" in each.rationale for each in found)
    assert not [name for name in result.metrics if name.startswith("noise_sensitivity")]


def test_another_definition_has_another_name() -> None:
    _, _, found = _run(["a"], definition="paper")
    assert [each.name for each in found] == [
        "noise_sensitivity_paper/relevant",
        "noise_sensitivity_paper/irrelevant",
    ]


def test_a_runs_results_give_the_range_over_all_rows() -> None:
    """One row at 1, one between 0 and 1: MLflow's mean is 1, over the row that has a value."""
    import mlflow
    from mlflow.entities import SpanType

    from noisesense_adapters.mlflow import NoiseSensitivity, run_summary

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve() -> list[str]:
        return ["a"]

    @mlflow.trace
    def application(question: str) -> str:
        retrieve()
        return question

    data = [
        {"inputs": {"question": each}, "expectations": {"expected_response": "e"}}
        for each in ("sure", "open")
    ]
    data.append({"inputs": {"question": "no reference"}, "expectations": {"other": "e"}})
    result = mlflow.genai.evaluate(
        data=data, predict_fn=application, scorers=[NoiseSensitivity(judge=Seen())]
    )
    assert result.metrics["noise_sensitivity/relevant/mean"] == 1.0
    summary = run_summary(result.run_id)
    assert (summary.samples, summary.failed) == (3, 1)
    assert summary.relevant is not None
    bounds = getattr(summary.relevant, "bounds", None) or tuple(summary.relevant.mean)
    assert tuple(bounds) == (0.5, 1.0)
