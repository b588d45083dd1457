"""Lists of claims: which of a model's lists can be believed, and which sentences they leave out.

A score is a share of all claims. A list that is not about its text, repeats itself or skips a
sentence makes a wrong score that looks like any other, so each list is held against its text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from noisesense.judging.sentences import sentences

# What stands around words and changes nothing. Signs that do ("-5", "C++", "10%") are not here.
_AROUND = ".,;:!?…\"'`()[]{}*_“”„«»‘’‹›。，、；：！？「」『』（）《》｡"
_BETWEEN = str.maketrans(dict.fromkeys("，、；。！？「」『』《》", " "))
# Scripts that are written without spaces: Han, Kana, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")  # fmt: skip  # noqa: E501
_WORD = re.compile(r"[^\W_]+(?:[.,:/]\d+)*")
_STEM = 5


def by_words(text: str) -> str:
    """The words of a text alone: without case, punctuation and white space.

    Signs that change a word are kept, so that ``-5``, ``5%`` and ``C++`` stay what they are.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_BETWEEN)
    words = (word.strip(_AROUND) for word in plain.split())
    return " ".join(word for word in words if word)


def distinct(claims: Iterable[str]) -> list[str]:
    """The claims without those that say by words what an earlier one says."""
    return list({by_words(claim): claim for claim in reversed(list(claims))}.values())[::-1]


