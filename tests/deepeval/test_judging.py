"""Texts in, a DeepEval model asked, number out."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from deepeval.errors import DeepEvalError

from noisesense import InputError, LLMJudge, ReplyError, Sample, Verdicts, score
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import DEFINITIONS, MODES
from noisesense_adapters.deepeval import DeepEvalLLM, NoiseSensitivityMetric
from support.chat import tokens
from support.deepeval_run import MindModel, OpenAIModel, case_of, run, run_one
from support.mind import Mind
from support.server import ScriptedServer
from support.sizes import few_or_many
from support.tables import Shape, random_pairs

EXAMPLES = reference_examples()
MIND = Mind([(example.sample, example.verdicts) for example in EXAMPLES])
unclosed = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
BOTH = pytest.mark.parametrize("run_async", [True, False], ids=["async", "sync"])


def labels(verdicts: Verdicts) -> dict[str, Any]:
    return {"chunk_labels": [chunk.relevant for chunk in verdicts.chunks or ()]}


def figures(results: list[Any]) -> list[tuple[float | None, ...]]:
    return [tuple(data.score for data in result.metrics_data) for result in results]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_reference_examples_from_their_texts(definition: Any) -> None:
    """English and Chinese, with the labels that are documented."""
    cases = [case_of(one.sample, name=one.id, metadata=labels(one.verdicts)) for one in EXAMPLES]
    model = MindModel(MIND)
    metrics = [
        NoiseSensitivityMetric(mode=mode, model=model, definition=definition) for mode in MODES
    ]

    found = figures(run(cases, metrics))

    for example, figure in zip(EXAMPLES, found, strict=True):
        assert figure == pytest.approx(example.expected[definition], abs=1e-12), example.id


@BOTH
@few_or_many(60, 500)
def test_random_tables_score_as_their_verdicts_do(run_async: bool, count: int) -> None:
    pairs = list(random_pairs(count, shape=Shape(labelled=0.3)))
    cases = [
        case_of(sample, name=str(i), metadata=labels(verdicts))
        for i, (sample, verdicts) in enumerate(pairs)
    ]
    model = MindModel(Mind(pairs))
    metrics = [NoiseSensitivityMetric(mode=mode, model=model) for mode in MODES]

    found = figures(run(cases, metrics, run_async=run_async))

    expected = [score(verdicts) for _, verdicts in pairs]
    assert found == [(one.relevant, one.irrelevant) for one in expected]
    most = [3 + len(sample.retrieved_contexts) for sample, _ in pairs]
    assert len(model.prompts) <= sum(most)


@unclosed
@pytest.mark.usefixtures("unclosed_clients")
def test_cost_and_tokens_are_shown_once() -> None:
    example = EXAMPLES[0]
    prices = {"cost_per_input_token": 1e-3, "cost_per_output_token": 1e-2}
    with ScriptedServer(MIND) as server:
        model = OpenAIModel("scripted", api_key="k", base_url=server.base_url, **prices)
        metrics = [NoiseSensitivityMetric(mode=mode, model=model) for mode in MODES]
        (result,) = run([case_of(example.sample, name="a")], metrics, run_async=False)
        asked = sum(tokens(prompt) for prompt in server.log.prompts)
        said = sum(tokens(request.completion) for request in server.log.requests)

    paid, shared = result.metrics_data
    assert (paid.input_tokens, paid.output_tokens) == (asked, said)
    assert paid.evaluation_cost == pytest.approx(asked * 1e-3 + said * 1e-2)
    assert (shared.input_tokens, shared.output_tokens, shared.evaluation_cost) == (0, 0, 0)
    assert "Judge: 4 calls" in paid.verbose_logs
    assert "which made 4 calls" in shared.verbose_logs


def test_threads_share_what_a_model_has_said() -> None:
    model = MindModel(MIND)
    metrics = [NoiseSensitivityMetric(mode=mode, model=model, async_mode=False) for mode in MODES]
    test_case = case_of(EXAMPLES[0].sample)
    threads = [threading.Thread(target=m.measure, args=(test_case, False)) for m in metrics]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)

    assert [metric.score for metric in metrics] == [0.5, 0.0]
    assert len(model.prompts) == 4


def test_judge_options_reach_the_judge() -> None:
    model = MindModel(MIND)
    options = {"votes": 3, "max_reasks": 0}
    metric = NoiseSensitivityMetric(model=model, judge_options=options)
    assert metric.measure(case_of(EXAMPLES[0].sample)) == 0.5
    assert len(model.prompts) == 2 + 3 * 2  # each verdict is asked for three times

    with pytest.raises(InputError, match=r"judge_options.*'vote'.* did you mean 'votes'"):
        NoiseSensitivityMetric(model=model, judge_options={"vote": 3})


def test_the_bridge_is_a_structured_llm_for_any_judge() -> None:
    judge = LLMJudge(DeepEvalLLM(MindModel(MIND)), plan="full")
    metric = NoiseSensitivityMetric(judge=judge)
    assert metric.measure(case_of(EXAMPLES[0].sample)) == 0.5
    assert judge.usage.calls == 4
    assert metric.judgement is not None
    assert metric.judgement.verdicts == EXAMPLES[0].verdicts


@BOTH
def test_a_missing_key_is_deepevals_own_error(run_async: bool) -> None:
    metric = NoiseSensitivityMetric()  # nothing is resolved here
    test_case = case_of(EXAMPLES[0].sample, name="a")
    with pytest.raises(DeepEvalError, match="OpenAI API key is not configured"):
        run([test_case], [metric], run_async=run_async)
    _, data = run_one(test_case, metric, run_async=run_async, ignore_errors=True)
    assert "OpenAI API key is not configured. Set OPENAI_API_KEY" in data.error
    # With verdicts nobody needs a key.
    example = EXAMPLES[0]
    test_case.metadata = {"verdicts": example.verdicts.model_dump()}
    _, data = run_one(test_case, metric, run_async=run_async)
    assert data.score == 0.5


@unclosed
@pytest.mark.usefixtures("unclosed_clients")
def test_a_key_set_later_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong key is corrected in a notebook: the model is made anew."""
    test_case = case_of(EXAMPLES[0].sample)
    with ScriptedServer(MIND, api_key="right") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        metric = NoiseSensitivityMetric(async_mode=False)
        with pytest.raises(Exception, match="HTTP 401"):
            metric.measure(test_case)
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert metric.measure(test_case) == 0.5
        assert metric.evaluation_model == OpenAIModel().get_model_name()


@BOTH
def test_a_judge_that_answers_garbage_gives_no_number(run_async: bool) -> None:
    class Garbage:
        def answer(self, prompt: str) -> str:
            return "I'd rather talk about the weather."

    for empty in ("undefined", "zero"):
        metric = NoiseSensitivityMetric(model=MindModel(Garbage()), empty=empty)
        result, data = run_one(case_of(EXAMPLES[0].sample), metric, run_async=run_async)
        assert (data.score, data.success, data.error) == (None, False, None)
        assert "is undetermined: the judge's model" in data.reason
        assert result.success is False


def test_an_unusable_reply_of_any_judge_is_undetermined() -> None:
    class Mute:
        async def judge(self, sample: Sample) -> Verdicts:
            raise ReplyError("nothing came")

    for threshold, success in ((0.2, False), (1.0, False), (None, None)):
        metric = NoiseSensitivityMetric(judge=Mute(), threshold=threshold, include_reason=False)
        assert metric.measure(case_of(EXAMPLES[0].sample)) is None
        assert metric.success is metric.is_successful() is success
        assert "is undetermined: nothing came." in str(metric.reason)
