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
import json
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.update(RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="1")
os.environ.update(DEEPEVAL_DISABLE_DOTENV="1", LANGSMITH_TRACING="false")

from noisesense.scoring.definitions import MODES
from support.mind import Mind
from support.ragas_mind import RagasMind
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, evaluated
from support.server import ScriptedServer
from support.tables import Shape, random_pair

_PROMPTS = 'judge_options={"prompts": Prompts(…)}'
_REASKS = 'judge_options={"max_reasks": n}'
SAMPLE, VERDICTS = random_pair(3, shape=Shape(response_claims=(2, 3), chunks=(2, 2)))
ROW = ragas_row(SAMPLE)


class Both:
    """Answers ragas' prompts and ours."""

    def __init__(self) -> None:
        self._minds = (Mind([(SAMPLE, VERDICTS)]), RagasMind([(SAMPLE, VERDICTS)]))

    def answer(self, prompt: str) -> str:
        if "You are a TRANSLATOR" in prompt:
            given, _ = json.JSONDecoder().raw_decode(prompt.rpartition("input: ")[2])
            return json.dumps({"statements": given["statements"]})
        ours = "\ninput: " not in prompt  # ragas' own prompts end so
        return self._minds[0 if ours else 1].answer(prompt)


class Entry(NamedTuple):
    """One deed, done with either class and a model."""

    do: Callable[[Any, Any], Any]
    name: str
    classes: tuple[Any, Any]
    why: str = ""


def _outcome(entry: Entry, kind: Any, llm: Any) -> str:
    if kind is None:
        return "-"
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            entry.do(kind, llm)
    except Exception as error:  # noqa: BLE001 - the outcome of the row
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    return "works"