def content(text: str) -> set[str]:
    """What a text speaks of: the beginnings of its words, function words left out.

    Where a script has no spaces it is each pair of neighboring characters.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    found: set[str] = set()
    for run in _UNSPACED.findall(plain):
        pairs = {run[i : i + 2] for i in range(len(run) - 1)}
        found |= pairs or {run}
    for word in _WORD.findall(_UNSPACED.sub(" ", plain)):
        if word not in _phrases().function_words:
            found.add(word if word[0].isdecimal() else word[:_STEM])
    return found


@dataclass(frozen=True)
class ClaimSource:
    """A text whose claims are asked for.

    Attributes:
        text: the text.
        question: what it answers; empty if there is none.
        instruction: the words by which a model is asked, which are no claims when said back.
        counts_refusals: is "not found" a claim of the text? In a reference it is the answer.
    """

    text: str
    question: str = ""
    instruction: str = ""
    counts_refusals: bool = False

    def problem(self, listed: Sequence[str]) -> str:
        """Why a model's list cannot be believed; empty if it can.

        It holds something that is no claim of this text (a refusal, a placeholder, the
        instruction, a list within a text, a claim that shares no word with text and question), or
        more than the text can hold.
        """
        size = sum(map(len, listed))
        if len(listed) > 10 + len(self.text) // 4 or size > 1_000 + 20 * len(self.text):
            return "its list is longer than the text can hold"
        for claim in listed:
            problem = self._problem(claim)
            if problem:
                return f"its list holds {problem}"
        if listed and not self.claims(listed) and not all(map(self._says_nothing, listed)):
            return "its list holds no claim"
        return ""

    def claims(self, listed: Sequence[str]) -> list[str]:
        """The list without repetitions, questions, headings and statements that nothing was
        found."""
        kept = [claim for claim in distinct(listed) if not self._is_skipped(claim)]
        return [self._on_its_own(claim.strip()) for claim in kept]

    def untouched(self, claims: Sequence[str]) -> list[str]:
        """The sentences of the text that no claim speaks of, or whose numbers no claim has."""
        spoken = [content(claim) for claim in claims]
        anywhere: set[str] = set().union(*spoken)
        return [
            sentence
            for sentence in sentences(self.text)
            if not _is_heading(sentence)
            and not self._says_nothing(sentence)
            and not _is_touched(content(sentence), spoken, anywhere)
        ]

    def _problem(self, claim: str) -> str:
        """Why it cannot be a claim of the text; empty if it can."""
        words = by_words(claim)
        text = by_words(self.text)
        if words in ("", text):
            return ""
        if words in _phrases().placeholders:
            return "a placeholder"
        if words not in text:
            if _is_list(claim):
                return "a list in place of a claim"
            if _phrases().is_refusal(claim):
                return "a refusal"
        spoken = content(claim)
        is_echo = len(words.split()) > 2 and words in by_words(self.instruction)
        if is_echo and not spoken <= content(self.text):
            return "words of the instruction"
        about = content(f"{self.text} {self.question}")
        if about and not spoken & about and not self._says_nothing(claim):
            return "a claim that shares no word with the text"
        return ""

    def _is_skipped(self, claim: str) -> bool:
        if by_words(claim) == by_words(self.text) and not self._says_nothing(claim):
            return False
        return (
            by_words(claim) in ("", by_words(self.question))
            or claim.strip().endswith(("?", "？"))
            or _is_heading(claim)
            or self._says_nothing(claim)
        )

    def _says_nothing(self, statement: str) -> bool:
        return not self.counts_refusals and claims_nothing(statement)

    def _on_its_own(self, claim: str) -> str:
        """The claim; behind the question where the model only gave the answer back."""
        answer = by_words(self.text)
        size = max(len(answer.split()), len(content(answer)))
        if by_words(claim) == answer and size <= _BARE and self.question.strip():
            return f"{self.question.strip()} {claim}"
        return claim


_BARE = 3
"""Words of a text that is an answer without being a sentence."""
_TERSE = 4


def is_terse(reference: str) -> bool:
    """Is the reference so short that it may say nothing without its question?"""
    return len(content(reference)) <= _TERSE


def claims_nothing(statement: str) -> bool:
    """Does the statement only say that the answer is not known or was not found?"""
    return _phrases().is_no_answer(statement)


def _is_touched(words: set[str], spoken: Sequence[set[str]], anywhere: set[str]) -> bool:
    """Does a claim have a third of the words, or do all claims together have half of them?"""
    if not words:
        return True
    numbers = {word for word in words if word[0].isdecimal()}
    if not numbers <= anywhere:
        return False
    if len(words & anywhere) >= len(words) / 2:
        return True
    return any(len(words & each) >= len(words) / 3 for each in spoken)


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith(("#", "```", "|--", "| --", "---"))


def _is_list(claim: str) -> bool:
    """JSON, a tag, or several bullets in one text."""
    text = claim.strip()
    if text.startswith("<") and text.endswith(">"):
        return True
    if text.startswith(("[", "{")):
        try:
            json.loads(text)
        except ValueError:
            return False
        return True
    bullets = re.findall(r"^\s*(?:[-*•]|\d+[.)])\s", text, re.MULTILINE)
    return len(bullets) > 1


class _Phrases:
    """What is said in place of a claim, by language: `phrases.json`."""

    def __init__(self) -> None:
        phrases = json.loads(Path(__file__).with_name("phrases.json").read_text("utf-8"))
        self.function_words = frozenset(phrases["function_words"].split())
        self.placeholders = frozenset(phrases["placeholder"])
        self._no_answer = _any_of(phrases["no_answer"])
        self._refusal = _any_of(phrases["refusal"])

    def is_no_answer(self, statement: str) -> bool:
        return self._no_answer.search(_plain(statement)) is not None

    def is_refusal(self, statement: str) -> bool:
        return self._refusal.search(_plain(statement)) is not None


def _any_of(by_language: dict[str, list[str]]) -> re.Pattern[str]:
    patterns = [f"(?:{each})" for language in by_language.values() for each in language]
    return re.compile("|".join(patterns))


def _plain(statement: str) -> str:
    plain = unicodedata.normalize("NFKC", statement).casefold().replace("’", "'")
    return " ".join(plain.split()).strip(_AROUND)


@lru_cache(maxsize=1)
def _phrases() -> _Phrases:
    return _Phrases()
