"""What the judge left open is NaN with its score attached, by both APIs, and never 0."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.outputs import Generation, LLMResult
from openai import AsyncOpenAI
from ragas import aevaluate
from ragas.llms.base import BaseRagasLLM
from ragas.run_config import RunConfig

from noisesense import (
    InputError,
    ReplyError,
    Sample,
    Verdicts,
)
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support import misbehavior as bad
from support.faults import TRUTH, in_verdicts, mind, pairs
from support.langchain_models import run
from support.misbehavior import when
from support.ragas_llms import KEY, KINDS, asked, evaluated_by
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, CountingJudge, column, dataset, evaluated
from support.server import ScriptedServer
from support.sizes import by_turns, named

RELEVANT, IRRELEVANT = COLUMNS["relevant"], COLUMNS["irrelevant"]
SAMPLES = [sample for sample, _ in pairs()]
OWN_CLASS = "a BaseRagasLLM of one's own"


def _about_chunks(prompt: str) -> bool:
    return "Statements:" in prompt and "Passage" in prompt


def _only_the_yes(items: Any) -> Any:
    return [item for item in items if item["entailed"] is True]


WITHHELD = {
    "garbage": bad.says("{oops"),
    "refusals": bad.REFUSAL,
    "empty replies": bad.EMPTY,
    "only the yes ones": in_verdicts("only the yes ones", _only_the_yes),
    "an empty list": in_verdicts("an empty list", lambda _: []),
    "null": in_verdicts("null", lambda items: [{**item, "entailed": None} for item in items]),
}


class _Texts(BaseRagasLLM):
    """A model as people write them for ragas, over a client of their own."""

    def __init__(self, client: AsyncOpenAI) -> None:
        super().__init__(run_config=RunConfig(max_retries=1))
        self.client = client

    def generate_text(self, *args: Any, **kwargs: Any) -> LLMResult:
        raise AssertionError("asked asynchronously")

    async def agenerate_text(self, prompt: Any, *args: Any, **kwargs: Any) -> LLMResult:
        reply = await self.client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": prompt.to_string()}]
        )
        text = reply.choices[0].message.content or ""
        return LLMResult(generations=[[Generation(text=text)]])

    def is_finished(self, response: LLMResult) -> bool:
        return True


def _by_evaluate(kind: str, server: ScriptedServer) -> list[dict[str, Any]]:
    metrics = [NoiseSensitivity(mode) for mode in MODES]
    if kind != OWN_CLASS:
        return list(evaluated_by(kind, server, SAMPLES, metrics).scores)

    async def main() -> Any:
        async with AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as client:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", r"aevaluate\(\) is", DeprecationWarning)
                return await aevaluate(
                    dataset(SAMPLES), metrics=metrics, llm=_Texts(client), show_progress=False
                )

    return list(run(main()).scores)


def _by_ascore(kind: str, server: ScriptedServer) -> list[dict[str, Any]]:
    async def work(llm: Any) -> list[dict[str, Any]]:
        metrics = [NoiseSensitivity(mode, llm) for mode in MODES]
        found = [
            await asyncio.gather(*(metric.ascore(**ragas_row(sample)) for metric in metrics))
            for sample in SAMPLES
        ]
        for each in (result for row in found for result in row):
            assert each.reason == each.value.reason
            assert each.traces["output"] == each.value.report
        names = COLUMNS.values()
        return [dict(zip(names, (each.value for each in row), strict=True)) for row in found]

    if kind != OWN_CLASS:
        return list(asked(kind, server, work))

    async def main() -> Any:
        async with AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as client:
            return await work(_Texts(client))

    return list(run(main()))


@pytest.mark.parametrize(
    ("how", "kind", "api"),
    by_turns(named(list(WITHHELD)), named([*KINDS, OWN_CLASS]), named([_by_evaluate, _by_ascore])),
)
def test_a_judge_that_withholds_the_verdicts_on_chunks(
    how: str, kind: str, api: Callable[..., list[dict[str, Any]]]
) -> None:
    with ScriptedServer(mind(), script=when(_about_chunks, WITHHELD[how])) as server:
        rows = api(kind, server)
    for row in rows:
        for mode, name in COLUMNS.items():
            value: Any = row[name]
            assert isinstance(value, ScoredFloat)
            assert math.isnan(value)
            assert value.status == "undetermined"
            assert value.score.value(mode) is None  # type: ignore[arg-type]
            low, high = value.score.bounds(mode)  # type: ignore[arg-type,misc]
            assert low <= TRUTH <= high
            assert "is undetermined: it lies between" in value.reason
            report = json.loads(json.dumps(value.report))
            assert report["value"] is report[mode] is None
            assert report["bounds"][mode] == [low, high]
            assert report["unanswered"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_says_nothing_usable_fails_the_row(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with ScriptedServer(mind(), script=bad.always(WITHHELD["garbage"])) as server:
        metrics = [NoiseSensitivity(mode) for mode in MODES]
        rows = evaluated_by(kind, server, SAMPLES, metrics).scores
        assert all(
            type(value) is float and math.isnan(value) for row in rows for value in row.values()
        )
        assert caplog.text.count(": ReplyError(") == 4
        assert _said(caplog) == []
        with pytest.raises(ReplyError):
            evaluated_by(kind, server, SAMPLES[:1], metrics, raise_exceptions=True)
        with pytest.raises(ReplyError):
            asked(
                kind, server, lambda llm: NoiseSensitivity(llm=llm).ascore(**ragas_row(SAMPLES[0]))
            )


# By hand, relevant mode, four claims each, none correct, over chunk 0, which entails the
# reference. OPEN: claim 0 comes from it, of claims 1 and 2 that is open, claim 3 does not: from
# 1/4 to 3/4. SURE: one of four. EMPTY: no claims. Irrelevant mode: chunk 0 is relevant, so none
# counts, whichever way the open ones fall.
OPEN = Verdicts.from_matrices([False] * 4, [[True], [None], [None], [False]], [[True]])
SURE = Verdicts.from_matrices([False] * 4, [[True], [False], [False], [False]], [[True]])
EMPTY = Verdicts.from_matrices([], [], [[True]])
# Of chunk 1 it is open whether it is relevant: claim 0 counts in one of the modes.
EITHER = Verdicts.from_matrices([False], [[False, True]], [[True, None]])


def _sample(name: str, chunks: int = 1) -> Sample:
    texts = {"user_input": f"{name}?", "response": f"{name}.", "reference": "It is so."}
    return Sample.model_validate(
        {**texts, "retrieved_contexts": [f"{name} {j}" for j in range(chunks)]}
    )


def _of(**given: Verdicts) -> tuple[list[Sample], CountingJudge]:
    samples = [_sample(name, verdicts.chunk_count) for name, verdicts in given.items()]
    return samples, CountingJudge(zip(samples, given.values(), strict=True))


def _evaluate(samples: list[Sample], metrics: list[Any], **options: Any) -> Any:
    return evaluated(samples, metrics, **options)


def _aevaluate(samples: list[Sample], metrics: list[Any], **options: Any) -> Any:
    async def main() -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"aevaluate\(\) is", DeprecationWarning)
            return await aevaluate(
                dataset(samples), metrics=metrics, show_progress=False, **options
            )

    return asyncio.run(main())


both_ways = pytest.mark.parametrize("evaluate", [_evaluate, _aevaluate])


def test_a_metric_called_by_hand_raises_nothing() -> None:
    from ragas import SingleTurnSample

    (sample,), judge = _of(open=OPEN)
    metric, row = NoiseSensitivity(judge=judge), SingleTurnSample(**ragas_row(sample))
    found: Any = [metric.single_turn_score(row), asyncio.run(metric.single_turn_ascore(row))]
    found.append(metric.score(**ragas_row(sample)).value)
    assert [math.isnan(value) for value in found] == [True] * 3
    assert {value.status for value in found} == {"undetermined"}


@both_ways
def test_one_log_line_a_run(evaluate: Any, caplog: pytest.LogCaptureFixture) -> None:
    samples, judge = _of(a=SURE, b=OPEN, c=SURE, d=EMPTY, e=OPEN)
    metrics = [NoiseSensitivity(mode, judge=judge) for mode in MODES]
    for _ in range(2):
        evaluate(samples, metrics)
    # The empty one is in no mean: (1/4 + 1/4 + 1/4 + 1/4) / 4 to (1/4 + 3/4 + 1/4 + 3/4) / 4.
    # The irrelevant mode is 0 whichever way the open verdicts fall.
    said = _said(caplog)
    assert [level for level, _ in said] == [logging.WARNING] * 2
    for _, line in said:
        assert f"{RELEVANT}: 2 of 5 rows undetermined" in line
        assert "it lies between 0.25 and 0.75" in line
        assert "The mean lies between 0.25 and 0.5." in line
        for mode in MODES:
            assert f"{COLUMNS[mode]}: 1 of 5 rows undefined" in line
        assert f"{IRRELEVANT}: 2" not in line
        assert "summarize" in line
    caplog.clear()
    evaluate([samples[0]], metrics)
    assert _said(caplog) == []
    # A run that raises says so itself.
    wrong = [*samples, {**ragas_row(samples[0]), "response": " "}]
    with pytest.raises(InputError):
        evaluate(wrong, metrics, raise_exceptions=True)
    gc.collect()
    assert _said(caplog) == []


def test_undetermined_low_and_high() -> None:
    samples, judge = _of(sure=SURE, open=OPEN, empty=EMPTY)
    for choice, expected in (("low", 0.25), ("high", 0.75)):
        metric = NoiseSensitivity(judge=judge, undetermined=choice)  # type: ignore[arg-type]
        values: Any = column(evaluated(samples, [metric]), "relevant")
        assert values[:2] == [0.25, expected]
        assert math.isnan(values[2])
        assert values[1].status == "undetermined"
        as_what = "noise" if choice == "high" else "no noise"
        assert f"what is undetermined counted as {as_what}" in values[1].reason
        by_ascore = metric.score(**ragas_row(samples[1]))
        assert by_ascore.value == expected
        assert by_ascore.traces["output"]["undetermined"] == choice
    with pytest.raises(InputError, match="undetermined: expected 'none', 'low' or 'high'"):
        NoiseSensitivity(undetermined="zero")  # type: ignore[arg-type]


def _said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    return [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "noisesense"]


def test_callbacks_that_are_handed_to_several_runs(caplog: pytest.LogCaptureFixture) -> None:
    """ragas leaves the tracer of each run in the list it is given."""
    samples, judge = _of(a=SURE, b=OPEN)
    from langchain_core.callbacks import BaseCallbackHandler

    callbacks: list[Any] = [BaseCallbackHandler()]
    metrics = [NoiseSensitivity(mode, judge=judge) for mode in MODES]
    for _ in range(3):
        evaluated(samples, metrics, callbacks=callbacks)
    assert len(callbacks) == 4
    assert len(_said(caplog)) == 3
    assert all("1 of 2 rows" in line for _, line in _said(caplog))
    assert len(judge.asked) == 3 * 2
