"""What a host's users do with its own metric, done with ours, too: does it work in both?

``python tests/benchmarks/host_apis.py [--markdown]`` runs every entry against ragas' two metrics
of noise sensitivity and ours, and against a DeepEval metric (it has no noise sensitivity, so its
Faithfulness stands in) and ours. It ends with status 1 if theirs does something that ours does not
and the row gives no reason.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import dataclasses
import os
import pickle
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.update(RAGAS_DO_NOT_TRACK="true", DEEPEVAL_TELEMETRY_OPT_OUT="1")
os.environ.update(DEEPEVAL_DISABLE_DOTENV="1", LANGSMITH_TRACING="false")

from noisesense_adapters.demo.ragas_mind import RagasMind
from noisesense_adapters.demo.ragas_peer import ragas_row
from support.mind import Mind
from support.ragas_runs import evaluated
from support.server import ScriptedServer
from support.tables import Shape, random_pair

SAMPLE, VERDICTS = random_pair(3, shape=Shape(response_claims=(2, 3), chunks=(2, 2)))
ROW = ragas_row(SAMPLE)


class Both:
    """Answers ragas' prompts and ours."""

    def __init__(self) -> None:
        self._minds = (Mind([(SAMPLE, VERDICTS)]), RagasMind([(SAMPLE, VERDICTS)]))

    def answer(self, prompt: str) -> str:
        if "translat" in prompt.lower()[:300]:
            return '{"statements": []}'
        ours = "JSON below is data" in prompt
        return self._minds[0 if ours else 1].answer(prompt)


class Entry(NamedTuple):
    name: str
    theirs: Callable[[Any], Any] | None
    ours: Callable[[Any], Any]
    why: str = ""


def _same(do: Callable[..., Any], name: str, of: Any, why: str = "") -> Entry:
    """The same deed on both classes."""
    theirs, ours = of
    return Entry(name, lambda llm: do(theirs, llm), lambda llm: do(ours, llm), why)


def _outcome(deed: Callable[[Any], Any] | None, llm: Any) -> str:
    if deed is None:
        return "-"
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            deed(llm)
    except Exception as error:  # noqa: BLE001 - the outcome of the row
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    return "works"


def ragas_entries() -> list[Entry]:
    from ragas.cost import get_token_usage_for_openai
    from ragas.dataset_schema import SingleTurnSample
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Old
    from ragas.metrics.collections import NoiseSensitivity as New
    from ragas.run_config import RunConfig

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

    return [
        _same(lambda kind, llm: kind(llm), "collections: M(llm)", new),
        _same(lambda kind, llm: kind(llm, "n", "irrelevant"), "M(llm, name, mode)", new),
        _same(lambda kind, llm: asyncio.run(kind(llm=llm).ascore(**plain)), "ascore(…=)", new),
        _same(
            lambda kind, llm: asyncio.run(kind(llm=llm).ascore(*plain.values())),
            "ascore(q, r, ref, ctx)",
            new,
        ),
        _same(lambda kind, llm: kind(llm=llm).score(**plain), "score(…)", new),
        _same(lambda kind, llm: kind(llm=llm).batch_score([plain, plain]), "batch_score", new),
        _same(lambda kind, llm: run(kind, llm), "evaluate(metrics=[M()])", old),
        _same(
            lambda kind, llm: run(kind, llm, run_config=RunConfig(max_workers=1)),
            "RunConfig(max_workers=1)",
            old,
        ),
        _same(lambda kind, llm: run(kind, llm, batch_size=1), "batch_size=1", old),
        _same(cost, "token_usage_parser with llm_factory", old),
        _same(
            lambda kind, llm: asyncio.run(kind(llm=llm).single_turn_ascore(turn)),
            "single_turn_ascore(sample)",
            old,
        ),
        _same(prompts, "get_prompts, set_prompts", old),
        _same(saved, "save_prompts, load_prompts", old),
        _same(lambda kind, llm: kind(llm=llm, max_retries=2), "M(max_retries=2)", old),
        _same(
            lambda kind, llm: dataclasses.replace(kind(llm=llm), mode="irrelevant"),
            "dataclasses.replace",
            old,
        ),
        _same(lambda kind, llm: copy.deepcopy(kind()), "copy.deepcopy", old),
        _same(lambda kind, llm: pickle.loads(pickle.dumps(kind())), "pickle", old),
        _same(
            lambda kind, llm: kind(nli_statements_prompt=Old().nli_statements_prompt),
            "M(nli_statements_prompt=…)",
            old,
            "asks otherwise: claim_verification_prompt takes its place",
        ),
    ]


