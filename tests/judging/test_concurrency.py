"""Several tasks, threads and event loops on one judge; failure and cancellation clean up."""

from __future__ import annotations

import asyncio
import gc

import pytest

from noisesense import JudgeError, LLMJudge, Verdicts, score
from noisesense.judging.calls import gather_all
from support.mind import Mind
from support.scripted_llm import GatedLLM, ScriptedLLM, is_decomposition
from support.tables import Shape, random_pairs

TRUTHS = list(random_pairs(24, shape=Shape(response_claims=(2, 6), chunks=(3, 8))))


def test_never_more_calls_at_once_than_stated_over_all_samples() -> None:
    llm = GatedLLM(Mind(TRUTHS).answer)
    judge = LLMJudge(llm, max_concurrency=5)

    async def run() -> list[Verdicts]:
        everything = gather_all([judge.judge(sample) for sample, _ in TRUTHS])
        work = asyncio.ensure_future(everything)
        await llm.drive(work)
        return work.result()

    found = asyncio.run(run())
    assert llm.most_running == 5
    assert [score(each).relevant for each in found] == [score(v).relevant for _, v in TRUTHS]


async def others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


def test_a_failed_call_cancels_the_others_of_its_sample() -> None:
    """The first chunk call fails while the others are still waiting."""
    sample, verdicts = max(TRUTHS, key=lambda pair: len(pair[0].retrieved_contexts))
    mind = Mind([(sample, verdicts)])
    failing = sample.retrieved_contexts[1].text

    class Slow(ScriptedLLM):
        cancelled = 0

        async def generate(self, prompt, schema):  # type: ignore[no-untyped-def]
            if is_decomposition(prompt) or sample.reference in prompt or failing in prompt:
                return await super().generate(prompt, schema)
            try:
                await asyncio.sleep(3600)
            finally:
                self.cancelled += 1

    llm = Slow(lambda prompt: JudgeError("gone") if failing in prompt else mind.answer(prompt))

    async def run() -> None:
        with pytest.raises(JudgeError, match="gone"):
            await LLMJudge(llm, plan="full").judge(sample)
        assert not await others()

    asyncio.run(run())
    assert llm.cancelled == len(sample.retrieved_contexts) - 1


def test_a_call_that_its_client_cancels_fails_and_the_run_goes_on() -> None:
    """As aiohttp does where its session is closed. A run would end as if it were interrupted."""
    (sample, _), (other, verdicts) = TRUTHS[:2]
    mind = Mind(TRUTHS[:2])

    class Cancelling(ScriptedLLM):
        async def generate(self, prompt, schema):  # type: ignore[no-untyped-def]
            if sample.response in prompt:
                raise asyncio.CancelledError
            return await super().generate(prompt, schema)

    judge = LLMJudge(Cancelling(mind.answer))

    async def run() -> list[Verdicts | BaseException]:
        both = (judge.judge(sample), judge.judge(other))
        return await asyncio.gather(*both, return_exceptions=True)

    failure, found = asyncio.run(run())
    assert isinstance(failure, JudgeError)
    assert "the model's own client cancelled the call" in str(failure)
    assert isinstance(found, Verdicts)
    assert score(found).relevant == score(verdicts).relevant


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_cancelled_at_any_step_nothing_goes_on(rounds: int) -> None:
    sample, verdicts = next(p for p in TRUTHS if not all(c.correct for c in p[1].response_claims))
    llm = GatedLLM(Mind([(sample, verdicts)]).answer)
    judge = LLMJudge(llm)

    async def run() -> None:
        work = asyncio.ensure_future(judge.judge(sample))
        await llm.drive(work, rounds)
        assert llm.running > 0
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert llm.running == 0
        assert not await others()
        # The judge and its limit are as good as new: no slot was lost.
        again = asyncio.ensure_future(judge.judge(sample))
        await llm.drive(again)
        assert score(again.result()).relevant == score(verdicts).relevant

    asyncio.run(run())
    gc.collect()  # an exception that nobody looked at would be reported here, and fail the test
