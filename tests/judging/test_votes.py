"""Votes: each cell is what more than half of them say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from noisesense import LLMJudge, Sample, Verdicts
from support.mind import data_of, reply_of
from support.scripted_llm import ScriptedLLM

T = True
F = False
N = None


def judged(*by_vote: Sequence[bool | None]) -> tuple[ScriptedLLM, Verdicts, int]:
    """Three claims; vote *v* says ``by_vote[v]`` of them, by the reference and by the chunk."""
    count: dict[str, int] = {}

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps(
                {"claims": ["one", "two", "three"] if "two" in data["text"] else ["one"]}
            )
        if "premise" not in data:
            return reply_of([{"id": int(i), "entailed": True} for i in data["claims"]])
        vote = count[data["premise"]] = count.get(data["premise"], -1) + 1
        cells = dict(enumerate(by_vote[vote], start=1))
        said = [{"id": i, "entailed": cells[i]} for i in map(int, data["claims"])]
        return reply_of([item for item in said if item["entailed"] is not None])

    llm = ScriptedLLM(answer)
    sample = Sample(response="One, two, three.", reference="one", retrieved_contexts=["c"])
    judge = LLMJudge(llm, plan="full", votes=len(by_vote), max_reasks=0)
    found = asyncio.run(judge.judge_detailed(sample))
    return llm, found.verdicts, found.unanswered


def test_each_cell_has_its_own_majority() -> None:
    llm, verdicts, unanswered = judged([T, T, N], [F, F, N], [T, F, T])
    claims = verdicts.response_claims
    assert [claim.correct for claim in claims] == [True, False, None]
    assert [claim.entailed_by for claim in claims] == [(0,), (), ()]
    assert [claim.undetermined for claim in claims] == [(), (), (0,)]
    assert unanswered == 2
    # Lists are not voted on; the reference, the chunk, and whether the second claim, which
    # neither supports, is on the question are.
    assert len(llm.prompts) == 2 + 3 + 3 + 3


def test_a_tie_is_undetermined() -> None:
    _, verdicts, unanswered = judged([T, T, F], [T, F, F])
    assert [claim.correct for claim in verdicts.response_claims] == [True, None, False]
    assert unanswered == 2
