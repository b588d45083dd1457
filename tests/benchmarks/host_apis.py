"""What a host's users do with its own metric, done with ours, too: does it work in both?

``python tests/benchmarks/host_apis.py`` runs every entry against ragas' two metrics
of noise sensitivity and ours, and against a DeepEval metric (it has no noise sensitivity, so its
Faithfulness stands in) and ours, each with a model that answers by a script. It ends with status 1
if theirs does something that ours does not and the row gives no reason.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any

import ground  # noqa: F401

from noisesense.scoring.definitions import MODES
from support.mind import Mind
from support.ragas_mind import EitherMind
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, evaluated
from support.server import ScriptedServer
from support.tables import Shape, random_pair

SAMPLE, VERDICTS = random_pair(3, shape=Shape(response_claims=(2, 3), chunks=(2, 2)))
ROW = ragas_row(SAMPLE)
ROW = {name: ROW[name] for name in ("user_input", "response", "reference", "retrieved_contexts")}

Deed = Callable[[Any, Any], Any]
"""What is done with either class and a model."""
Deeds = list[tuple[Any, Any, dict[str, Deed]]]
"""The host's own class, ours, and what is done with them."""

_PROMPTS = 'judge_options={"prompts": Prompts(…)}'
_REASKS = 'judge_options={"max_reasks": n}'
WHY = {
    "token_usage_parser with llm_factory": "summarize(result).usage",
    "M(output_type=…)": "it is continuous",
    "metric.max_retries = n": _REASKS,
    "M(max_retries=2)": _REASKS,
    "get_prompts, set_prompts": _PROMPTS,
    "adapt_prompts(language, llm)": _PROMPTS,
    "save_prompts, load_prompts": _PROMPTS,
    "M(nli_statements_prompt=…)": _PROMPTS,
    "M(evaluation_template=…)": _PROMPTS,
    "dataclasses.replace": "make another: NoiseSensitivity(mode=…)",
    "PromptOptimizer": "less noise is better: NoiseRobustnessMetric",
    "M(eval_mode=…)": "always by the model; judge= takes any other judge",
}
"""Why ours does otherwise, or what to use instead."""


def outcome(do: Deed, kind: Any, llm: Any) -> str:
    if kind is None:
        return "-"
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            do(kind, llm)
    except Exception as error:  # noqa: BLE001 - the outcome of the row
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    return "works"


def _ran(**options: Any) -> Deed:
    """ragas' ``evaluate()`` with these options."""
    options["raise_exceptions"] = True
    return lambda kind, llm: evaluated([SAMPLE], [kind()], llm=llm, **options)


def _cost(kind: Any, llm: Any) -> None:
    from ragas.cost import get_token_usage_for_openai

    result = _ran(token_usage_parser=get_token_usage_for_openai)(kind, llm)
    assert result.total_tokens().input_tokens


def _prompts(kind: Any, llm: Any) -> None:
    metric = kind(llm=llm)
    found = metric.get_prompts()
    assert found
    metric.set_prompts(**found)


