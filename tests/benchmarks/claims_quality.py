"""How well a real model takes answers apart: `judge_quality.py --measure claims`.

`data/claims.jsonl` holds 60 short answers with the facts that each states, by hand, and 20 more
with sentences that state none (kind "idle": greetings, transitions, offers of help). The half
"fresh" are 6 tables that were written after the held-back ones had been read. The half "new" are
40 answers in ten languages that nobody looked at while prompts and rules were written: numbers in
words, dates, words out of their usual order, greetings and sources around. Some facts are planted
errors. A fact's rule says which claims state it: every word of the rule must begin a
word of the claim. ``a|b`` is one or the other, ``!a`` must not be there, ``~`` is any negation.

Counted for each form of asking:

- invented: claims that state no fact of the text; of these, idle: those that say a greeting, a
  transition or an offer
- repeated: claims that state only what earlier claims of the list state
- compound: claims that state two facts or more
- not alone: claims whose subject is a pronoun
- missed: facts that no claim states
- vanished: answers with planted errors whose list states none of them
- error: the mean absolute difference between the share of wrong claims in the model's list and
  in the list by hand. A claim is wrong if it states a planted error; an invented one is in the
  denominator alone, as nothing retrieved says it.
- hard: the same over the answers whose sentences, copied, are not the right list already; the
  form "copies", which asks no model, shows how far that gets.

A list that cannot be had is counted as such, and in nothing else.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from noisesense import JudgeError, LLMJudge, ReplyError
from noisesense.judging.calls import SampleRun
from noisesense.judging.prompts import Premise
from noisesense.judging.sentences import sentences
from noisesense_adapters.openai import OpenAILLM

DATA = Path(__file__).parent / "data" / "claims.jsonl"

NEGATION = re.compile(
    r"\b(not|no|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b"
    r"|\b(nicht|kein\w*|nie|niemals|niemand|ohne)\b"
    r"|\b(nunca|tampoco|ningún|ninguna?|nadie)\b"
    r"|\b(ne|pas|aucune?s?|jamais|plus|sans|não|nem|nenhuma?|sem|не|ни|нет|без)\b|\bn['’]"
    r"|[不没無无非未]|ない|ません|لا |ليس|لم |नहीं|बिना"
)
PRONOUN = re.compile(
    r"(it|he|she|they|this|these|that|those|its|his|her|their"
    r"|er|sie|es|dies\w*|ihre?|seine?|él|ella|ellos|ellas|esto|su|sus"
    r"|il|elle|ils|elles|son|sa|ses|leurs?|ele|ela|eles|elas|он|она|оно|они|его|её|их"
    r"|هو|هي|هذا|هذه)\b|(वह|वे|यह|ये|उसक[ाेी]|इसक[ाेी])\s|[它他她]|それ|これ|彼"
)


def normal(text: str) -> str:
    """Without case, and all digits as 0 to 9."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\d", lambda digit: str(int(digit[0])), plain)


def has_word(claim: str, word: str) -> bool:
    """Whether a word of the claim begins so; a number must be the whole number.

    In scripts without capital letters a word may have other letters before it.
    """
    if word == "~":
        return NEGATION.search(claim) is not None
    if word == word.upper() and not word[0].isdigit():
        return word in claim
    pattern = re.escape(word).replace("_", r"\s+")
    if word[-1].isdigit():
        pattern += r"(?!\d|[.,:]\d)"
    return any(_begins(claim[: match.start()]) for match in re.finditer(pattern, claim))


def _begins(before: str) -> bool:
    """Whether a word or a number can begin behind this."""
    if re.search(r"\d[.,:]?$", before):
        return False
    return not before or before[-1].lower() == before[-1].upper()


def states(claim: str, rule: str) -> bool:
    """Whether the claim states the fact that the rule is of."""
    said = normal(claim)
    for group in rule.split():
        words = group.removeprefix("!").split("|")
        is_there = any(has_word(said, word) for word in words)
        if is_there == group.startswith("!"):
            return False
    return True


@dataclass(frozen=True)
class Fact:
    """One fact of a text, with the rule for claims that state it."""

    claim: str
    holds: str
    wrong: bool = False


