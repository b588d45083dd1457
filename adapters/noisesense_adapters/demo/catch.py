"""A small RAG system with a stale document: its noise counted, its document named, and mended.

Nothing is asked of a model. The system answers with the sentence that has most words of the
question, and the judge compares sentences: a text entails those that it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from noisesense import (
    Chunk,
    Comparison,
    Offenders,
    Result,
    Sample,
    Summary,
    Verdicts,
    compare,
    offenders,
    score,
    summarize,
)
from noisesense.ablation import Ablation
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Entailment, Usage
from noisesense.judging.sentences import sentences
from noisesense_adapters.datasets import ablate

_RETRIEVED = 3
_BETWEEN = ", and "


class Topic(NamedTuple):
    """What the library's pages say of one thing.

    Attributes:
        document: that says it.
        question: about it.
        now: the sentence that is true.
        once: what the stale document says; None if it does not speak of it.
    """

    document: str
    question: str
    now: str
    once: str | None


class Library:
    """The documents, the questions, and the system that answers them."""

    def __init__(self) -> None:
        data = json.loads(Path(__file__).with_name("library.json").read_text("utf-8"))
        self.stale: str = data["stale"]
        self.topics = [Topic(**each) for each in data["topics"]]

    def documents(self, *, stale: bool) -> list[Chunk]:
        """The pages; with the stale one, which speaks of some of the same things."""
        said: dict[str, list[str]] = {}
        for topic in self.topics:
            said.setdefault(topic.document, []).append(topic.now)
            if stale and topic.once is not None:
                said.setdefault(self.stale, []).append(topic.once)
        return [Chunk(id=name, text=" ".join(lines)) for name, lines in said.items()]

    def samples(self, documents: Sequence[Chunk]) -> list[Sample]:
        """Each question asks about two things, and is answered from the documents."""
        samples: list[Sample] = []
        for step in (1, 3):
            for number, first in enumerate(self.topics):
                second = self.topics[(number + step) % len(self.topics)]
                question = f"{first.question.capitalize()}{_BETWEEN}{second.question}?"
                contexts = retrieve(question, documents)
                # The reference says it in another order: a response with its words is an echo.
                sample = Sample(
                    user_input=question,
                    response=answer(question, [chunk.text for chunk in contexts]),
                    reference=f"{second.now} {first.now}",
                    retrieved_contexts=contexts,
                )
                samples.append(sample)
        return samples


def retrieve(question: str, documents: Sequence[Chunk]) -> list[Chunk]:
    """The three documents that have most words of the question."""
    return sorted(documents, key=lambda chunk: -_shared(question, chunk.text))[:_RETRIEVED]


def answer(question: str, contexts: list[str]) -> str:
    """For each part of the question the sentence that has most of its words, the first of them."""
    lines = [line for context in contexts for line in sentences(context)]
    said = [max(lines, key=lambda line: _shared(part, line)) for part in question.split(_BETWEEN)]
    return " ".join(said)


def _shared(question: str, text: str) -> int:
    return len(_words(question) & _words(text))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class SentenceJudge:
    """Takes each sentence for a claim; a text entails those that it holds."""

    name = "a judge that compares sentences"

    async def judge(self, sample: Sample) -> Verdicts:
        """The verdicts on one sample."""
        response = sentences(sample.response)
        reference = sentences(sample.reference)
        texts = [chunk.text for chunk in sample.retrieved_contexts]
        return Verdicts.from_matrices(
            [claim in reference for claim in response],
            _held(texts, response),
            _held(texts, reference),
            response_claims=response,
            reference_claims=reference,
        ).with_sample(sample)

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        """Which texts hold which claims."""
        return Entailment(_held(texts, claims), Usage(), 0)


def _held(texts: Sequence[str], claims: Sequence[str]) -> list[list[bool]]:
    return [[claim in text for text in texts] for claim in claims]


@dataclass(frozen=True)
class Catch:
    """What was found.

    Attributes:
        stale: the results with the stale document.
        mended: the results without it.
        summary: of the first.
        mended_summary: of the second.
        offenders: the documents that mislead, in the first.
        ablation: whether they are the cause.
        comparison: of the first with the second.
    """

    stale: list[Result]
    mended: list[Result]
    summary: Summary
    mended_summary: Summary
    offenders: Offenders
    ablation: Ablation
    comparison: Comparison


def run_catch() -> Catch:
    """Answer, judge, ask again without the documents that mislead, and mend."""
    return run_blocking(_run())


async def _run() -> Catch:
    library = Library()
    judge = SentenceJudge()
    stale = await _results(library.samples(library.documents(stale=True)), judge)
    mended = await _results(library.samples(library.documents(stale=False)), judge)
    found = await ablate(stale, answer, judge, variants=("without", "without-other"))
    return Catch(
        stale,
        mended,
        summarize(stale),
        summarize(mended),
        offenders(stale),
        found,
        compare(stale, mended),
    )


async def _results(samples: Sequence[Sample], judge: SentenceJudge) -> list[Result]:
    results: list[Result] = []
    for number, sample in enumerate(samples, start=1):
        verdicts = await judge.judge(sample)
        name = f"question {number}"
        results.append(Result(name, score(verdicts), sample=sample, judge=judge.name))
    return results