def ragas_entries() -> list[Entry]:
    from langchain_core.callbacks import BaseCallbackHandler
    from ragas import Dataset as Table
    from ragas import EvaluationDataset, aevaluate, evaluate, experiment
    from ragas.cost import get_token_usage_for_openai
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Old
    from ragas.metrics.collections import NoiseSensitivity as New
    from ragas.run_config import RunConfig

    from datasets import Dataset
    from noisesense_adapters.ragas import NoiseSensitivity as Ours

    old, new = (Old, Ours), (New, Ours)
    plain = {name: ROW[name] for name in ("user_input", "response", "reference")}
    plain["retrieved_contexts"] = ROW["retrieved_contexts"]
    turn = SingleTurnSample(**plain)

    def run(kind: Any, llm: Any, **options: Any) -> Any:
        return evaluated([SAMPLE], [kind()], llm=llm, raise_exceptions=True, **options)

    def cost(kind: Any, llm: Any) -> None:
        result = run(kind, llm, token_usage_parser=get_token_usage_for_openai)
        assert result.total_tokens().input_tokens

    def prompts(kind: Any, llm: Any) -> None:
        metric = kind(llm=llm)
        found = metric.get_prompts()
        assert found
        metric.set_prompts(**found)

    def saved(kind: Any, llm: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            kind(llm=llm).save_prompts(folder)
            assert kind(llm=llm).load_prompts(folder)

    def both_modes(kind: Any, llm: Any) -> None:
        metrics = [kind(mode=mode) for mode in MODES]
        table = evaluated([SAMPLE], metrics, llm=llm, raise_exceptions=True).to_pandas()
        assert {*COLUMNS.values()} <= {*table.columns}

    def other_columns(kind: Any, llm: Any) -> None:
        row = {f"my_{name}": value for name, value in plain.items()}
        rows = Dataset.from_list([row])
        mapped = {name: f"my_{name}" for name in plain}
        evaluate(rows, [kind()], llm, column_map=mapped, show_progress=False)

    def awaited(kind: Any, llm: Any) -> None:
        rows = EvaluationDataset(samples=[turn])
        asyncio.run(aevaluate(rows, [kind()], llm, raise_exceptions=True, show_progress=False))

    def executed(kind: Any, llm: Any) -> None:
        assert run(kind, llm, return_executor=True).results()

    def listening(kind: Any, llm: Any) -> None:
        heard: list[str] = []

        class Listener(BaseCallbackHandler):
            def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
                heard.append(str((serialized or about).get("name")))

        run(kind, llm, callbacks=[Listener()])
        assert any("noise_sensitivity" in name for name in heard), heard

    def experimented(kind: Any, llm: Any) -> None:
        @experiment()
        async def judged(row: dict[str, Any]) -> dict[str, float]:
            return {"noise": (await kind(llm=llm).ascore(**row)).value}

        rows = Table("rows", backend="inmemory", data=[plain])
        assert len(asyncio.run(judged.arun(rows))) == 1

    def assigned(kind: Any, llm: Any) -> None:
        metric = kind()
        metric.llm = llm
        metric.init(RunConfig())
        asyncio.run(metric.single_turn_ascore(turn))

    def retries(kind: Any, llm: Any) -> None:
        metric = kind(llm=llm)
        metric.max_retries = metric.max_retries + 1

    def columns(kind: Any, llm: Any) -> None:
        metric = kind(llm=llm)
        assert "response" in metric.required_columns["SINGLE_TURN"]
        assert metric.get_required_columns()

    return [
        Entry(lambda kind, llm: kind(llm), "collections: M(llm)", new),
        Entry(lambda kind, llm: kind(llm, "n", "irrelevant"), "M(llm, name, mode)", new),
        Entry(lambda kind, llm: asyncio.run(kind(llm=llm).ascore(**plain)), "ascore(…=)", new),
        Entry(
            lambda kind, llm: asyncio.run(kind(llm=llm).ascore(*plain.values())),
            "ascore(q, r, ref, ctx)",
            new,
        ),
        Entry(lambda kind, llm: kind(llm=llm).score(**plain), "score(…)", new),
        Entry(lambda kind, llm: kind(llm=llm).batch_score([plain, plain]), "batch_score", new),
        Entry(
            lambda kind, llm: asyncio.run(kind(llm=llm).abatch_score([plain, plain])),
            "abatch_score",
            new,
        ),
        Entry(experimented, "ascore in @experiment", new),
        Entry(lambda kind, llm: run(kind, llm), "evaluate(metrics=[M()])", old),
        Entry(both_modes, "both modes, to_pandas()", old),
        Entry(other_columns, "evaluate(Dataset, column_map=…)", old),
        Entry(awaited, "aevaluate", old),
        Entry(executed, "evaluate(return_executor=True)", old),
        Entry(listening, "evaluate(callbacks=[…])", old),
        Entry(
            lambda kind, llm: run(kind, llm, run_config=RunConfig(max_workers=1)),
            "RunConfig(max_workers=1)",
            old,
        ),
        Entry(lambda kind, llm: run(kind, llm, batch_size=1), "batch_size=1", old),
        Entry(cost, "token_usage_parser with llm_factory", old, "summarize(result).usage"),
        Entry(
            lambda kind, llm: asyncio.run(kind(llm=llm).single_turn_ascore(turn)),
            "single_turn_ascore(sample)",
            old,
        ),
        Entry(
            lambda kind, llm: kind(llm=llm).single_turn_score(turn),
            "single_turn_score(sample)",
            old,
        ),
        Entry(assigned, "metric.llm = llm, init(RunConfig())", old),
        Entry(columns, "required_columns", old),
        Entry(lambda kind, llm: kind(name="mine", llm=llm), "M(name=…, llm=…)", old),
        Entry(
            lambda kind, llm: kind(output_type=None), "M(output_type=…)", old, "it is continuous"
        ),
        Entry(retries, "metric.max_retries = n", old, _REASKS),
        Entry(prompts, "get_prompts, set_prompts", old, _PROMPTS),
        Entry(
            lambda kind, llm: asyncio.run(kind(llm=llm).adapt_prompts("hindi", llm)),
            "adapt_prompts(language, llm)",
            old,
            _PROMPTS,
        ),
        Entry(saved, "save_prompts, load_prompts", old, _PROMPTS),
        Entry(lambda kind, llm: kind(llm=llm, max_retries=2), "M(max_retries=2)", old, _REASKS),
        Entry(
            lambda kind, llm: dataclasses.replace(kind(llm=llm), mode="irrelevant"),
            "dataclasses.replace",
            old,
            "make another: NoiseSensitivity(mode=…)",
        ),
        Entry(lambda kind, llm: copy.deepcopy(kind()), "copy.deepcopy", old),
        Entry(lambda kind, llm: pickle.loads(pickle.dumps(kind())), "pickle", old),
        Entry(
            lambda kind, llm: kind(nli_statements_prompt=Old().nli_statements_prompt),
            "M(nli_statements_prompt=…)",
            old,
            _PROMPTS,
        ),
    ]


def deepeval_entries() -> list[Entry]:
    from deepeval import assert_test, evaluate
    from deepeval.dataset import EvaluationDataset, Golden
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.metrics.utils import copy_metrics
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.optimizer import PromptOptimizer
    from deepeval.optimizer.algorithms import GEPA
    from deepeval.optimizer.configs import DisplayConfig as Quiet
    from deepeval.prompt import Prompt
    from deepeval.tracing import observe, update_current_span

    from noisesense_adapters.deepeval import NoiseRobustnessMetric, NoiseSensitivityMetric
    from support.deepeval_run import case_of, run

    ours_by_script = Mind([(SAMPLE, VERDICTS)])

    class Scripted(DeepEvalBaseLLM):
        """Answers our prompts by the sample's verdicts, and any other form with the same word."""

        def load_model(self) -> Any:
            return None

        def get_model_name(self) -> str:
            return "scripted"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            with suppress(AssertionError):
                return schema.model_validate_json(ours_by_script.answer(prompt))
            fields = schema.model_json_schema()["properties"]
            kinds = {"truths": ["one"], "claims": ["one"], "verdicts": [{"verdict": "yes"}]}
            return schema.model_validate({name: kinds.get(name, "a word") for name in fields})

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    quiet: Any = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)

    def case() -> Any:
        return case_of(SAMPLE, name="one")

    def of(kind: Any, **options: Any) -> Any:
        return kind(model=Scripted(), **options)

    def measured(kind: Any, **options: Any) -> Any:
        metric = of(kind, **options)
        metric.measure(case(), _show_indicator=False)
        assert metric.score is not None
        assert metric.reason
        return metric

    def awaited(kind: Any) -> None:
        asyncio.run(of(kind).a_measure(case(), _show_indicator=False))

    def shown(kind: Any, **options: Any) -> None:
        (result,) = run([case()], [of(kind)], **options)
        (data,) = result.metrics_data
        assert data.score is not None
        assert data.error is None

    def asserted(kind: Any) -> None:
        assert_test(case(), [of(kind, threshold=1)])

    def over(kind: Any, threshold: float) -> None:
        metric = of(kind)
        metric.threshold = threshold
        metric.measure(case(), _show_indicator=False)
        assert metric.is_successful() is not None

    def missing(kind: Any, **errors: bool) -> None:
        bare = case()
        bare.retrieval_context = None
        run([bare], [of(kind)], **errors)

    def observed(kind: Any) -> None:
        metric = of(kind)

        @observe(metrics=[metric])
        def app(_: str) -> str:
            one = case()
            names = ("input", "expected_output", "retrieval_context")
            fields = {name: getattr(one, name) for name in names}
            update_current_span(output=one.actual_output, **fields)
            return str(one.actual_output)

        goldens = [Golden(input=SAMPLE.user_input)]
        each = EvaluationDataset(goldens=goldens).evals_iterator(
            display_config=quiet, async_config=AsyncConfig(run_async=False)
        )
        for golden in each:
            app(golden.input)

    def of_dataset(kind: Any) -> None:
        goldens = EvaluationDataset(goldens=[])
        goldens.add_test_case(case())
        evaluate(
            goldens.test_cases, [of(kind)], display_config=quiet,
            hyperparameters={"model": "m"}, identifier="run",
        )  # fmt: skip

    def optimized(kind: Any) -> None:
        goldens = [
            Golden(
                input=SAMPLE.user_input,
                expected_output=SAMPLE.reference,
                retrieval_context=[chunk.text for chunk in SAMPLE.retrieved_contexts],
            )
            for _ in range(2)
        ]
        optimizer = PromptOptimizer(
            model_callback=lambda prompt, golden: SAMPLE.response,
            metrics=[of(kind)],
            optimizer_model=Scripted(),
            algorithm=GEPA(iterations=1, random_seed=1),
            display_config=Quiet(show_indicator=False),
        )
        optimizer.optimize(Prompt(text_template="Answer."), goldens)

    def entry(name: str, do: Callable[[Any], Any], why: str = "") -> Entry:
        classes = (FaithfulnessMetric, NoiseSensitivityMetric)
        return Entry(lambda kind, _: do(kind), name, classes, why)

    options: dict[str, Any] = {
        "threshold": 0.5,
        "include_reason": False,
        "async_mode": False,
        "strict_mode": True,
        "verbose_mode": False,
        "flaky": True,
    }

    def made_with(name: str) -> Callable[[Any], Any]:
        return lambda kind: of(kind, **{name: options[name]})

    return [
        *(entry(f"M({name}=…)", made_with(name)) for name in options),
        entry("M(threshold, model)", lambda kind: kind(0.5, Scripted())),
        entry("measure", measured),
        entry("measure, async_mode=False", lambda kind: measured(kind, async_mode=False)),
        entry("a_measure", awaited),
        entry("evaluate()", shown),
        entry("evaluate(), not async", lambda kind: shown(kind, run_async=False)),
        entry("evaluate(), -c", lambda kind: shown(kind, cache=True)),
        entry("evaluate(hyperparameters, identifier)", of_dataset),
        entry("ignore_errors", lambda kind: missing(kind, ignore_errors=True)),
        entry("skip_on_missing_params", lambda kind: missing(kind, skip_on_missing_params=True)),
        entry("assert_test", asserted),
        entry("@observe(metrics=[m]), evals_iterator", observed),
        entry("metric.threshold = x", lambda kind: over(kind, 0.3)),
        entry("is_successful()", lambda kind: measured(kind).is_successful()),
        entry("float(score)", lambda kind: float(measured(kind).score)),
        entry("copy_metrics", lambda kind: copy_metrics([of(kind)])),
        entry("PromptOptimizer", optimized, "less noise is better: NoiseRobustnessMetric"),
        Entry(
            lambda kind, _: optimized(kind),
            "PromptOptimizer, NoiseRobustnessMetric",
            (None, NoiseRobustnessMetric),
        ),
        entry(
            "M(evaluation_template=…)",
            lambda kind: of(kind, evaluation_template=type("Mine", (), {})),
            'judge_options={"prompts": Prompts(…)}',
        ),
        entry(
            "M(eval_mode=…)",
            lambda kind: of(kind, eval_mode="llm"),
            "always by the model; judge= takes any other judge",
        ),
    ]


def rows() -> list[tuple[str, str, str, str, str]]:
    """Host, API, the host's own metric, ours, and why ours does otherwise."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    table: list[tuple[str, str, str, str, str]] = []

    with ScriptedServer(Both()) as server:

        def llm() -> Any:  # one for each deed, as each has an event loop of its own
            return llm_factory("m", client=AsyncOpenAI(base_url=server.base_url, api_key="k"))

        for host, entries in (("ragas", ragas_entries()), ("DeepEval", deepeval_entries())):
            for each in entries:
                theirs, ours = (_outcome(each, kind, llm()) for kind in each.classes)
                table.append((host, each.name, theirs, ours, each.why))
    return table


def main() -> int:
    lost = 0
    table = rows()
    print("| host | API | the host's own metric | ours |\n|---|---|---|---|")
    for host, name, theirs, ours, why in table:
        lost += theirs == "works" and not ours.startswith("works") and not why
        print(f"| {host} | {name} | {theirs} | {f'{ours} ({why})' if why else ours} |")
    print(f"\n{len(table)} entries; theirs works and ours does not, without a reason: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
