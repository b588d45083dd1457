"""Our metric in each host that is a Python package, through the host's own API.

Each function evaluates samples under one definition, and yields the values of each in order.
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
from typing import Any, NamedTuple

from noisesense import RecordedJudge, Sample, score
from noisesense.scoring.definitions import MODES, DefinitionName

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
    """Suppress all output and logs of the frameworks, and turn off their telemetry.

    The environment variables stay set, as frameworks read some when they are imported and others
    later. So use it in a process of its own.
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


Samples = Sequence[Sample]
Figures = Iterable[list[float | None]]
"""For each sample its values in both modes, in the order of `MODES`."""


def _core(samples: Samples, *, judge: RecordedJudge, definition: DefinitionName) -> Figures:
    for sample in samples:
        result = score(judge.lookup(sample), definition=definition)
        yield [result.relevant, result.irrelevant]


def _texts(sample: Sample) -> list[str]:
    return [chunk.text for chunk in sample.retrieved_contexts]


def _ragas(samples: Samples, **options: Any) -> Figures:
    ragas: Any = import_module("ragas")
    from noisesense_adapters.ragas import NoiseSensitivity

    metrics = [NoiseSensitivity(mode=mode, **options) for mode in MODES]
    rows = [{**sample.model_dump(), "retrieved_contexts": _texts(sample)} for sample in samples]
    dataset = ragas.EvaluationDataset.from_list(rows)
    result = ragas.evaluate(dataset, metrics=metrics, show_progress=False, raise_exceptions=True)
    for row in result.scores:
        values: list[float | None] = []
        for metric in metrics:
            value = float(row[f"{metric.name}(mode={metric.mode})"])
            # An undefined value is NaN in ragas.
            values.append(None if math.isnan(value) else value)
        yield values


def _deepeval(samples: Samples, **options: Any) -> Figures:
    from noisesense_adapters.deepeval import NoiseSensitivityMetric

    deepeval: Any = import_module("deepeval")
    configs: Any = import_module("deepeval.evaluate.configs")
    test_case: Any = import_module("deepeval.test_case")
    cases: list[Any] = []
    for number, sample in enumerate(samples):
        case = test_case.LLMTestCase(
            name=str(number),
            input=sample.user_input,
            actual_output=sample.response,
            expected_output=sample.reference,
            retrieval_context=_texts(sample),
        )
        cases.append(case)
    result: Any = deepeval.evaluate(
        cases,
        [NoiseSensitivityMetric(mode=mode, **options) for mode in MODES],
        display_config=configs.DisplayConfig(inspect_after_run=False),
        cache_config=configs.CacheConfig(write_cache=False, use_cache=False),
    )
    # Results come in order of completion.
    for case in sorted(result.test_results, key=lambda case: int(case.name)):
        yield [data.score for data in case.metrics_data]


def _output(sample: Sample) -> dict[str, Any]:
    """The sample as the output of an application."""
    return {"answer": sample.response, "contexts": _texts(sample)}


def _langsmith(samples: Samples, **options: Any) -> Figures:
    """By LangSmith's wrapper of evaluators, which ``aevaluate`` calls for each row.

    ``aevaluate`` itself needs LangSmith's server, even if nothing is uploaded.
    """
    schemas: Any = import_module("langsmith.schemas")
    wrap: Any = import_module("langsmith.evaluation.evaluator").DynamicRunEvaluator
    from noisesense_adapters.langsmith import noise_sensitivity

    evaluator = wrap(noise_sensitivity(**options))
    now = datetime.datetime.now(datetime.timezone.utc)
    any_id = uuid.uuid4()
    for sample in samples:
        inputs = {"question": sample.user_input}
        run = schemas.Run(
            id=any_id,
            trace_id=any_id,
            name="demo",
            run_type="chain",
            start_time=now,
            inputs=inputs,
            outputs=_output(sample),
        )
        example = schemas.Example(
            id=any_id,
            dataset_id=any_id,
            created_at=now,
            inputs=inputs,
            outputs={"answer": sample.reference},
        )
        results = asyncio.run(evaluator.aevaluate_run(run, example))
        yield [result.score for result in results["results"]]


def _langfuse(samples: Samples, **options: Any) -> Figures:
    """By ``run_experiment``, without tracing."""
    langfuse: Any = import_module("langfuse")
    from noisesense_adapters.langfuse import noise_sensitivity

    def application(*, item: Any, **_: Any) -> Any:
        return item["metadata"]

    data: list[dict[str, Any]] = []
    for sample in samples:
        item = {
            "input": sample.user_input,
            "expected_output": sample.reference,
            "metadata": _output(sample),
        }
        data.append(item)
    client = langfuse.Langfuse(public_key="pk", secret_key="sk", tracing_enabled=False)
    evaluators = [noise_sensitivity(**options)]
    run = client.run_experiment(name="demo", data=data, task=application, evaluators=evaluators)
    for item in run.item_results:
        yield [evaluation.value for evaluation in item.evaluations]


def _pydantic_evals(samples: Samples, **options: Any) -> Figures:
    """By ``Dataset.evaluate_sync``."""
    evals: Any = import_module("pydantic_evals")
    from noisesense_adapters.pydantic_evals import NoiseSensitivity

    def application(inputs: dict[str, Any]) -> Any:
        return inputs["output"]

    cases: list[Any] = []
    for sample in samples:
        inputs = {"question": sample.user_input, "output": _output(sample)}
        cases.append(evals.Case(inputs=inputs, expected_output=sample.reference))
    evaluators = [NoiseSensitivity(**options)]
    dataset = evals.Dataset(name="demo", cases=cases, evaluators=evaluators)
    for case in dataset.evaluate_sync(application, progress=False).cases:
        yield [result.value for result in case.scores.values()]


def _mlflow(samples: Samples, **options: Any) -> Figures:
    """By the scorer's ``run``, which ``mlflow.genai.evaluate`` calls for each row.

    ``evaluate`` itself writes each row to a database, which takes many seconds.
    """
    from noisesense_adapters.mlflow import NoiseSensitivity

    scorer: Any = NoiseSensitivity(**options)
    for sample in samples:
        feedback = scorer.run(
            inputs={"question": sample.user_input},
            outputs=_output(sample),
            expectations={"expected_response": sample.reference},
        )
        yield [result.value for result in feedback]


class Host(NamedTuple):
    """A framework; ``package`` is also the name of its extra."""

    name: str
    package: str
    evaluate: Callable[..., Figures]


HOSTS = (
    Host("core", "noisesense", _core),
    Host("ragas", "ragas", _ragas),
    Host("DeepEval", "deepeval", _deepeval),
    Host("LangSmith", "langsmith", _langsmith),
    Host("Langfuse", "langfuse", _langfuse),
    Host("pydantic-evals", "pydantic-evals", _pydantic_evals),
    Host("MLflow", "mlflow", _mlflow),
)
