"""ragas' own models as the judge's: from texts to the figure, through real clients on loopback."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from noisesense import JudgeError, Sample, Usage, Verdicts, VerdictStore, score
from noisesense.fixtures import reference_examples
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat, rubrics
from noisesense_adapters.toolbox import running as _ask
from support.chat import tokens
from support.langchain_models import chat_openai, run
from support.mind import Mind
from support.misbehavior import HANG, always
from support.ragas_llms import KEY, KINDS, asked, evaluated_by
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, same
from support.server import ScriptedServer
from support.sizes import few_or_many
from support.tables import Shape, random_pair, random_pairs

ONE = {"max_concurrency": 1}  # ragas' wrapper sets the model's temperature for a call, and back
each_kind = pytest.mark.parametrize("kind", KINDS)
Pairs = list[tuple[Sample, Verdicts]]


def both(**options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, **options) for mode in MODES]


def samples_of(pairs: Pairs) -> list[Sample]:
    return [sample for sample, _ in pairs]


def cells(result: Any) -> list[ScoredFloat]:
    return [row[name] for row in result.scores for name in COLUMNS.values()]


def paid(values: Iterable[ScoredFloat]) -> Usage:
    return sum((value.judgement.usage for value in values), Usage())


@pytest.fixture(autouse=True)
def _no_loop_seen_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ask, "_first", None)


@each_kind
@few_or_many(15, 500)
def test_random_tables_give_the_figures_of_their_verdicts(kind: str, count: int) -> None:
    pairs = list(random_pairs(count, shape=Shape(chunks=(1, 3))))
    with ScriptedServer(Mind(pairs), api_key=KEY) as server:
        result = evaluated_by(kind, server, samples_of(pairs), both())
    for row, (_, verdicts) in zip(result.scores, pairs, strict=True):
        for mode in MODES:
            assert same(row[COLUMNS[mode]], score(verdicts).value(mode))
    # Both modes together: never more than C + 3 calls a sample, 3 where nothing is wrong.
    most = [
        3
        + (not verdicts.response_claims)
        + len(verdicts.chunks or ()) * any(not c.correct for c in verdicts.response_claims)
        for _, verdicts in pairs
    ]
    assert server.log.calls <= sum(most)
    usage = paid(cells(result))
    assert usage.calls == server.log.calls
    # An empty list of claims is asked for once more.
    assert usage.reasks == sum(not verdicts.response_claims for _, verdicts in pairs)
    assert usage.input_tokens == sum(tokens(prompt) for prompt in server.log.prompts)
    assert usage.output_tokens == sum(tokens(r.completion) for r in server.log.requests)


@each_kind
def test_the_documented_examples_english_and_chinese(kind: str) -> None:
    examples = reference_examples()
    rows = [
        {
            **ragas_row(example.sample),
            "rubrics": rubrics(labels=[c.relevant for c in example.sample.retrieved_contexts]),
        }
        for example in examples
    ]
    mind = Mind((example.sample, example.verdicts) for example in examples)
    with ScriptedServer(mind) as server:
        result = evaluated_by(kind, server, rows, both())
    for row, example in zip(result.scores, examples, strict=True):
        assert list(row.values()) == pytest.approx(list(example.expected["ragas"]), abs=1e-12)
        # ragas prints some figures with two decimals.
        if example.documented_definition == "ragas":
            for mode, figure in example.documented.items():
                assert row[COLUMNS[mode]] == pytest.approx(figure, abs=0.005)
    assert "印度人寿保险公司" in "".join(server.log.prompts)


@pytest.mark.parametrize("kind", ["LangChain", "LangChain wrapped"])
def test_ragas_own_counting_of_tokens_counts_the_judges_calls(kind: str) -> None:
    from ragas.cost import get_token_usage_for_openai

    pairs = list(random_pairs(4))
    with ScriptedServer(Mind(pairs)) as server:
        result = evaluated_by(
            kind,
            server,
            samples_of(pairs),
            both(),
            token_usage_parser=get_token_usage_for_openai,
        )
    counted, usage = result.total_tokens(), paid(cells(result))
    assert counted.input_tokens == usage.input_tokens > 0
    assert counted.output_tokens == usage.output_tokens > 0
    assert len(result.cost_cb.usage_data) == server.log.calls


@each_kind
def test_samples_and_chunks_are_asked_side_by_side(kind: str) -> None:
    """A blocking client would hold up everything else: one call at a time."""
    wrong = Shape(response_claims=(2, 4), reference_claims=(1, 2), chunks=(6, 6))
    pairs = list(random_pairs(3, shape=wrong))
    with ScriptedServer(Mind(pairs), together={"": 6}) as server:
        evaluated_by(kind, server, samples_of(pairs), both())
    assert server.log.concurrency >= 6


@each_kind
def test_a_model_given_to_the_metric_in_ascore(kind: str) -> None:
    sample, verdicts = random_pair(1)

    async def work(llm: Any) -> Any:
        if kind == "LangChain":
            assert not hasattr(llm, "run_config")
        metrics = [NoiseSensitivity(mode, llm) for mode in MODES]
        return await asyncio.gather(*(m.ascore(**ragas_row(sample)) for m in metrics))

    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        results = asked(kind, server, work)
    assert [r.value for r in results] == [score(verdicts).value(mode) for mode in MODES]
    assert server.log.calls <= len(sample.retrieved_contexts) + 3


@each_kind
def test_a_store_saves_every_call_the_second_time(kind: str, tmp_path: Path) -> None:
    pairs = list(random_pairs(5))
    # One server: what another endpoint has said is not taken for its answer.
    with (
        VerdictStore(tmp_path / "store.sqlite") as store,
        ScriptedServer(Mind(pairs), api_key=KEY) as server,
    ):
        figures, calls = [], []
        for _ in range(2):
            result = evaluated_by(kind, server, samples_of(pairs), both(store=store))
            figures.append([str(value) for value in cells(result)])
            calls.append((server.log.calls, paid(cells(result)).cached_calls))
    assert figures[0] == figures[1]
    assert calls[0][0] > 0
    assert calls[1] == (calls[0][0], calls[0][0])
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert KEY.encode() not in kept


@pytest.mark.parametrize(("bypass", "temperature"), [(False, 0.01), (True, 1.0)])
def test_a_wrapper_in_another_loop_is_asked_in_a_thread_at_ragas_temperature(
    bypass: bool, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragas.llms.base import LangchainLLMWrapper

    sample, verdicts = random_pair(1)
    seen: list[float | None] = []

    class Seen(ChatOpenAI):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(self.temperature)
            return super()._generate(*args, **kwargs)

    async def work() -> None:
        monkeypatch.setattr(_ask, "_first", lambda: None)  # some loop that is gone
        model = chat_openai(server, Seen, temperature=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            llm = LangchainLLMWrapper(model, bypass_temperature=bypass)
        found = await NoiseSensitivity(llm=llm, judge_options=ONE).ascore(**ragas_row(sample))
        assert found.value == score(verdicts).relevant
        model.root_client.close()

    with ScriptedServer(Mind([(sample, verdicts)])) as server:
        run(work())
    assert seen == [temperature] * server.log.calls


@pytest.mark.parametrize("kind", ["async client", "LangChain", "LangChain wrapped"])
def test_a_cancelled_sample_ends_its_requests_and_can_be_judged_again(kind: str) -> None:
    sample, verdicts = random_pair(1)

    async def work(llm: Any) -> Any:
        metric = NoiseSensitivity("relevant", llm)
        asking = asyncio.ensure_future(metric.ascore(**ragas_row(sample)))
        while server.log.calls < 2:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.script = None
        return await metric.ascore(**ragas_row(sample))

    with ScriptedServer(Mind([(sample, verdicts)]), script=always(HANG)) as server:
        found = asked(kind, server, work)
        hung = [r for r in server.log.requests if r.fault == "hang"]
    assert found.value == score(verdicts).relevant
    assert len(hung) == 2
    assert all(request.aborted for request in hung)


@each_kind
def test_an_error_holds_nothing_of_the_request(kind: str) -> None:
    sample, _ = random_pair(1)
    with ScriptedServer(Mind([]), api_key="another") as server:

        async def work(llm: Any) -> None:
            await NoiseSensitivity("relevant", llm).ascore(**ragas_row(sample))

        with pytest.raises(JudgeError, match="HTTP 401") as caught:
            asked(kind, server, work)
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in repr(error)
        assert sample.response not in repr(error)
        assert type(error).__module__.startswith("noisesense")
        error = error.__cause__ or error.__context__
