"""How claims are checked: in a list, or one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from noisesense import LLMJudge, Usage, score
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

SAMPLE, TRUTH = next(iter(random_pairs(1, shape=Shape(response_claims=(2, 4), chunks=(2, 3)))))


class WordModel(ScriptedLLM):
    """It chooses words."""

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[str, Usage]:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        word = self.answer(prompt)
        assert isinstance(word, str)
        return word, Usage(calls=1)


def right(found: LLMJudge) -> None:
    judged = score(asyncio.run(found.judge(SAMPLE)))
    true = score(TRUTH)
    assert judged.relevant == true.relevant
    assert judged.irrelevant == true.irrelevant


@pytest.mark.parametrize("words", [True, False])
def test_each_asks_about_one_claim_for_a_word(words: bool) -> None:
    llm = (WordModel if words else ScriptedLLM)(Mind([(SAMPLE, TRUTH)]).answer)
    right(LLMJudge(llm, check="each"))
    checks = [data for data in llm.data if "premise" in data]
    assert checks
    assert {data["one"] for data in checks} == {"word" if words else "form"}
    assert all(len(data["claims"]) == 1 for data in checks)
