"""What retrievers left in a trace, and a run's figures, in MLflow's own ``evaluate``."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense.errors import InputError

pytestmark = [
    pytest.mark.filterwarnings("default"),  # MLflow warns of its own type hints
    pytest.mark.usefixtures("tracking"),
]

OPEN = {"response_claims": [{"text": "c", "correct": None, "entailed_by": [0]}]}
NOISY = {"response_claims": [{"text": "c", "correct": False, "entailed_by": [0]}]}
UNENTAILED = {"response_claims": [{"text": "c", "correct": False, "entailed_by": []}]}
LABELED = [{"page_content": "A portrait.", "metadata": {"relevant": True, "text": "Title"}}]
ROWS: dict[str, tuple[Any, dict[str, Any] | None]] = {
    "sound": (LABELED, NOISY),
    "open": (LABELED, OPEN),
    "nothing": ([], UNENTAILED),
    "dict": ({"documents": LABELED}, NOISY),
    "text": ("A portrait.", NOISY),
    "numbers": ([1, 2], NOISY),
    "raised": (RuntimeError("the index is down"), NOISY),
}


def run(scorers: list[Any], rows: dict[str, Any] = ROWS) -> tuple[Any, dict[str, list[Any]]]:
    """The result, and of each row its assessments."""
    import mlflow

    @mlflow.trace(span_type="RETRIEVER")
    def search(question: str) -> Any:
        found = rows[question][0]
        if isinstance(found, Exception):
            raise found
        return found

    @mlflow.trace
    def application(question: str) -> str:
        try:
            search(question)
        except RuntimeError:
            return "No answer."
        return "It is by Leonardo."

    data = [
        {
            "inputs": {"question": name},
            "expectations": {"expected_response": "r", "verdicts": verdicts},
        }
        for name, (_, verdicts) in rows.items()
    ]
    result = mlflow.genai.evaluate(data=data, predict_fn=application, scorers=scorers)
    traces: Any = mlflow.search_traces(run_id=result.run_id, return_type="list")
    return result, {
        next(name for name in rows if f'"{name}"' in trace.data.request): [
            each for each in trace.info.assessments if each.name.startswith("noise")
        ]
        for trace in traces
    }


def test_no_wrong_shape_is_a_perfect_score_and_a_run_has_a_range() -> None:
    from noisesense_adapters.mlflow import NoiseSensitivity, run_summary

    class Unasked:
        async def judge(self, sample: Any) -> Any:
            raise AssertionError("every row has its verdicts")

    scorers = [
        NoiseSensitivity(judge=Unasked(), mode="relevant"),
        NoiseSensitivity(judge=Unasked(), mode="relevant", definition="validmind"),
    ]
    result, rows = run(scorers)
    shown = {
        name: next((f for f in each if f.name == "noise_sensitivity/relevant"), None)
        for name, each in rows.items()
    }
    for name, words in (
        ("dict", "expected a list of chunks"),
        ("text", "retriever span 'search'"),
        ("numbers", "chunk 0"),
        ("raised", "the index is down"),
    ):
        (error,) = (f.error for f in rows[name] if f.name == "noise_sensitivity")
        assert words in error.error_message, error.error_message
        assert shown[name] is None
    values = {name: f.value for name, f in shown.items() if f is not None}
    assert values == {"sound": 1.0, "open": None, "nothing": None}
    nothing, undetermined = shown["nothing"], shown["open"]
    assert nothing is not None
    assert "nothing was retrieved" in nothing.rationale
    assert undetermined is not None
    assert "undetermined" in undetermined.rationale
    # MLflow's mean is over the one row with a number; two definitions do not share a name.
    assert result.metrics["noise_sensitivity/relevant/mean"] == 1.0
    assert "noise_sensitivity_validmind/relevant/mean" in result.metrics
    summary = run_summary(result.run_id)
    counts = (summary.relevant.undetermined, summary.relevant.undefined, summary.failed)
    assert (summary.samples, *counts) == (7, 1, 1, 4)
    other = run_summary(result.run_id, name="noise_sensitivity_validmind")
    assert other.definition == "validmind"
    with pytest.raises(InputError, match="feedback of 'elsewhere'"):
        run_summary(result.run_id, name="elsewhere")