@dataclass(frozen=True)
class Answer:
    """A text to take apart, with its facts by hand and the rules of its idle sentences."""

    kind: str
    half: str
    question: str
    text: str
    facts: tuple[Fact, ...]
    idle: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of wrong facts among all."""
        return fmean(fact.wrong for fact in self.facts)


def answers() -> list[Answer]:
    found: list[Answer] = []
    for line in DATA.read_text("utf-8").splitlines():
        row = json.loads(line)
        facts = tuple(Fact(**fact) for fact in row["claims"])
        idle = tuple(row.get("idle", ()))
        found.append(Answer(row["kind"], row["half"], row["question"], row["text"], facts, idle))
    return found


@dataclass
class Reading:
    """What a list of claims makes of an answer."""

    answer: Answer
    claims: list[str]
    invented: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    compound: list[str] = field(default_factory=list)
    not_alone: list[str] = field(default_factory=list)
    missed: list[Fact] = field(default_factory=list)
    wrong: int = 0

    def add(self, claim: str, stated: set[Fact], before: set[Fact]) -> None:
        """A claim that states these facts, of which some may have been stated before."""
        if PRONOUN.match(normal(claim)):
            self.not_alone.append(claim)
        if not stated:
            self.invented.append(claim)
            if any(states(claim, rule) for rule in self.answer.idle):
                self.idle.append(claim)
        elif stated <= before:
            self.repeated.append(claim)
        if len(stated) > 1:
            self.compound.append(claim)
        self.wrong += any(fact.wrong for fact in stated)

    @property
    def vanished(self) -> bool:
        return self.answer.share > 0 and not self.wrong

    @property
    def error(self) -> float:
        share = self.wrong / len(self.claims) if self.claims else 0.0
        return abs(share - self.answer.share)

    @property
    def is_clean(self) -> bool:
        faults = (self.invented, self.repeated, self.compound, self.missed, self.not_alone)
        return not any(faults)


def read(answer: Answer, claims: list[str]) -> Reading:
    """Compare a list with the facts by hand."""
    reading = Reading(answer, claims)
    before: set[Fact] = set()
    for claim in claims:
        stated = {fact for fact in answer.facts if states(claim, fact.holds)}
        reading.add(claim, stated, before)
        before |= stated
    reading.missed = [fact for fact in answer.facts if fact not in before]
    return reading


Find = Callable[[Answer], Awaitable[list[str]]]


def model(url: str) -> OpenAILLM:
    params = {"temperature": 0, "seed": 1}
    return OpenAILLM("model", base_url=url, api_key="none", timeout=900, params=params)


def product(url: str) -> Find:
    """The claims as `LLMJudge` counts them.

    A claim of no fact is one that no reference and no chunk would support, so the judge asks
    whether it gives information on the question.
    """
    judge = LLMJudge(model(url), max_concurrency=1)

    async def find(answer: Answer) -> list[str]:
        run = SampleRun()
        claims = await judge.find(run, "response", answer.text, answer.question)
        unsupported: list[str] = []
        for claim in claims:
            if not any(states(claim, fact.holds) for fact in answer.facts):
                unsupported.append(claim)
        cells = await judge.check(run, Premise(question=answer.question), unsupported)
        asides = [claim for claim, cell in zip(unsupported, cells, strict=True) if cell is False]
        return [claim for claim in claims if claim not in asides]

    return find


def copies(_: str) -> Find:
    """The sentences of the text, as they stand: what a model does that only copies."""

    async def find(answer: Answer) -> list[str]:
        return sentences(answer.text)

    return find


def is_hard(answer: Answer) -> bool:
    """Is the list of its sentences not yet right?"""
    return not read(answer, sentences(answer.text)).is_clean


def ragas(url: str) -> Find:
    """The statements of ragas' own metric."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import NoiseSensitivity
    from ragas.metrics.collections.noise_sensitivity import util

    async def find(answer: Answer) -> list[str]:
        options: Any = {"base_url": url, "api_key": "none", "timeout": 900, "max_retries": 0}
        async with AsyncOpenAI(**options) as client:
            llm: Any = llm_factory("model", client=client, temperature=0)
            form = util.StatementGeneratorInput(question=answer.question, text=answer.text)
            prompt = NoiseSensitivity(llm=llm).statement_prompt.to_string(form)
            try:
                reply = await llm.agenerate(prompt, util.StatementGeneratorOutput)
            except Exception as error:  # whatever ragas' client raises at a reply it cannot read
                raise ReplyError(str(error)) from error
            return list(reply.statements)

    return find


FORMS: dict[str, Callable[[str], Find]] = {
    "ours": product,
    "copies": copies,
    "ragas": ragas,
}


@dataclass
class Readings:
    """Those of one form over the answers of one half."""

    form: str
    half: str
    asked: Sequence[Answer]
    read: list[Reading]

    HEAD: ClassVar[tuple[str, ...]] = (
        "form",
        "half",
        "claims",
        "invented",
        "idle",
        "repeated",
        "compound",
        "not alone",
        "missed",
        "vanished",
        "error",
        "hard",
        "no list",
    )

    def _count(self, name: str) -> str:
        return str(sum(len(getattr(reading, name)) for reading in self.read))

    def row(self) -> tuple[str, ...]:
        facts = sum(len(reading.answer.facts) for reading in self.read)
        missed = sum(len(reading.missed) for reading in self.read)
        planted = sum(reading.answer.share > 0 for reading in self.read)
        vanished = sum(reading.vanished for reading in self.read)
        errors = [reading.error for reading in self.read]
        hard = [reading.error for reading in self.read if is_hard(reading.answer)]
        return (
            self.form,
            self.half,
            self._count("claims"),
            self._count("invented"),
            self._count("idle"),
            self._count("repeated"),
            self._count("compound"),
            self._count("not_alone"),
            f"{missed} of {facts}, {missed / max(1, facts):.0%}",
            f"{vanished} of {planted}",
            f"{sum(errors) / max(1, len(errors)):.3f}",
            f"{sum(hard) / max(1, len(hard)):.3f} of {len(hard)}",
            str(len(self.asked) - len(self.read)),
        )


def measure(form: str, url: str, half: str, given: Sequence[Answer]) -> Readings:
    find = FORMS[form](url)

    async def found() -> list[Reading]:
        readings: list[Reading] = []
        for answer in given:
            try:
                readings.append(read(answer, await find(answer)))
            except JudgeError:
                continue
        return readings

    return Readings(form, half, given, asyncio.run(found()))
