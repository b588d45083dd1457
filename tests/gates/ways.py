"""A system that works, and the ways to break it.

Twenty questions. Every answer says two facts, which the reference has too; the first six also
repeat a rumor of the relevant chunk, which it has not: the relevant mean is ``6 / 20 · 1 / 3 =
0.1``, the irrelevant one 0. A judge takes each sentence for a claim, and a chunk entails what it
says word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import noisesense
from noisesense import JudgeError, ReplyError, Sample, Verdicts

COUNT = 20
NOISY = 6
UNKNOWN = "I do not know."
PLACEHOLDER = "{{answer}}"


@dataclass(frozen=True)
class Row:
    """What the system did with one question.

    Attributes:
        error: what it raised; it then has no answer.
    """

    number: int
    question: str
    response: str | None
    reference: str
    contexts: list[str] | None
    error: str = ""

    @property
    def id(self) -> str:
        return f"sample {self.number}"


def _working(number: int) -> Row:
    facts = f"Fact {number} a. Fact {number} b."
    rumor = f"Rumor {number}."
    return Row(
        number,
        question=f"What is known of {number}?",
        response=f"{facts} {rumor}" if number < NOISY else facts,
        reference=facts,
        contexts=[f"{facts} {rumor}", f"Something else than {number}."],
    )


WORKING = [_working(number) for number in range(COUNT)]

# ------------------------------------------------------------------ judges

Judging = Callable[[Sample], Verdicts]
"""Raises `JudgeError`."""


def _sentences(text: str) -> list[str]:
    return [f"{each}." for each in text.rstrip(".").split(". ")]


def honest(sample: Sample) -> Verdicts:
    """Takes "I do not know." for no claim; the question or a placeholder is no list of claims."""
    if sample.response in (sample.user_input, PLACEHOLDER):
        raise ReplyError("no usable list of claims")
    claims = [] if sample.response == UNKNOWN else _sentences(sample.response)
    facts = _sentences(sample.reference)
    chunks = [chunk.text for chunk in sample.retrieved_contexts]
    return Verdicts.from_matrices(
        [claim in facts for claim in claims],
        [[claim in chunk for chunk in chunks] for claim in claims],
        [[fact in chunk for chunk in chunks] for fact in facts],
        response_claims=claims,
        reference_claims=facts,
    )


def refuses(sample: Sample) -> Verdicts:
    raise ReplyError("the model refused")


def refuses_a_third(sample: Sample) -> Verdicts:
    number = int(sample.user_input.strip("?").split()[-1])
    return refuses(sample) if number % 3 == 0 else honest(sample)


def out_of_reach(sample: Sample) -> Verdicts:
    raise JudgeError("connection refused")


def says_nothing(sample: Sample) -> Verdicts:
    known = honest(sample)
    chunks = len(sample.retrieved_contexts)
    claims = [claim.text for claim in known.response_claims]
    facts = [claim.text for claim in known.reference_claims]
    return Verdicts.from_matrices(
        [None] * len(claims),
        [[None] * chunks for _ in claims],
        [[None] * chunks for _ in facts],
        response_claims=claims,
        reference_claims=facts,
    )


def says_nothing_of_chunks(sample: Sample) -> Verdicts:
    known = honest(sample)
    silent = says_nothing(sample)
    claims = [
        claim.model_copy(update={"correct": other.correct})
        for claim, other in zip(silent.response_claims, known.response_claims, strict=True)
    ]
    return silent.model_copy(update={"response_claims": tuple(claims)})


def finds_no_claims(sample: Sample) -> Verdicts:
    return honest(sample).model_copy(update={"response_claims": ()})


def finds_no_facts(sample: Sample) -> Verdicts:
    return honest(sample).model_copy(update={"reference_claims": ()})


class Judge:
    """One of these as `noisesense.Judge`."""

    name = "scripted"

    def __init__(self, judging: Judging) -> None:
        self._judging = judging

    async def judge(self, sample: Sample) -> Verdicts:
        return self._judging(sample)


AnyJudge = Judging | noisesense.Judge


def judge_by(judging: AnyJudge) -> noisesense.Judge:
    return judging if isinstance(judging, noisesense.Judge) else Judge(judging)


# ------------------------------------------------------------------ ways

Rows = list[Row]


def each(count: int = COUNT, **fields: object) -> Callable[[], Rows]:
    """The first so many rows with other fields."""

    def broken() -> Rows:
        first = [replace(row, **fields) for row in WORKING[:count]]  # type: ignore[arg-type]
        return [*first, *WORKING[count:]]

    return broken


def only(count: int) -> Callable[[], Rows]:
    return lambda: WORKING[:count]


def by(change: Callable[[Row], Row]) -> Callable[[], Rows]:
    return lambda: [change(row) for row in WORKING]


class Way(NamedTuple):
    """How the system or the judge breaks.

    Attributes:
        rows: what the system did.
        judging: who judges.
        names: what a gate that passes has to show, as a regular expression; "" where no gate may
            pass.
    """

    rows: Callable[[], Rows]
    judging: Judging = honest
    names: str = ""


LOST = r"nothing was retrieved|nothing to measure in B only"
SILENT = r"claims? nothing|has no claims|nothing to measure in B only"
ECHO = r"word for word"
OPEN = r"judge left (\d+ )?open"  # a case passes where it does so whatever is open
FAILED = r"1 (of \d+ samples )?failed"

WAYS: dict[str, Way] = {
    # What was retrieved.
    "nothing retrieved": Way(each(contexts=[])),
    "nothing retrieved for nine of ten": Way(each(18, contexts=[])),
    "nothing retrieved for half": Way(each(10, contexts=[])),
    "nothing retrieved for as many as may be": Way(each(2, contexts=[]), names=LOST),
    "only blank chunks": Way(each(contexts=["", "  "])),
    "blank chunks for half": Way(each(10, contexts=[" "])),
    "no list of chunks": Way(each(contexts=None)),
    "the retriever fails": Way(each(response=None, contexts=None, error="no index")),
    "the retriever fails for a third": Way(
        each(7, response=None, contexts=None, error="no index")
    ),
    "the retriever fails for one": Way(
        each(1, response=None, contexts=None, error="no index"), names=FAILED
    ),
    # What was claimed.
    "only 'I do not know.'": Way(each(response=UNKNOWN)),
    "refuses what it used to get wrong": Way(each(NOISY, response=UNKNOWN)),
    "refuses as many as may be": Way(each(2, response=UNKNOWN), names=SILENT),
    "empty answers": Way(each(response="")),
    "empty answers for half": Way(each(10, response=" ")),
    "no answers": Way(each(response=None)),
    "no answer for one": Way(each(1, response=None), names=FAILED),
    "a placeholder for an answer": Way(each(response=PLACEHOLDER)),
    "the question said back": Way(by(lambda row: replace(row, response=row.question))),
    # Which questions.
    "half of the questions gone": Way(only(10)),
    "stopped after three": Way(only(3)),
    "stopped before the first": Way(only(0)),
    # The reference.
    "the question as the reference": Way(by(lambda row: replace(row, reference=row.question))),
    "the response as the reference": Way(
        by(lambda row: replace(row, reference=row.response)), names=ECHO
    ),
    "no references": Way(each(reference="")),
    "no reference for half": Way(each(10, reference="")),
    # The judge.
    "a judge that refuses": Way(only(COUNT), refuses),
    "a judge that refuses a third": Way(only(COUNT), refuses_a_third),
    "a judge out of reach": Way(only(COUNT), out_of_reach),
    "a judge that says nothing": Way(only(COUNT), says_nothing),
    "a judge that says nothing of chunks": Way(only(COUNT), says_nothing_of_chunks, OPEN),
    "a judge that finds no claims": Way(only(COUNT), finds_no_claims),
    "a judge that finds no claims in references": Way(only(COUNT), finds_no_facts, OPEN),
}


def samples_of(rows: Iterable[Row]) -> dict[int, Sample]:
    """The rows that make a sample, by number."""
    return {
        row.number: Sample(
            user_input=row.question,
            response=row.response,
            reference=row.reference,
            retrieved_contexts=row.contexts,
        )
        for row in rows
        if (row.response or "").strip() and row.reference and row.contexts is not None
    }
