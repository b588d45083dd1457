"""The kit's judges, its model, and the samples they know."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from noisesense.errors import JudgeError, ReplyError
from noisesense.judging.protocol import Judgement, StructuredLLM, Usage
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

S = TypeVar("S", bound=BaseModel)
Pair = tuple[Sample, Verdicts]

KEY = "sk-canary-5f1d0c"

TEXTS = {
    "user_input": "Question {}?",
    "response": "Response {}.",
    "reference": "Reference {}.",
}
"""The texts beside what was retrieved, in `AdapterTests.retrieved`; they take the row's number."""


class TableJudge:
    """A judge that knows the verdicts, counts how often it is asked, and can fail or be slow.

    Args:
        pairs: samples with their verdicts.
        usage: what each judging costs.
        failing: samples on which it fails.
        slow: whether later samples are answered first.
    """

    name = "table"

    def __init__(
        self,
        pairs: Sequence[Pair],
        *,
        usage: Usage = Usage(),  # noqa: B008 - it is frozen
        failing: Sequence[Sample] = (),
        slow: bool = False,
    ) -> None:
        self._verdicts = {sample.key: verdicts for sample, verdicts in pairs}
        self._waits = {sample.key: len(pairs) - n for n, (sample, _) in enumerate(pairs)}
        self._failing = {sample.key for sample in failing}
        self._usage, self._slow = usage, slow
        self.asked: list[str] = []

    async def judge(self, sample: Sample) -> Verdicts:
        """The verdicts on the sample."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """The verdicts, and what they cost. Raises `JudgeError` where it is told to fail."""
        self.asked.append(sample.key)
        if self._slow:
            for _ in range(self._waits[sample.key]):
                await asyncio.sleep(0.001)
        if sample.key in self._failing:
            raise JudgeError("the judge's endpoint refused this sample")
        verdicts = self._verdicts[sample.key].beside(sample)
        return Judgement(verdicts, self._usage)


class MeetingJudge(TableJudge):
    """Waits at its first question until the other run has come as far."""

    def __init__(self, pairs: Sequence[Pair], both: threading.Barrier) -> None:
        super().__init__(pairs)
        self._both = both

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if not self.asked:
            with contextlib.suppress(threading.BrokenBarrierError):
                await asyncio.to_thread(self._both.wait, 5)
        return await super().judge_detailed(sample)


class TextJudge(TableJudge):
    """Fails on a text that nobody gave to the host."""

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if sample.key not in self._verdicts:
            raise JudgeError("a text did not arrive as it was")
        return await super().judge_detailed(sample)


class ReadingJudge:
    """Keeps the chunks it is given, by the response; one claim of each is noise."""

    name = "reading"

    def __init__(self) -> None:
        self.read: dict[str, list[str]] = {}

    async def judge(self, sample: Sample) -> Verdicts:
        chunks = [chunk.text for chunk in sample.retrieved_contexts]
        self.read[sample.response] = chunks
        return Verdicts.from_matrices([False], [[True for _ in chunks]]).beside(sample)


def random_pair(seed: int, *, open_share: float = 0.0) -> Pair:
    """A sample with a random verdict table; its texts occur in no other seed's."""
    rng = random.Random(seed)
    claims, references, chunks = rng.randint(1, 6), rng.randint(1, 3), rng.randint(1, 5)
    odds = [rng.random() for _ in range(3)]

    def cell(odds: float) -> bool | None:
        value = rng.random() < odds
        return None if rng.random() < open_share else value

    verdicts = Verdicts.from_matrices(
        [cell(odds[0]) for _ in range(claims)],
        [[cell(odds[1]) for _ in range(chunks)] for _ in range(claims)],
        [[cell(odds[2]) for _ in range(chunks)] for _ in range(references)],
    )
    return with_texts(seed, verdicts, chunks)


def with_texts(seed: int, verdicts: Verdicts, chunks: int) -> Pair:
    sides: dict[str, list[Any]] = {}
    for side in ("response_claims", "reference_claims"):
        sides[side] = [
            claim.model_copy(update={"text": f"Sample {seed} states {side} {number}."})
            for number, claim in enumerate(getattr(verdicts, side))
        ]
    sample = Sample(
        user_input=f"Question {seed}?",
        response=f"Response {seed}.",
        reference=f"Reference {seed}.",
        retrieved_contexts=[f"Chunk {number} of sample {seed}." for number in range(chunks)],
    )
    return sample, verdicts.model_copy(update=sides).beside(sample)


