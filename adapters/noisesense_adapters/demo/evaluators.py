"""Our evaluators in the hosts of experiments: LangSmith, Langfuse, pydantic-evals and MLflow."""

from __future__ import annotations

import asyncio
import datetime
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

from noisesense_adapters.demo.compare import ExampleRun, Pair, Results, by_definition
from noisesense_adapters.toolbox.extras import needs_extra

LANGSMITH, LANGFUSE = "LangSmith", "Langfuse"
PYDANTIC_EVALS, MLFLOW = "pydantic-evals", "MLflow"

_NOWHERE = "http://127.0.0.1:9"
Evaluate = Callable[[Sequence[ExampleRun], Any], Iterable[Pair]]


def _results(
    package: str,
    place: str,
    runs: Sequence[ExampleRun],
    evaluate: Evaluate,
    make: Callable[..., Any],
) -> Results:
    """One evaluation for each definition; ``evaluate`` gives the pairs in the runs' order."""
    figures: dict[str, Pair] = {}
    for group in by_definition(runs):
        pairs = evaluate(group, make(definition=group[0].definition))
        figures.update(zip((run.key for run in group), pairs, strict=True))
    from importlib.metadata import version

    return Results(version(package), {place: figures})


def _environment(variables: dict[str, str]) -> AbstractContextManager[object]:
    from unittest.mock import patch  # every command imports this module

    return patch.dict(os.environ, variables)


def _output(run: ExampleRun) -> dict[str, Any]:
    sample = run.example.sample
    contexts = [chunk.model_dump(exclude_none=True) for chunk in sample.retrieved_contexts]
    return {"answer": sample.response, "contexts": contexts}


def run_langsmith(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """LangSmith's own wrapper of evaluators, which ``aevaluate`` calls, on each row.

    ``aevaluate`` itself looks for LangSmith's server, even where nothing is uploaded.
    """
    with needs_extra("langsmith"):
        schemas: Any = import_module("langsmith.schemas")
        wrap: Any = import_module("langsmith.evaluation.evaluator").DynamicRunEvaluator
    from noisesense_adapters.langsmith import noise_sensitivity

    async def evaluated(evaluator: Any, run: ExampleRun) -> Pair:
        now, name = datetime.datetime.now(datetime.timezone.utc), uuid.uuid4()
        inputs = {"question": run.example.sample.user_input}
        example = schemas.Example(
            id=name,
            dataset_id=uuid.uuid4(),
            created_at=now,
            inputs=inputs,
            outputs={"answer": run.example.sample.reference},
        )
        traced = schemas.Run(
            id=name,
            name="demo",
            start_time=now,
            run_type="chain",
            trace_id=name,
            inputs=inputs,
            outputs=_output(run),
        )
        results = await wrap(evaluator).aevaluate_run(traced, example)
        return Pair(*(result.score for result in results["results"]))

    def evaluate(group: Sequence[ExampleRun], evaluator: Any) -> Iterable[Pair]:
        return [asyncio.run(evaluated(evaluator, run)) for run in group]

    def make(**options: Any) -> Any:
        return noise_sensitivity(judge=recording, **options)

    untraced: dict[str, str] = dict.fromkeys(
        ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"), "false"
    )
    with _environment(untraced):
        return _results("langsmith", LANGSMITH, runs, evaluate, make)


def run_langfuse(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """``run_experiment``, without tracing."""
    with needs_extra("langfuse"):
        langfuse: Any = import_module("langfuse")
    from noisesense_adapters.langfuse import noise_sensitivity

    def evaluate(group: Sequence[ExampleRun], evaluator: Any) -> Iterable[Pair]:
        data = [
            {
                "input": run.example.sample.user_input,
                "expected_output": run.example.sample.reference,
                "metadata": {"number": number},
            }
            for number, run in enumerate(group)
        ]

        def application(*, item: Any, **_: Any) -> dict[str, Any]:
            number: int = item["metadata"]["number"]
            return _output(group[number])

        client = langfuse.Langfuse(public_key="pk", secret_key="sk", tracing_enabled=False)
        experiment = client.run_experiment(
            name="demo", data=data, task=application, evaluators=[evaluator]
        )
        items = sorted(experiment.item_results, key=lambda each: each.item["metadata"]["number"])
        return [Pair(*(each.value for each in item.evaluations)) for item in items]

    def make(**options: Any) -> Any:
        return noise_sensitivity(judge=recording, **options)

    with _environment({"OTEL_SDK_DISABLED": "true", "LANGFUSE_BASE_URL": _NOWHERE}):
        return _results("langfuse", LANGFUSE, runs, evaluate, make)


def run_pydantic_evals(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """``Dataset.evaluate_sync``."""
    with needs_extra("pydantic-evals", "pydantic_evals"):
        evals: Any = import_module("pydantic_evals")
    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    def evaluate(group: Sequence[ExampleRun], evaluator: Any) -> Iterable[Pair]:
        cases = [
            evals.Case(
                inputs={"question": run.example.sample.user_input, "number": number},
                expected_output=run.example.sample.reference,
            )
            for number, run in enumerate(group)
        ]

        def application(inputs: dict[str, Any]) -> dict[str, Any]:
            number: int = inputs["number"]
            return _output(group[number])

        dataset = evals.Dataset(name="demo", cases=cases, evaluators=[evaluator])
        report = dataset.evaluate_sync(application, progress=False)
        return [Pair(*(score.value for score in case.scores.values())) for case in report.cases]

    def make(**options: Any) -> Any:
        return NoiseSensitivity(recording=str(recording), **options)

    return _results("pydantic-evals", PYDANTIC_EVALS, runs, evaluate, make)


def run_mlflow(runs: Sequence[ExampleRun], recording: Path) -> Results:
    """The scorer's ``run``, which ``mlflow.genai.evaluate`` calls, on each row.

    ``evaluate`` itself writes every row to a database, for many seconds; the tests do that.
    """
    with needs_extra("mlflow"), _environment({"MLFLOW_DISABLE_TELEMETRY": "true"}):
        from noisesense_adapters.mlflow import NoiseSensitivity

        def evaluate(group: Sequence[ExampleRun], scorer: Any) -> Iterable[Pair]:
            for run in group:
                sample = run.example.sample
                feedback = scorer.run(
                    inputs={"question": sample.user_input},
                    outputs=_output(run),
                    expectations={"expected_response": sample.reference},
                )
                yield Pair(*(each.value for each in feedback))

        def make(**options: Any) -> Any:
            return NoiseSensitivity(judge=recording, **options)

        return _results("mlflow", MLFLOW, runs, evaluate, make)
