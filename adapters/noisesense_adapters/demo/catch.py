"""A small RAG system with a stale document, which is found by its noise and removed.

No model is asked. The system answers with the sentence that has most words of the question, and
the judge compares sentences: a text entails the sentences that it contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from noisesense import (
    Chunk,
    Result,
    Sample,
    Verdicts,
    score,
)
from noisesense.ablation import Ablation
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Entailment, Usage
from noisesense.judging.sentences import sentences
from noisesense_adapters.datasets import ablate

_RETRIEVED = 3
_BETWEEN = ", and "


class Topic(NamedTuple):
    """A topic of the library's pages.

    Attributes:
        document: the page with the topic.
        question: a question about the topic.
        now: the true sentence on the page.
        once: the sentence in the stale document; None if it has none on the topic.
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
        self.topics = [Topic(**topic) for topic in data["topics"]]

    def documents(self, *, stale: bool) -> list[Chunk]:
        """Return the pages as chunks, with or without the stale document."""
        lines: dict[str, list[str]] = {}
        for topic in self.topics:
            lines.setdefault(topic.document, []).append(topic.now)
            if stale and topic.once is not None:
                lines.setdefault(self.stale, []).append(topic.once)
        return [Chunk(id=name, text=" ".join(texts)) for name, texts in lines.items()]

    def samples(self, documents: Sequence[Chunk]) -> list[Sample]:
        """Ask two questions for each topic, each with another topic; answer from the documents."""
        samples: list[Sample] = []
        for step in (1, 3):
            for number, first in enumerate(self.topics):
                second = self.topics[(number + step) % len(self.topics)]
                question = f"{first.question.capitalize()}{_BETWEEN}{second.question}?"
                contexts = retrieve(question, documents)
                # The reference has another order, since a response with its words is an echo.
                sample = Sample(
                    user_input=question,
                    response=answer(question, [chunk.text for chunk in contexts]),
                    reference=f"{second.now} {first.now}",
                    retrieved_contexts=contexts,
                )
                samples.append(sample)
        return samples


def retrieve(question: str, documents: Sequence[Chunk]) -> list[Chunk]:
    """Find the three documents that have most words of the question; of equal ones the first."""

    def shared_words(document: Chunk) -> int:
        return _shared_words(question, document.text)

    return sorted(documents, key=shared_words, reverse=True)[:_RETRIEVED]


def answer(question: str, contexts: list[str]) -> str:
    """Answer each part of the question by the first sentence with most of its words.

    Raises `ValueError` if no context has a sentence.
    """
    lines: list[str] = []
    for context in contexts:
        lines += sentences(context)
    answers: list[str] = []
    for part in question.split(_BETWEEN):
        shared_words = partial(_shared_words, part)
        answers.append(max(lines, key=shared_words))
    return " ".join(answers)


def _shared_words(question: str, text: str) -> int:
    return len(_distinct_words(question) & _distinct_words(text))


def _distinct_words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class SentenceJudge:
    """Take each sentence for a claim. A text entails the sentences that it contains."""

    name = "a judge that compares sentences"

    async def judge(self, sample: Sample) -> Verdicts:
        """Judge one sample."""
        response = sentences(sample.response)
        reference = sentences(sample.reference)
        texts = [chunk.text for chunk in sample.retrieved_contexts]
        return Verdicts.from_matrices(
            [claim in reference for claim in response],
            _entailment(texts, response),
            _entailment(texts, reference),
            response_claims=response,
            reference_claims=reference,
        ).with_sample(sample)

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        """Say which texts entail which claims."""
        return Entailment(_entailment(texts, claims), Usage(), 0)


def _entailment(texts: Sequence[str], claims: Sequence[str]) -> list[list[bool]]:
    """Look for each claim, a row, in each of the texts."""
    rows: list[list[bool]] = []
    for claim in claims:
        rows.append([claim in text for text in texts])
    return rows


@dataclass(frozen=True)
class Catch:
    """The results before and after, and what leads from one to the other.

    Attributes:
        stale: the results with the stale document.
        mended: the results without it.
        ablation: whether the documents that mislead in ``stale`` are the cause.
    """

    stale: list[Result]
    mended: list[Result]
    ablation: Ablation


def run_catch() -> Catch:
    """Answer, judge, ask again without the documents that mislead, and mend."""
    return run_blocking(_run())


async def _run() -> Catch:
    library = Library()
    judge = SentenceJudge()
    stale = await _judged_samples(library.samples(library.documents(stale=True)), judge)
    mended = await _judged_samples(library.samples(library.documents(stale=False)), judge)
    effect = await ablate(stale, answer, judge, variants=("without", "without-other"))
    return Catch(stale, mended, effect)


async def _judged_samples(samples: Sequence[Sample], judge: SentenceJudge) -> list[Result]:
    results: list[Result] = []
    for number, sample in enumerate(samples, start=1):
        verdicts = await judge.judge(sample)
        name = f"question {number}"
        results.append(Result(name, score(verdicts), sample=sample, judge=judge.name))
    return results