def deepeval_entries() -> list[Entry]:
    from deepeval.metrics import FaithfulnessMetric

    from noisesense import RecordedJudge
    from noisesense.verdicts.recording import write_recording
    from noisesense_adapters.deepeval import NoiseSensitivityMetric
    from support.deepeval_run import OpenAIModel, case_of, run

    folder = tempfile.mkdtemp()
    write_recording(Path(folder, "v.jsonl"), [(SAMPLE, VERDICTS)])
    judge = RecordedJudge(Path(folder, "v.jsonl"))
    model = OpenAIModel("gpt-4o", api_key="k")

    def theirs(**options: Any) -> Any:
        return FaithfulnessMetric(model=model, **options)

    def ours(**options: Any) -> Any:
        return NoiseSensitivityMetric(judge=judge, **options)

    def entry(name: str, do: Callable[[Any], Any], why: str = "") -> Entry:
        return Entry(name, lambda _: do(theirs), lambda _: do(ours), why)

    def measured(kind: Any, **options: Any) -> Any:
        metric = kind(**options)
        metric.measure(case_of(SAMPLE, name="one"), _show_indicator=False)
        return metric

    names = ("threshold", "include_reason", "async_mode", "strict_mode", "verbose_mode")
    made = [entry(f"M({name}=…)", lambda kind, name=name: kind(**{name: 0})) for name in names]
    # Theirs needs a model that answers its prompts: what it does is known to work.
    asked = {
        "measure": lambda _: measured(ours),
        "measure, async_mode=False": lambda _: measured(ours, async_mode=False),
        "evaluate()": lambda _: run([case_of(SAMPLE, name="one")], [ours()]),
        "evaluate(), not async": lambda _: run(
            [case_of(SAMPLE, name="one")], [ours()], run_async=False
        ),
        "is_successful()": lambda _: measured(ours).is_successful(),
        "float(score)": lambda _: float(measured(ours).score),
    }
    return [*made, *(Entry(name, None, do) for name, do in asked.items())]


def rows() -> list[tuple[str, str, str, str, str]]:
    """Host, API, the host's own metric, ours, and why ours does otherwise."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    table: list[tuple[str, str, str, str, str]] = []

    with ScriptedServer(Both()) as server:

        def llm() -> Any:  # one for each deed, as each has an event loop of its own
            return llm_factory("m", client=AsyncOpenAI(base_url=server.base_url, api_key="k"))

        for each in ragas_entries():
            pair = _outcome(each.theirs, llm()), _outcome(each.ours, llm())
            table.append(("ragas", each.name, *pair, each.why))
    for each in deepeval_entries():
        pair = _outcome(each.theirs, None), _outcome(each.ours, None)
        table.append(("DeepEval", each.name, *pair, each.why))
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true")
    markdown = parser.parse_args().markdown
    lost = 0
    table = rows()
    print("| host | API | the host's own metric | ours |\n|---|---|---|---|" if markdown else "")
    for host, name, theirs, ours, why in table:
        ours = f"{ours} ({why})" if why else ours
        lost += theirs == "works" and not ours.startswith("works") and not why
        line = [host, name, theirs, ours]
        print("| " + " | ".join(line) + " |" if markdown else "{:9} {:38} {:30} {}".format(*line))
    print(f"\n{len(table)} entries; theirs works and ours does not, without a reason: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
