"""How claims are checked: in a list, or one by one."""

from __future__ import annotations

import asyncio

from noisesense import LLMJudge, score
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

SAMPLE, TRUTH = next(iter(random_pairs(1, shape=Shape(response_claims=(2, 4), chunks=(2, 3)))))


def right(found: LLMJudge) -> None:
    judged = score(asyncio.run(found.judge(SAMPLE)))
    true = score(TRUTH)
    assert judged.relevant == true.relevant
    assert judged.irrelevant == true.irrelevant


def test_each_asks_about_one_claim() -> None:
    llm = ScriptedLLM(Mind([(SAMPLE, TRUTH)]).answer)
    right(LLMJudge(llm, check="each"))
    checks = [data for data in llm.data if "premise" in data]
    assert checks
    assert all(data["one"] and len(data["claims"]) == 1 for data in checks)