def noisy_pair() -> Pair:
    """Relevant 1/4, irrelevant 2/4: other scores than 0 in both modes."""
    table = [[True, False], [False, True], [False, True], [True, False]]
    verdicts = Verdicts.from_matrices([False, False, False, True], table, [[True, False]])
    return with_texts(998, verdicts, 2)


def all_from(sample: Sample, correct: bool) -> Pair:
    cells = [True for _ in sample.retrieved_contexts]
    return sample, Verdicts.from_matrices([correct], [cells], [cells]).beside(sample)


def without_claims(pair: Pair) -> Pair:
    sample, verdicts = pair
    return sample, verdicts.model_copy(update={"response_claims": ()}).beside(sample)


def undetermined() -> Pair:
    """One claim of which nobody knows whether it is correct; a relevant chunk, and another."""
    verdicts = Verdicts.from_matrices(
        [None, None], [[True, False], [False, True]], [[True, False]]
    )
    return with_texts(999, verdicts, 2)


class ScriptedLLM:
    """A model that answers from the tables, holds a key, and quotes it where it fails."""

    def __init__(self, pairs: Sequence[Pair], *, failing: str) -> None:
        self.name, self.api_key, self._failing = "scripted", KEY, failing
        self._claims: dict[str, list[str]] = {}
        self._entailed: set[tuple[str, str]] = set()
        for sample, verdicts in pairs:
            texts = [chunk.text for chunk in sample.retrieved_contexts]
            self._claims[sample.response] = [c.text for c in verdicts.response_claims]
            self._claims[sample.reference] = [c.text for c in verdicts.reference_claims]
            self._entailed |= {
                (sample.reference, claim.text)
                for claim in verdicts.response_claims
                if claim.correct
            }
            for side in (verdicts.response_claims, verdicts.reference_claims):
                self._entailed |= {(texts[j], c.text) for c in side for j in c.entailed_by}

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        said: dict[str, str] = dict(re.findall(r'(?m)^(Text|\d+)[:.] (".*")$', prompt))
        text, *statements = (json.loads(quoted) for quoted in said.values())
        if text == self._failing:
            raise RuntimeError(f"Authorization: Bearer {KEY}; the prompt was {prompt}")
        reply: dict[str, Any] = {"claims": self._claims.get(text)}
        if statements:
            words = ("yes" if (text, each) in self._entailed else "no" for each in statements)
            reply = {str(number): word for number, word in enumerate(words, start=1)}
        return schema.model_validate(reply), Usage(calls=1)


def _always(text: str) -> Callable[[str], str]:
    return lambda _: text


class BridgeTests:
    """Tests of a `StructuredLLM` over a host's model object; `bridge` makes one."""

    def bridge(self, reply: Callable[[str], str]) -> StructuredLLM:
        """The bridge over a model of the host's that replies ``reply(prompt)`` as its text."""
        raise NotImplementedError

    def _generate(self, reply: Callable[[str], str]) -> tuple[_Reply, Usage]:
        return asyncio.run(self.bridge(reply).generate(_QUESTION, _Reply))

    def test_a_reply_is_read(self) -> None:
        """The reply comes as the object asked for, the prompt goes whole, the call is counted."""
        prompts: list[str] = []

        def reply(prompt: str) -> str:
            prompts.append(prompt)
            return '{"words": ["one", "two"]}'

        read, usage = self._generate(reply)
        assert read == _Reply(words=["one", "two"]), f"read as {read!r}"
        assert usage.calls == len(prompts) == 1, f"{usage.calls} of {len(prompts)} calls counted"
        assert _QUESTION in prompts[0], "the prompt did not arrive whole"

    def test_what_is_no_answer_is_an_error(self) -> None:
        """Prose, a reply cut off, another form, two answers: a `ReplyError`, never a value."""
        for text in (
            "",
            "I cannot say.",
            '{"words": ["one", "tw',
            '{"other": 1}',
            '{"words": ["one"]} or {"words": ["two"]}',
        ):
            try:
                read, _ = self._generate(_always(text))
            except ReplyError:
                continue
            raise AssertionError(f"{text!r} is read as {read!r}")

    def test_a_failing_model_is_a_judge_error_without_its_key(self) -> None:
        """What the client raises becomes a `JudgeError`; neither key nor prompt is in it."""

        def fail(prompt: str) -> str:
            raise RuntimeError(f"Authorization: Bearer {KEY}; {prompt}")

        message = ""
        try:
            self._generate(fail)
        except JudgeError as error:
            message = str(error)
        assert message, "a model that fails gives a reply"
        assert KEY not in message, "the key is in the error"
        assert _QUESTION not in message, "the prompt is in the error"


class _Reply(BaseModel):
    words: list[str]


_QUESTION = 'Which words?\n\tReply with a list: "one", \u00e9.'
