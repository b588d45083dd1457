"""How well a model judges by short references: `judge_quality.py --measure references`.

`data/references.jsonl` holds 60 questions whose reference has at most five words (yes or no,
numbers, names, dates, units, Chinese), each with two right answers and one or two wrong ones.
They are judged by `LLMJudge` as whole samples: an answer is called wrong if any of its claims is
judged incorrect, right if all are judged correct, and is open otherwise.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from noisesense import JudgeError, LLMJudge, Sample, Verdicts
from noisesense_adapters.openai import OpenAILLM

DATA = Path(__file__).parent / "data" / "references.jsonl"
TRUTHS = ("right", "wrong")
HEAD = ("check", "half", "right, called wrong", "wrong, called right", "open")


@dataclass(frozen=True)
class Question:
    """A question with its short reference and answers of known truth."""

    kind: str
    half: str
    question: str
    reference: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]

    def answers(self, truths: Collection[str]) -> Iterator[tuple[str, bool]]:
        """Those that are so, each with whether it is right."""
        for truth in TRUTHS:
            if truth in truths:
                for answer in getattr(self, truth):
                    yield answer, truth == "right"


def questions() -> list[Question]:
    found: list[Question] = []
    for line in DATA.read_text("utf-8").splitlines():
        row = json.loads(line)
        row["right"], row["wrong"] = tuple(row["right"]), tuple(row["wrong"])
        found.append(Question(**row))
    return found


def called(verdicts: Verdicts) -> bool | None:
    """Whether the judge calls the answer right; None if it does not say, or finds no claims."""
    correct = [claim.correct for claim in verdicts.response_claims]
    if False in correct:
        return False
    if not correct or None in correct:
        return None
    return True


@dataclass
class Judged:
    """An answer with what the judge made of it."""

    question: Question
    answer: str
    is_right: bool
    verdicts: Verdicts | None

    @property
    def called(self) -> bool | None:
        return called(self.verdicts) if self.verdicts else None

    def __str__(self) -> str:
        truth = "right" if self.is_right else "wrong"
        said = {True: "right", False: "wrong", None: "open"}[self.called]
        claims = self.verdicts.response_claims if self.verdicts else ()
        listed = json.dumps([[each.text, each.correct] for each in claims], ensure_ascii=False)
        asked = f"[{self.question.kind}] {self.question.question} {self.question.reference!r}"
        return f"{asked}\n  {self.answer!r} is {truth}, called {said}: {listed}"


def share(judged: Sequence[Judged], called_so: bool | None) -> str:
    count = sum(each.called is called_so for each in judged)
    return f"{count} of {len(judged)}, {count / max(1, len(judged)):.0%}"


@dataclass
class Judgements:
    """Those of one half in one form."""

    check: str
    half: str
    judged: list[Judged]

    def row(self) -> tuple[str, ...]:
        right = [each for each in self.judged if each.is_right]
        wrong = [each for each in self.judged if not each.is_right]
        return (
            self.check,
            self.half,
            share(right, called_so=False),
            share(wrong, called_so=True),
            share(self.judged, called_so=None),
        )

    def failures(self) -> list[str]:
        return [str(each) for each in self.judged if each.called is not each.is_right]


def judge(url: str, check: str) -> LLMJudge:
    params = {"temperature": 0, "seed": 1}
    llm = OpenAILLM("model", base_url=url, api_key="none", timeout=900, params=params)
    return LLMJudge(llm, check=check, max_concurrency=1)


def measure(
    check: str, url: str, half: str, given: Sequence[Question], truths: Collection[str]
) -> Judgements:
    """The answers of a half that are so (right, wrong), judged."""
    judging = judge(url, check)

    async def verdicts(question: Question, answer: str) -> Verdicts | None:
        # Without chunks the correctness alone is asked about.
        sample = Sample(
            user_input=question.question,
            response=answer,
            reference=question.reference,
            retrieved_contexts=[],
        )
        try:
            return await judging.judge(sample)
        except JudgeError:
            return None

    async def all_of() -> list[Judged]:
        judged: list[Judged] = []
        for question in given:
            for answer, is_right in question.answers(truths):
                found = await verdicts(question, answer)
                judged.append(Judged(question, answer, is_right, found))
        return judged

    return Judgements(check, half, asyncio.run(all_of()))