def _saved(kind: Any, llm: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kind(llm=llm).save_prompts(folder)
        assert kind(llm=llm).load_prompts(folder)


def _both_modes(kind: Any, llm: Any) -> None:
    metrics = [kind(mode=mode) for mode in MODES]
    table = evaluated([SAMPLE], metrics, llm=llm, raise_exceptions=True).to_pandas()
    assert {*COLUMNS.values()} <= {*table.columns}


def _other_columns(kind: Any, llm: Any) -> None:
    from ragas import evaluate

    from datasets import Dataset

    rows = Dataset.from_list([{f"my_{name}": value for name, value in ROW.items()}])
    mapped = {name: f"my_{name}" for name in ROW}
    evaluate(rows, [kind()], llm, column_map=mapped, show_progress=False)


def _listening(kind: Any, llm: Any) -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    heard: list[str] = []

    class Listener(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
            heard.append(str((serialized or about).get("name")))

    _ran(callbacks=[Listener()])(kind, llm)
    assert "noise_sensitivity" in str(heard), heard


def _experimented(kind: Any, llm: Any) -> None:
    from ragas import Dataset, experiment

    @experiment()
    async def judged(row: dict[str, Any]) -> dict[str, float]:
        return {"noise": (await kind(llm=llm).ascore(**row)).value}

    rows = Dataset("rows", backend="inmemory", data=[ROW])
    assert len(asyncio.run(judged.arun(rows))) == 1


def _assigned(kind: Any, llm: Any) -> None:
    from ragas.run_config import RunConfig

    metric = kind()
    metric.llm = llm
    metric.init(RunConfig())
    asyncio.run(metric.single_turn_ascore(_turn()))


def _turn() -> Any:
    from ragas.dataset_schema import SingleTurnSample

    return SingleTurnSample(**ROW)


def _retries(kind: Any, llm: Any) -> None:
    metric = kind(llm=llm)
    metric.max_retries = metric.max_retries + 1


def _columns(kind: Any, llm: Any) -> None:
    metric = kind(llm=llm)
    assert "response" in metric.required_columns["SINGLE_TURN"]
    assert metric.get_required_columns()


def _adapted(kind: Any, llm: Any) -> None:
    asyncio.run(kind(llm=llm).adapt_prompts("hindi", llm))


def _by_position(kind: Any, llm: Any) -> None:
    asyncio.run(kind(llm=llm).ascore(*ROW.values()))


COLLECTIONS: dict[str, Deed] = {
    "collections: M(llm)": lambda kind, llm: kind(llm),
    "M(llm, name, mode)": lambda kind, llm: kind(llm, "n", "irrelevant"),
    "ascore(…=)": lambda kind, llm: asyncio.run(kind(llm=llm).ascore(**ROW)),
    "ascore(q, r, ref, ctx)": _by_position,
    "score(…)": lambda kind, llm: kind(llm=llm).score(**ROW),
    "batch_score": lambda kind, llm: kind(llm=llm).batch_score([ROW, ROW]),
    "ascore in @experiment": _experimented,
}


def ragas_deeds() -> Deeds:
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Old
    from ragas.metrics.collections import NoiseSensitivity as New
    from ragas.run_config import RunConfig

    from noisesense_adapters.ragas import NoiseSensitivity as Ours

    prompt = Old().nli_statements_prompt
    older: dict[str, Deed] = {
        "evaluate(metrics=[M()])": _ran(),
        "both modes, to_pandas()": _both_modes,
        "evaluate(Dataset, column_map=…)": _other_columns,
        "evaluate(callbacks=[…])": _listening,
        "RunConfig(max_workers=1)": _ran(run_config=RunConfig(max_workers=1)),
        "token_usage_parser with llm_factory": _cost,
        "single_turn_ascore": lambda kind, llm: asyncio.run(
            kind(llm=llm).single_turn_ascore(_turn())
        ),
        "single_turn_score": lambda kind, llm: kind(llm=llm).single_turn_score(_turn()),
        "metric.llm = llm, init(RunConfig())": _assigned,
        "required_columns": _columns,
        "M(name=…, llm=…)": lambda kind, llm: kind(name="mine", llm=llm),
        "M(output_type=…)": lambda kind, llm: kind(output_type=None),
        "metric.max_retries = n": _retries,
        "get_prompts, set_prompts": _prompts,
        "adapt_prompts(language, llm)": _adapted,
        "save_prompts, load_prompts": _saved,
        "M(max_retries=2)": lambda kind, llm: kind(llm=llm, max_retries=2),
        "dataclasses.replace": lambda kind, llm: dataclasses.replace(
            kind(llm=llm), mode="irrelevant"
        ),
        "copy.deepcopy": lambda kind, llm: copy.deepcopy(kind()),
        "pickle": lambda kind, llm: pickle.loads(pickle.dumps(kind())),
        "M(nli_statements_prompt=…)": lambda kind, llm: kind(nli_statements_prompt=prompt),
    }
    return [(New, Ours, COLLECTIONS), (Old, Ours, older)]


def deepeval_model() -> Any:
    from deepeval.models import DeepEvalBaseLLM

    mind = Mind([(SAMPLE, VERDICTS)])

    class Scripted(DeepEvalBaseLLM):
        """Answers our prompts by the sample's verdicts, and any other form with the same word."""

        def load_model(self) -> Any:
            return None

        def get_model_name(self) -> str:
            return "scripted"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            with suppress(AssertionError):
                return schema.model_validate_json(mind.answer(prompt))
            fields = schema.model_json_schema()["properties"]
            kinds = {"truths": ["one"], "claims": ["one"], "verdicts": [{"verdict": "yes"}]}
            return schema.model_validate({name: kinds.get(name, "a word") for name in fields})

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    return Scripted()


def deepeval_deeds() -> Deeds:
    from deepeval import assert_test
    from deepeval.dataset import EvaluationDataset, Golden
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.metrics.utils import copy_metrics
    from deepeval.optimizer import PromptOptimizer
    from deepeval.optimizer.algorithms import GEPA
    from deepeval.optimizer.configs import DisplayConfig as Quiet
    from deepeval.prompt import Prompt
    from deepeval.tracing import observe, update_current_span

    from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
    from support.deepeval_run import case_of, run

    quiet: Any = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)

    def case() -> Any:
        return case_of(SAMPLE, name="one")

    def made_with(**options: Any) -> Deed:
        return lambda kind, llm: kind(model=llm, **options)

    def measured(kind: Any, llm: Any, **options: Any) -> Any:
        metric = kind(model=llm, **options)
        metric.measure(case(), _show_indicator=False)
        assert metric.score is not None
        assert metric.reason
        return metric

    def awaited(kind: Any, llm: Any) -> None:
        asyncio.run(kind(model=llm).a_measure(case(), _show_indicator=False))

    def shown(**options: Any) -> Deed:
        def do(kind: Any, llm: Any) -> None:
            (result,) = run([case()], [kind(model=llm)], **options)
            (data,) = result.metrics_data
            assert data.score is not None
            assert data.error is None

        return do

    def over(kind: Any, llm: Any) -> None:
        metric = kind(model=llm)
        metric.threshold = 0.3
        metric.measure(case(), _show_indicator=False)
        assert metric.is_successful() is not None

    def missing(**errors: bool) -> Deed:
        def do(kind: Any, llm: Any) -> None:
            bare = case()
            bare.retrieval_context = None
            run([bare], [kind(model=llm)], **errors)

        return do

    def observed(kind: Any, llm: Any) -> None:
        @observe(metrics=[kind(model=llm)])
        def app(_: str) -> str:
            one = case()
            names = ("input", "expected_output", "retrieval_context")
            fields = {name: getattr(one, name) for name in names}
            update_current_span(output=one.actual_output, **fields)
            return str(one.actual_output)

        dataset = EvaluationDataset(goldens=[Golden(input=SAMPLE.user_input)])
        in_turn = AsyncConfig(run_async=False)
        for golden in dataset.evals_iterator(display_config=quiet, async_config=in_turn):
            app(golden.input)

    def optimized(kind: Any, llm: Any) -> None:
        golden = Golden(
            input=SAMPLE.user_input,
            expected_output=SAMPLE.reference,
            retrieval_context=[chunk.text for chunk in SAMPLE.retrieved_contexts],
        )
        optimizer = PromptOptimizer(
            model_callback=lambda prompt, golden: SAMPLE.response,
            metrics=[kind(model=llm)],
            optimizer_model=llm,
            algorithm=GEPA(iterations=1, random_seed=1),
            display_config=Quiet(show_indicator=False),
        )
        optimizer.optimize(Prompt(text_template="Answer."), [golden, golden.model_copy()])

    deeds: dict[str, Deed] = {
        "M(threshold=…)": made_with(threshold=0.5),
        "M(include_reason=…)": made_with(include_reason=False),
        "M(async_mode=…)": made_with(async_mode=False),
        "M(strict_mode=…)": made_with(strict_mode=True),
        "M(verbose_mode=…)": made_with(verbose_mode=False),
        "M(flaky=…)": made_with(flaky=True),
        "M(threshold, model)": lambda kind, llm: kind(0.5, llm),
        "measure": measured,
        "a_measure": awaited,
        "evaluate()": shown(),
        "evaluate(), not async": shown(run_async=False),
        "evaluate(), -c": shown(cache=True),
        "ignore_errors": missing(ignore_errors=True),
        "skip_on_missing_params": missing(skip_on_missing_params=True),
        "assert_test": lambda kind, llm: assert_test(case(), [kind(model=llm, threshold=1)]),
        "@observe(metrics=[m]), evals_iterator": observed,
        "metric.threshold = x": over,
        "is_successful()": lambda kind, llm: measured(kind, llm).is_successful(),
        "float(score)": lambda kind, llm: float(measured(kind, llm).score),
        "copy_metrics": lambda kind, llm: copy_metrics([kind(model=llm)]),
        "PromptOptimizer": optimized,
        "M(evaluation_template=…)": made_with(evaluation_template=type("Mine", (), {})),
        "M(eval_mode=…)": made_with(eval_mode="llm"),
    }
    robust = {"PromptOptimizer, NoiseRobustnessMetric": optimized}
    own = (FaithfulnessMetric, NoiseSensitivityMetric, deeds)
    return [own, (None, NoiseRobustnessMetric, robust)]


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Host, API, the host's own metric, ours."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    with ScriptedServer(EitherMind([(SAMPLE, VERDICTS)])) as server:

        def ragas_model() -> Any:  # one for each deed, as each has an event loop of its own
            return llm_factory("m", client=AsyncOpenAI(base_url=server.base_url, api_key="k"))

        for host, deeds_of, model in (
            ("ragas", ragas_deeds, ragas_model),
            ("DeepEval", deepeval_deeds, deepeval_model),
        ):
            for theirs, ours, deeds in deeds_of():
                for name, do in deeds.items():
                    yield host, name, *(outcome(do, kind, model()) for kind in (theirs, ours))


def main() -> int:
    count = lost = 0
    print("| host | API | the host's own metric | ours |\n|---|---|---|---|")
    for host, name, theirs, ours in rows():
        count = count + 1
        why = WHY.get(name, "")
        lost += theirs == "works" and ours != "works" and not why
        print(f"| {host} | {name} | {theirs} | {f'{ours} ({why})' if why else ours} |")
    print(f"\n{count} entries; theirs works and ours does not, without a reason: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
