"""What retrievers left in a trace, and a run's figures, in MLflow's own ``evaluate``."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from noisesense.errors import InputError

pytestmark = [
    pytest.mark.filterwarnings("default"),  # MLflow warns of its own type hints
    pytest.mark.usefixtures("tracking"),
]


class Judge:
    """Calls the one claim incorrect; each chunk entails it, or leaves that open."""

    def __init__(self) -> None:
        self.seen: dict[str, list[str]] = {}

    async def judge(self, sample: Any) -> Any:
        from noisesense import Verdicts

        name = sample.user_input
        self.seen[name] = [chunk.text for chunk in sample.retrieved_contexts]
        said = None if name == "open" else True
        count = len(self.seen[name])
        return Verdicts.from_matrices([False], [[said] * count], relevant=[True] * count)


class Hit:
    """A retriever's own class, which MLflow writes as its address."""

    def __init__(self) -> None:
        self.body = "A portrait."


LABELED = [{"page_content": "A portrait.", "metadata": {"relevant": True, "text": "Title"}}]
SCORED = {"sound": LABELED, "reranked": ["first"], "open": ["a"], "nothing": []}
WRONG: dict[str, tuple[Any, str]] = {
    "none": (None, "expected a list of chunks, got None"),
    "objects": ([Hit()], "object at 0x"),
    "bytes": ([b"A portrait."], "how Python prints an object"),
    "raised": (ConnectionError("no index"), "a retriever that succeeded, got one that failed"),
}

ROWS: dict[str, Any] = {**SCORED, **{name: outputs for name, (outputs, _) in WRONG.items()}}


def run(scorers: list[Any]) -> tuple[Any, dict[str, list[Any]]]:
    """The result, and of each row its assessments."""
    import mlflow

    expected = {"expected_response": "r", "expected_facts": ["no"]}
    data = [{"inputs": {"question": name}, "expectations": expected} for name in ROWS]
    data.append({"inputs": {"question": "sound"}, "expectations": {"other": "r"}})
    # To write an object, MLflow imports LlamaIndex, which two threads at once break.
    application()("objects")
    result = mlflow.genai.evaluate(data=data, predict_fn=application(), scorers=scorers)
    traces: Any = mlflow.search_traces(run_id=result.run_id, return_type="list")
    rows: dict[str, list[Any]] = {}
    for trace in traces:
        assessments = trace.info.assessments
        if "other" in {each.name for each in assessments}:
            continue
        (name,) = [name for name in ROWS if f'"{name}"' in trace.data.request]
        rows[name] = [each for each in assessments if each.name.startswith("noise")]
    return result, rows


def application() -> Any:
    """One with retrievers, of which one feeds another."""
    import mlflow

    @mlflow.trace(span_type="RETRIEVER", name="inner")
    def inner() -> list[str]:  # it only feeds the reranker around it
        return ["second", "first"]

    @mlflow.trace(span_type="RETRIEVER", name="search")
    def search(question: str) -> Any:
        if question == "reranked":
            inner()
        found = ROWS[question]
        if isinstance(found, Exception):
            raise found
        return found

    @mlflow.trace
    def answer(question: str) -> str:
        try:
            search(question)
        except ConnectionError:
            return "No answer."
        return "It is by Leonardo."

    return answer


class Run(NamedTuple):
    judge: Judge
    result: Any
    rows: dict[str, list[Any]]

    def of(self, row: str, name: str = "noise_sensitivity/relevant") -> Any:
        (found,) = [each for each in self.rows[row] if each.name == name]
        return found


@pytest.fixture(scope="module")
def ran(tracking: None) -> Run:
    from noisesense_adapters.mlflow import NoiseSensitivity

    judge = Judge()
    scorers = [
        NoiseSensitivity(judge=judge, mode="relevant"),
        NoiseSensitivity(judge=judge, mode="relevant", definition="validmind"),
    ]
    return Run(judge, *run(scorers))


@pytest.mark.parametrize("name", WRONG)
def test_no_wrong_shape_is_a_perfect_score(ran: Run, name: str) -> None:
    error = ran.of(name, "noise_sensitivity").error.error_message
    assert "retriever span 'search'" in error
    assert WRONG[name][1] in error


def test_the_outer_retrievers_chunks_are_scored_or_have_no_number(ran: Run) -> None:
    values = {name: ran.of(name).value for name in SCORED}
    assert values == {"sound": 1.0, "reranked": 1.0, "open": None, "nothing": None}
    assert "nothing was retrieved" in ran.of("nothing").rationale
    assert "undetermined" in ran.of("open").rationale
    assert ran.judge.seen["sound"] == ["A portrait."]
    assert ran.judge.seen["reranked"] == ["first"]


def test_run_summary_has_a_range_and_counts_every_row_by_name(ran: Run) -> None:
    """MLflow's mean is over the rows with a number; two definitions do not share a name."""
    from noisesense_adapters.mlflow import run_summary

    metrics = ran.result.metrics
    assert metrics["noise_sensitivity/relevant/mean"] == 1.0
    assert "noise_sensitivity_validmind/relevant/mean" in metrics
    run_id = ran.result.run_id
    summary = run_summary(run_id)
    of = summary.relevant
    counts = (summary.samples, summary.failed, of.determined, of.undetermined, of.undefined)
    assert counts == (9, 5, 2, 1, 1)
    assert of.mean == (pytest.approx(2 / 3), 1.0)
    assert run_summary(run_id, name="noise_sensitivity_validmind").definition == "validmind"
    with pytest.raises(InputError, match="feedback of 'elsewhere'"):
        run_summary(run_id, name="elsewhere")
    _drop_a_trace(run_id)
    summary = run_summary(run_id)
    assert summary.samples == 9
    assert summary.failed + summary.scored == 9


def _drop_a_trace(run_id: str) -> None:
    """As MLflow does where its queue is full."""
    import mlflow

    trace: Any = mlflow.search_traces(run_id=run_id, return_type="list")[0]
    info = trace.info
    mlflow.MlflowClient().delete_traces(info.experiment_id, trace_ids=[info.trace_id])


def test_of_two_runs_over_the_same_traces_each_has_its_own_figures() -> None:
    import mlflow

    from noisesense_adapters.mlflow import NoiseSensitivity, run_summary

    class Says:
        def __init__(self, correct: bool) -> None:
            self.correct = correct

        async def judge(self, sample: Any) -> Any:
            from noisesense import Verdicts

            return Verdicts.from_matrices([self.correct], [[True]], relevant=[True])

    @mlflow.trace
    def application(question: str) -> dict[str, Any]:
        return {"answer": question, "contexts": ["a"]}

    application("again")
    trace_id = mlflow.get_last_active_trace_id()
    mlflow.log_expectation(trace_id=trace_id, name="expected_response", value="r")
    runs: list[str] = []
    for correct in (False, True):
        scorers = [NoiseSensitivity(judge=Says(correct))]
        traces = [mlflow.get_trace(trace_id)]
        runs.append(mlflow.genai.evaluate(data=traces, scorers=scorers).run_id)
    found = [run_summary(each) for each in runs]
    assert [(each.samples, each.relevant.mean.value) for each in found] == [(1, 1.0), (1, 0.0)]
