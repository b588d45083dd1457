"""What judging cost: for each sample, and over all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from noisesense import LLMJudge, ReplyError, Usage, VerdictStore
from support.mind import Mind, data_of
from support.scripted_llm import ScriptedLLM, scripted
from support.tables import Shape, random_pairs

TRUTHS = list(random_pairs(6, shape=Shape(response_claims=(2, 4), chunks=(2, 4))))


def test_calls_and_tokens_of_a_sample_and_of_the_run() -> None:
    llm = scripted(*TRUTHS)
    judge = LLMJudge(llm)
    total = Usage()
    for sample, _ in TRUTHS:
        before = len(llm.prompts)
        usage = asyncio.run(judge.judge_detailed(sample)).usage
        own = llm.prompts[before:]
        assert usage.calls == len(own)
        assert usage.cached_calls == 0
        assert usage.reasks == 0
        assert usage.input_tokens == sum(map(len, own))
        assert usage.output_tokens > 0
        total += usage
    assert judge.usage == total


def test_unusable_replies_and_failed_samples_cost_all_the_same() -> None:
    judge = LLMJudge(ScriptedLLM(lambda prompt: "garbage"), max_reasks=1)
    with pytest.raises(ReplyError) as caught:
        asyncio.run(judge.judge(TRUTHS[0][0]))
    assert judge.usage.calls >= 2
    assert judge.usage.output_tokens == judge.usage.calls * len("garbage")
    assert caught.value.usage == judge.usage


@pytest.mark.parametrize("price", [float("nan"), float("inf")])
def test_a_cost_that_is_not_finite_is_left_out_and_a_call_without_count_is_one(
    tmp_path: Any, price: float
) -> None:
    """In a sum it would hide what the two others, of 0.5 each, have cost."""
    mind = Mind(TRUTHS)

    class Priced:
        name = "priced"

        async def generate(self, prompt: str, schema: Any) -> Any:
            cost = 0.5 if "text" in data_of(prompt) else price
            return schema.model_validate_json(mind.answer(prompt)), Usage(cost=cost)

    with VerdictStore(tmp_path / "store.db") as store:
        judge = LLMJudge(Priced(), store=store)
        usage = asyncio.run(judge.judge_detailed(TRUTHS[0][0])).usage
        assert judge.usage == usage
        assert usage.cost == 1.0
        assert usage.calls >= 3
