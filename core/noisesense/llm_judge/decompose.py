"""A text into its claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from noisesense.errors import ReplyError
from noisesense.llm_judge.budget import Budget, split_text
from noisesense.llm_judge.calls import Caller, Case, Question
from noisesense.llm_judge.concurrency import gather_all
from noisesense.llm_judge.prompts import Prompts
from noisesense.llm_judge.replies import Claims

__all__ = ["Decomposer"]


@dataclass(frozen=True)
class Decomposer:
    """Asks for the claims of a text, and again if a reply is unusable."""

    caller: Caller
    prompts: Prompts
    budget: Budget
    max_reasks: int

    async def claims(self, case: Case, which: str, text: str, question: str) -> list[str]:
        """The claims in the text's order; none if the model says there are none.

        Raises:
            ReplyError: every reply was unusable. A score is a fraction of all claims: with some
                of them missing there is nothing to go on with.
            JudgeError: the model could not be asked.
        """
        parts = split_text(text, self.budget.text_chars)
        found = await gather_all(self._part(case, which, part, question) for part in parts)
        return [claim for claims in found for claim in claims]

    async def _part(self, case: Case, which: str, text: str, about: str) -> list[str]:
        async def question(attempt: int) -> Question[Claims]:
            prompt = self.prompts.decomposition(text, about, attempt=attempt)
            step = f"claims of the {which}"
            return Question(step, prompt, Claims, partial(_usable, text), attempt=attempt)

        most = 1 + self.max_reasks
        for attempt in range(most):
            answer = await self.caller.call(case, range(attempt, most), question)
            if answer.reply is not None:
                return [claim for claim in answer.reply.claims if claim.strip()]
        times = "once" if most == 1 else f"{most} times"
        raise ReplyError(
            f"the judge's model was asked {times} for the claims of the {which}"
            f" and gave no usable list{case.told}",
            usage=case.usage,
        )


def _usable(text: str, reply: Claims) -> bool:
    """Neither all blank nor run away: what a text says is bounded by its length."""
    claims = reply.claims
    if claims and not any(claim.strip() for claim in claims):
        return False
    return len(claims) <= 50 + len(text) and sum(map(len, claims)) <= 5_000 + 20 * len(text)
