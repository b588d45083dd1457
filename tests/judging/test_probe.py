"""``check="auto"``: statements of known answer tell how a model is asked, or that it cannot."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from noisesense import JudgeError, LLMJudge, Usage
from noisesense.judging.probe import _TEXTS
from noisesense.judging.protocol import Choice

KNOWN = {claim: truth for _, statements in _TEXTS for claim, truth in statements.items()}
TEA = "The shop sells tea."
Says = Callable[[str], bool]


def truth(statement: str) -> bool:
    return KNOWN.get(statement, statement == TEA)


class Model:
    """Answers lists and single statements, each by a rule of its own; forms alone, or words."""

    name = identity = "probed"

    def __init__(self, in_list: Says, alone: Says) -> None:
        self.in_list, self.alone = in_list, alone
        self.lists = self.singles = 0

    async def generate(self, prompt: str, schema: Any) -> tuple[Any, Usage]:
        self.lists += 1
        asked = re.findall(r'^\d+\. (".*")$', prompt, re.MULTILINE)
        words = ["yes" if self.in_list(json.loads(each)) else "no" for each in asked]
        reply = {str(number): word for number, word in enumerate(words, 1)}
        return schema.model_validate(reply), Usage(calls=1)

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        self.singles += 1
        (statement,) = re.findall(r'^Statement: (".*")$', prompt, re.MULTILINE)
        return Choice(words[not self.alone(json.loads(statement))]), Usage(calls=1)


def judged(model: Model, **options: Any) -> tuple[LLMJudge, Any]:
    judge = LLMJudge(model, check="auto", **options)
    return judge, asyncio.run(judge.entailment(["The shop."], [TEA, "It sells cars."]))


def test_no_constant_answer_passes() -> None:
    assert len(KNOWN) == 18
    assert sum(KNOWN.values()) == 7


def test_one_slip_in_a_list_and_three_alone_are_forgiven() -> None:
    false = [claim for claim, so in KNOWN.items() if not so]
    model = Model(lambda s: truth(s) or s == false[0], truth)
    judged(model)
    assert model.singles == 0
    model = Model(lambda s: truth(s) or s in false[:2], lambda s: truth(s) or s in false[:3])
    judged(model)
    assert model.singles == 18 + 2
    with pytest.raises(JudgeError):
        judged(Model(lambda _: True, lambda s: truth(s) or s in false[:4]))
