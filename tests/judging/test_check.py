"""How claims are checked: in a list, or one by one."""

from __future__ import annotations

import asyncio

from noisesense import LLMJudge, score
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pair

SAMPLE, TRUTH = random_pair(101, Shape(response_claims=(2, 4), chunks=(2, 3)))


def test_check_each_asks_a_text_about_one_claim_a_call() -> None:
    llm = ScriptedLLM(Mind([(SAMPLE, TRUTH)]).answer)
    judged = score(asyncio.run(LLMJudge(llm, check="each").judge(SAMPLE)))
    true = score(TRUTH)
    assert (judged.relevant, judged.irrelevant) == (true.relevant, true.irrelevant)
    checks = [data for data in llm.data if "premise" in data]
    assert checks
    assert all(data["one"] and len(data["claims"]) == 1 for data in checks)
