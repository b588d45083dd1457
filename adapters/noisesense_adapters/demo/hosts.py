"""Our metric in each host that is a Python package, through the host's own entry.

Each function evaluates examples of one definition, and gives their figures in the same order.
"""

from __future__ import annotations

import asyncio
import datetime
import io
import logging
import math
import os
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from noisesense import RecordedJudge, __version__, score
from noisesense.scoring.definitions import MODES, DefinitionName
from noisesense_adapters.demo.compare import ExampleRun, Pair, Results, by_definition
from noisesense_adapters.toolbox.extras import needs_extra

OFFLINE = {
    "RAGAS_DO_NOT_TRACK": "true",
    "LANGCHAIN_TRACING_V2": "false",  # ragas' evaluate() would send its runs to LangSmith
    "LANGSMITH_TRACING": "false",
    "LANGFUSE_BASE_URL": "http://127.0.0.1:9",
    "OTEL_SDK_DISABLED": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "CONFIDENT_API_KEY": "",  # with it, DeepEval's evaluate() uploads its results
    "DEEPEVAL_RESULTS_FOLDER": "",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
}


@contextmanager
def quiet() -> Generator[None, None, None]:
    """Nothing the frameworks print or log gets through; their telemetry is off.

    For a process of one's own: the environment variables stay set afterwards, because the
    frameworks read some of them when they are imported and others later.
    """
    os.environ.update(OFFLINE)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


Group = Sequence[ExampleRun]


class Host(NamedTuple):
    """An entry of a framework; ``package`` is also the name of its extra, empty for the core."""

    package: str
    name: str
    evaluate: Callable[[Group, Path, DefinitionName], Iterable[Pair]]

    def results(self, runs: Group, recording: Path) -> Results:
        """Of all runs. Raises `MissingExtraError`, and whatever the framework raises."""
        figures: dict[str, Pair] = {}
        module = self.package.replace("-", "_") or "noisesense"
        with needs_extra(self.package, module):
            import_module(module)
            for group in by_definition(runs):
                pairs = self.evaluate(group, recording, group[0].definition)
                figures.update(zip((run.key for run in group), pairs, strict=True))
        return Results(version(self.package) if self.package else __version__, figures)


