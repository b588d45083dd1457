"""Bad replies: asked again for what is missing, never more often than stated, never guessed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from noisesense import (
    JudgeError,
    Judgement,
    LLMJudge,
    ReplyError,
    Sample,
    Verdicts,
    score,
)
from support.mind import Items, Mind, data_of, items_of, reply_of
from support.scripted_llm import ScriptedLLM, is_decomposition, without
from support.tables import Shape, random_pair

SHAPE = Shape(response_claims=(5, 5), reference_claims=(2, 2), chunks=(3, 3))


def truth() -> tuple[Sample, Verdicts]:
    """Five response claims, some of them incorrect, all of which a chunk entails."""
    for seed in range(1000):
        pair = random_pair(seed, SHAPE)
        incorrect = [claim for claim in pair[1].response_claims if claim.correct is False]
        if len(incorrect) in (2, 3) and all(claim.entailed_by for claim in incorrect):
            return pair
    raise AssertionError("no such table")


SAMPLE, TRUTH = truth()
MIND = Mind([(SAMPLE, TRUTH)])
CALLS = 3 + len(SAMPLE.retrieved_contexts)

Spoil = Callable[[str, int], "str | Exception"]


def judged(spoil: Spoil, **options: int) -> tuple[ScriptedLLM, Judgement]:
    """``spoil(reply, attempt)`` changes each reply; attempts are counted by what is asked."""
    seen: dict[str, int] = {}

    def answer(prompt: str) -> str | Exception:
        data = data_of(prompt)
        about = f"claims of {data['text']}" if "text" in data else data.get("premise", "")
        seen[about] = seen.get(about, -1) + 1
        return spoil(MIND.answer(prompt), seen[about])

    llm = ScriptedLLM(answer)
    return llm, asyncio.run(LLMJudge(llm, **options).judge_detailed(SAMPLE))


def claims_or(change: Callable[[str], str | Exception]) -> Spoil:
    """Spoil verdicts and leave claims alone."""
    return lambda reply, _: reply if "claims" in json.loads(reply) else change(reply)


def mapped(change: Callable[[Items], Items]) -> Spoil:
    """Spoil the verdicts of the first reply only."""

    def spoil(reply: str, attempt: int) -> str:
        if "claims" in json.loads(reply) or attempt:
            return reply
        return reply_of(change(items_of(reply)))

    return spoil


def same_score(judgement: Judgement) -> bool:
    found = score(judgement.verdicts)
    expected = score(TRUTH)
    return (found.relevant, found.irrelevant, found.partition) == (
        expected.relevant, expected.irrelevant, expected.partition,
    )  # fmt: skip


HEALED: dict[str, tuple[Spoil, int]] = {
    # how a reply is bad, and how many of the 1 + 3 verification calls are repeated for it
    "reordered and twice": (mapped(lambda items: [*items[::-1], *items]), 0),
    "unknown ids besides": (mapped(lambda items: [{"id": 99, "entailed": True}, *items]), 0),
    "one left out": (mapped(lambda items: items[1:]), 4),
    "all left out": (mapped(lambda items: []), 4),
    "shifted ids": (mapped(lambda items: [{**i, "id": i["id"] + 50} for i in items]), 4),
    "numbered 0 to N": (mapped(lambda items: [{**items[0], "id": 0}, *items]), 4),
    "a contradiction": (mapped(lambda i: [*i, {**i[0], "entailed": not i[0]["entailed"]}]), 4),
    "null": (mapped(lambda items: [{**items[0], "entailed": None}, *items[1:]]), 4),
    "cut off": (lambda reply, attempt: reply[: len(reply) // 2] if not attempt else reply, CALLS),
    "twice empty": (lambda reply, attempt: reply if attempt > 1 else "", 2 * CALLS),
    "an unusable reply": (lambda r, attempt: r if attempt else ReplyError("refused"), CALLS),
}


@pytest.mark.parametrize(("spoil", "reasks"), HEALED.values(), ids=HEALED.keys())
def test_a_spoiled_reply_changes_no_score_and_only_if_need_be_is_repeated(
    spoil: Spoil, reasks: int
) -> None:
    llm, judgement = judged(spoil)
    assert same_score(judgement)
    assert judgement.unanswered == 0
    assert len(llm.prompts) == judgement.usage.calls == CALLS + reasks
    assert judgement.usage.reasks == reasks


def test_only_what_is_missing_is_asked_again() -> None:
    llm, _ = judged(mapped(lambda items: [item for item in items if item["id"] not in (2, 4)]))
    about_reference = [data for data in llm.data if data.get("premise") == SAMPLE.reference]
    texts = [claim.text for claim in TRUTH.response_claims]
    assert [data["claims"] for data in about_reference] == [
        {str(i): text for i, text in enumerate(texts, start=1)},
        {"1": texts[1], "2": texts[3]},
    ]


@pytest.mark.parametrize("max_reasks", [0, 1, 2, 3])
def test_what_stays_missing_is_undetermined_and_counted(max_reasks: int) -> None:
    """The first response claim is never judged: it may be noise, so the score has bounds."""
    llm, judgement = judged(claims_or(lambda reply: without(reply, [1])), max_reasks=max_reasks)
    found = score(judgement.verdicts)
    assert judgement.verdicts.response_claims[0].correct is None
    assert judgement.unanswered == CALLS - 2  # by the reference and by every chunk
    assert found.partition.undetermined == 1
    # Each of the calls that ask about it is repeated as often as stated, and no more.
    assert len(llm.prompts) == CALLS + max_reasks * (CALLS - 2)
    for mode in ("relevant", "irrelevant"):
        low, high = found.bounds(mode) or (1, 0)
        assert low <= (score(TRUTH).value(mode) or 0) <= high


def test_a_model_that_cannot_be_asked_fails_the_sample_at_once() -> None:
    llm = ScriptedLLM(
        lambda prompt: MIND.answer(prompt) if is_decomposition(prompt) else JudgeError("no route")
    )
    with pytest.raises(JudgeError, match="no route"):
        asyncio.run(LLMJudge(llm).judge_detailed(SAMPLE))
    assert len(llm.prompts) == 3  # not repeated: clients have their own retries


@pytest.mark.parametrize("max_reasks", [0, 1, 2])
def test_an_empty_list_of_claims_is_believed_when_it_is_said_twice(max_reasks: int) -> None:
    """However few repeats are allowed: the first is never believed."""

    def empty(times: int) -> Spoil:
        return lambda reply, attempt: (
            '{"claims": []}' if "claims" in json.loads(reply) and attempt < times else reply
        )

    _, judgement = judged(empty(1), max_reasks=max_reasks)
    assert same_score(judgement)
    assert judgement.usage.reasks == 2  # of the response and of the reference
    llm, judgement = judged(empty(2), max_reasks=max_reasks)
    assert score(judgement.verdicts).status("relevant") == "undefined"
    assert len(llm.prompts) == len(set(llm.prompts)) == 4


def test_a_call_that_takes_too_long_fails_the_sample_and_is_counted() -> None:
    class Endless(ScriptedLLM):
        async def wait(self) -> None:
            await asyncio.Event().wait()

    llm = Endless(MIND.answer)
    judge = LLMJudge(llm, timeout=0.01)
    with pytest.raises(JudgeError, match=r"scripted gave no reply within 0\.01 seconds"):
        asyncio.run(judge.judge(SAMPLE))
    assert len(llm.prompts) == 2
    assert judge.usage.calls >= 1