def _core(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    judge = RecordedJudge(recording)
    for run in group:
        found = score(judge.lookup(run.example.sample), definition=definition)
        yield Pair(found.relevant, found.irrelevant)


def _ragas_evaluate(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    ragas: Any = import_module("ragas")
    metrics = _ragas_metrics(recording, definition)
    dataset = ragas.EvaluationDataset.from_list(list(map(_columns, group)))
    result = ragas.evaluate(dataset, metrics=metrics, show_progress=False, raise_exceptions=True)
    names = [f"{metric.name}(mode={metric.mode})" for metric in metrics]
    return [Pair(*(_known(row[name]) for name in names)) for row in result.scores]


def _ragas_ascore(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    async def scored(run: ExampleRun) -> Pair:
        metrics = _ragas_metrics(recording, definition)
        return Pair(*[_known((await each.ascore(**_columns(run))).value) for each in metrics])

    return [asyncio.run(scored(run)) for run in group]


def _ragas_metrics(recording: Path, definition: DefinitionName) -> list[Any]:
    from noisesense_adapters.ragas import NoiseSensitivity

    judge = RecordedJudge(recording)
    return [NoiseSensitivity(mode=mode, judge=judge, definition=definition) for mode in MODES]


def _columns(run: ExampleRun) -> dict[str, Any]:
    sample = run.example.sample
    texts = [chunk.text for chunk in sample.retrieved_contexts]
    return {**sample.model_dump(), "retrieved_contexts": texts}


def _known(value: Any) -> float | None:
    """An undefined value is NaN in ragas."""
    return None if value is None or math.isnan(value) else float(value)


def _deepeval(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    deepeval, configs = (import_module(f"deepeval{name}") for name in ("", ".evaluate.configs"))
    case: Any = import_module("deepeval.test_case")
    judge = RecordedJudge(recording)
    metrics = [
        NoiseSensitivityMetric(mode=mode, judge=judge, definition=definition) for mode in MODES
    ]
    cases = [
        case.LLMTestCase(
            name=run.key,
            input=run.example.sample.user_input,
            actual_output=run.example.sample.response,
            expected_output=run.example.sample.reference,
            retrieval_context=[chunk.text for chunk in run.example.sample.retrieved_contexts],
        )
        for run in group
    ]
    shown = {"show_indicator": False, "print_results": False, "inspect_after_run": False}
    result: Any = deepeval.evaluate(
        cases,
        metrics,
        display_config=configs.DisplayConfig(**shown),
        cache_config=configs.CacheConfig(write_cache=False, use_cache=False),
    )
    # Results come in order of completion.
    scores: dict[str, dict[str, float | None]] = {
        tested.name: {data.name: data.score for data in tested.metrics_data}
        for tested in result.test_results
    }
    return [Pair(*(scores[run.key][each.__name__] for each in metrics)) for run in group]


def _output(run: ExampleRun) -> dict[str, Any]:
    sample = run.example.sample
    contexts = [chunk.model_dump(exclude_none=True) for chunk in sample.retrieved_contexts]
    return {"answer": sample.response, "contexts": contexts}


def _langsmith(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    """LangSmith's own wrapper of evaluators, which ``aevaluate`` calls, on each row.

    ``aevaluate`` itself looks for LangSmith's server, even where nothing is uploaded.
    """
    schemas: Any = import_module("langsmith.schemas")
    wrap: Any = import_module("langsmith.evaluation.evaluator").DynamicRunEvaluator
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator = wrap(noise_sensitivity(judge=recording, definition=definition))
    now = datetime.datetime.now(datetime.timezone.utc)
    for run in group:
        sample, name = run.example.sample, uuid.uuid4()
        inputs, reference = {"question": sample.user_input}, {"answer": sample.reference}
        example = {"dataset_id": uuid.uuid4(), "created_at": now, "outputs": reference}
        traced = {"name": "demo", "start_time": now, "run_type": "chain", "trace_id": name}
        results = asyncio.run(
            evaluator.aevaluate_run(
                schemas.Run(id=name, inputs=inputs, outputs=_output(run), **traced),
                schemas.Example(id=name, inputs=inputs, **example),
            )
        )
        yield Pair(*(result.score for result in results["results"]))


def _langfuse(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    """``run_experiment``, without tracing."""
    langfuse: Any = import_module("langfuse")
    from noisesense_adapters.langfuse import noise_sensitivity

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
    evaluator = noise_sensitivity(judge=recording, definition=definition)
    experiment = client.run_experiment(
        name="demo", data=data, task=application, evaluators=[evaluator]
    )
    items = sorted(experiment.item_results, key=lambda each: each.item["metadata"]["number"])
    return [Pair(*(each.value for each in item.evaluations)) for item in items]


def _pydantic_evals(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    """``Dataset.evaluate_sync``."""
    evals: Any = import_module("pydantic_evals")
    from noisesense_adapters.pydantic_evals import NoiseSensitivity

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

    evaluator = NoiseSensitivity(recording=str(recording), definition=definition)
    dataset = evals.Dataset(name="demo", cases=cases, evaluators=[evaluator])
    report = dataset.evaluate_sync(application, progress=False)
    return [Pair(*(score.value for score in case.scores.values())) for case in report.cases]


def _mlflow(group: Group, recording: Path, definition: DefinitionName) -> Iterable[Pair]:
    """The scorer's ``run``, which ``mlflow.genai.evaluate`` calls, on each row.

    ``evaluate`` itself writes every row to a database, for many seconds; the tests do that.
    """
    from noisesense_adapters.mlflow import NoiseSensitivity

    scorer: Any = NoiseSensitivity(judge=recording, definition=definition)
    for run in group:
        feedback = scorer.run(
            inputs={"question": run.example.sample.user_input},
            outputs=_output(run),
            expectations={"expected_response": run.example.sample.reference},
        )
        yield Pair(*(each.value for each in feedback))


HOSTS = (
    Host("", "core", _core),
    Host("ragas", "ragas evaluate", _ragas_evaluate),
    Host("ragas", "ragas ascore", _ragas_ascore),
    Host("deepeval", "DeepEval evaluate", _deepeval),
    Host("langsmith", "LangSmith", _langsmith),
    Host("langfuse", "Langfuse", _langfuse),
    Host("pydantic-evals", "pydantic-evals", _pydantic_evals),
    Host("mlflow", "MLflow", _mlflow),
)
