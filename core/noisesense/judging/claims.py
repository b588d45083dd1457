"""Lists of claims: which of a model's lists can be believed, and which sentences they leave out.

A score is a share of all claims. A list that is not about its text, repeats itself or skips a
sentence makes a wrong score that looks like any other, so each list is held against its text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from noisesense.judging.phrases import AROUND, phrases
from noisesense.judging.sentences import NUMBER, sentences
from noisesense.judging.tables import cells, rows_with_heads

_BETWEEN = str.maketrans(dict.fromkeys("，、；。！？「」『』《》", " "))
# Scripts that are written without spaces: Han, Kana, Thai, Lao, Burmese, Khmer.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")  # fmt: skip  # noqa: E501
_WORD = re.compile(r"[^\W_]+(?:[.,:/]\d+)*")
_STEM = 5
_LIST_NUMBER = re.compile(
    rf"""(^[\W_]*|:\s*)(?:
    (?:(?i:step|schritt|paso|étape)\s)?{NUMBER}[.):\]][*_]*(?!\S)  # "1.", "b)", "Step 3:"
    |\d{{1,3}}[.．、)）](?=[^\W\d_])  # without a space: "1、"
    |[①-⑳]|\d\ufe0f?\u20e3
    )""",
    re.VERBOSE,
)
_CITATION = re.compile(
    r"""
    \[{1,2}[^\[\]\d\n]{0,30}\d{1,3}(?:[^\w\[\]\n][^\[\]\n]{0,30})?\]{1,2}  # "[1]", "[doc 2, p. 3]"
    (?:\([^()\s]*\))?  # "[[1]](https://…)"
    |【[^】\n]{1,40}】
    |\(\d{1,2}(?:,\s?\d{1,2})*\)
    |[(（](?i:sources?|quellen?|fuentes?|来源)[:：][^()（）\n]*[)）]
    |(?:\b(?i:documents?|docs?|sources?|contexts?|passages?|chunks?|excerpts?|dokument|quelle
    |documento|fuente)|文档|文件|来源|资料)\s?\#?\d{1,3}(?!\d)  # "Document 3"
    """,
    re.VERBOSE,
)
_SOURCES = re.compile(
    r"\W*(?:sources?|references?|quellen?|fuentes?|来源|参考资料)[\W_]*[:：](.+)", re.IGNORECASE
)
_PAGE = r"(?:p|pp|page|seite|s)\.?\s?\d[-–\d]*"
_DOCUMENT = re.compile(
    rf"""
    \W{{0,4}}(?:https?://\S+|.{{1,120}}\.(?:pdf|docx?|md|html?|txt|csv|xlsx?|pptx?|json))
    (?:\s?\([^()]*\)|\s{_PAGE})?\W{{0,4}}
    |{_PAGE}\W{{0,4}}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TABLE_HEAD = re.compile(r"^.*\n[ \t|:]*-[-|: \t]*$", re.MULTILINE)


@lru_cache(maxsize=512)  # a list is held against its text from several sides
def by_words(text: str) -> str:
    """The words of a text alone: without case, punctuation and white space.

    Signs that change a word are kept, so that ``-5``, ``5%`` and ``C++`` stay what they are.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_BETWEEN)
    words = [word.strip(AROUND) for word in plain.split()]
    return " ".join(filter(None, words))


def distinct(claims: Iterable[str]) -> list[str]:
    """The claims without those that say by words what an earlier one says, and without bits of
    up to three words that stand in another claim."""
    first: dict[str, str] = {}
    for claim in claims:
        first.setdefault(by_words(claim), claim)
    # All in one text: to search each claim for each other one takes seconds for a long list.
    everything = "\n".join(f" {words} " for words in first)
    kept: list[str] = []
    for words, claim in first.items():
        # Once it stands for itself.
        is_bit_of_another = _is_bare(words) and everything.count(_sought(words)) > 1
        if not is_bit_of_another:
            kept.append(claim)
    return kept


def repetitions(texts: Sequence[str]) -> int:
    """How many texts say by words what an earlier one says; empty ones aside."""
    joined = "\0".join(texts)
    if joined.isascii():
        letters = joined.encode().translate(_LOWER, _BETWEEN_WORDS).split(b"\0")
        if len(set(letters)) == len(letters):
            return 0  # nearly always, and found out fast
    written = [text for text in texts if text]
    return len(written) - len(set(map(by_words, written)))


_LOWER = bytes(range(256)).lower()
_SPACES = bytes(code for code in range(128) if chr(code).isspace())
_BETWEEN_WORDS = _SPACES + "".join(filter(str.isascii, AROUND)).encode()


def _stands_in(text: str, words: str) -> bool:
    """Are the words a part of the text, and not all of it? Both as `by_words` has them."""
    return text != words and _sought(words) in f" {text} "


def _sought(words: str) -> str:
    """What to look for in a text between spaces, so that only whole words are found."""
    is_spaced = words.isascii() or not _UNSPACED.search(words)
    return f" {words} " if is_spaced else words


@lru_cache(maxsize=512)
def content(text: str) -> frozenset[str]:
    """What a text speaks of: the beginnings of its words, function words left out.

    Small numbers are digits, however they are written. Where a script has no spaces it is each
    pair of neighboring characters.
    """
    known = phrases()
    found: set[str] = set()
    for run in _unspaced_runs(text):
        pairs = set(map("".join, pairwise(run)))
        found |= pairs or {run}
    words = {written.casefold() for written in _spaced_words(text)}
    numerals = words & known.numbers.keys()
    found |= {known.numbers[numeral] for numeral in numerals}
    for word in words - numerals - known.function_words:
        found.add(word if word[0].isdecimal() else word[:_STEM])
    return frozenset(found)


def _unspaced_runs(text: str) -> list[str]:
    """What is written in scripts without spaces."""
    return [] if text.isascii() else _UNSPACED.findall(unicodedata.normalize("NFKC", text))


def _spaced_words(text: str) -> list[str]:
    """The words in scripts with spaces, as they are written."""
    if text.isascii():
        return _WORD.findall(text)
    return _WORD.findall(_UNSPACED.sub(" ", unicodedata.normalize("NFKC", text)))


def _details(sentence: str) -> frozenset[str]:
    """Its numbers and names, as `content` has them.

    A name is a word with a capital letter that is not the first. In German that is every noun.
    """
    numbers = frozenset(word for word in content(sentence) if word[0].isdecimal())
    later_words = _spaced_words(sentence)[1:]
    names = " ".join(word for word in later_words if word[0].isupper())
    return numbers | content(names)


class ClaimList(NamedTuple):
    """What a model's list says, or why it cannot be believed."""

    claims: list[str]
    problem: str = ""


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

    @cached_property
    def _text_words(self) -> str:
        return by_words(self.text)

    @cached_property
    def _text_sentences(self) -> frozenset[str]:
        return frozenset(map(by_words, sentences(self.text)))

    @cached_property
    def _instruction_words(self) -> str:
        return by_words(self.instruction)

    @cached_property
    def _text_content(self) -> frozenset[str]:
        return content(self.text)

    @cached_property
    def _question_content(self) -> frozenset[str]:
        return content(self.question)

    @cached_property
    def _about(self) -> frozenset[str]:
        return self._text_content | self._question_content

    def read(self, listed: Sequence[str]) -> ClaimList:
        """The claims of a model's list, or why it cannot be believed.

        It cannot if it holds something that is no claim of this text (a refusal, a placeholder,
        the instruction, a list within a text, a claim that shares no word with text and question),
        or more than the text can hold.
        """
        size = sum(map(len, listed))
        if len(listed) > 10 + len(self.text) // 4 or size > 1_000 + 20 * len(self.text):
            return ClaimList([], "its list is longer than the text can hold")
        for claim in listed:
            problem = self._problem(claim)
            if problem:
                return ClaimList([], f"its list holds {problem}")
        claims = self.claims(listed)
        if not claims and not all(map(self._says_nothing, listed)):
            return ClaimList([], "its list holds no claim")
        return ClaimList(claims)

    def claims(self, listed: Sequence[str]) -> list[str]:
        """The list without repetitions, questions, headings, statements that nothing was found,
        and the question as a statement.

        Sentences that are copied together are taken apart, and a bare answer stands behind its
        question.
        """
        single: list[str] = []
        for claim in listed:
            is_copy = by_words(claim) in self._text_words
            copied = sentences(claim) if is_copy else []
            single += copied or [claim]
        kept = [claim for claim in distinct(single) if not self._is_skipped(claim)]
        # The shortest first: of two that say the same, the one with "not" besides is left.
        for claim in sorted(kept, key=lambda each: len(by_words(each))):
            if self._repeats_question(claim, kept):
                kept.remove(claim)
        return [self._behind_question(claim.strip()) for claim in kept]

    def untouched(self, claims: Sequence[str]) -> list[str]:
        """The sentences of the text of which the claims say too little: see `_says_enough`.

        The numbers of a list and citations ("[1]") are nothing that they could leave out. A row of
        a table of which the claims leave out a cell comes with the heads of its columns.
        """
        if _is_bare(self.text):
            return []
        rows = rows_with_heads(self.text)
        lines = _sentences_and_rows(_TABLE_HEAD.sub("", self.text), rows)
        if set(map(by_words, lines)) <= set(map(by_words, claims)):
            return []
        spoken: set[str] = set()
        for claim in claims:
            spoken |= content(claim)
        told = _without_numbers(lines)
        elsewhere = _repeated_words(told) | self._question_content
        missed: list[str] = []
        for line, says in zip(lines, told, strict=True):
            if not self._is_statement(says):
                continue
            has_cells = line not in rows or _has_cells(spoken, line)
            if not has_cells or not _says_enough(spoken, says, elsewhere):
                missed.append(rows.get(line, line))
        return missed

    def _problem(self, claim: str) -> str:
        """Why it cannot be a claim of the text; empty if it can."""
        words = by_words(claim)
        text = self._text_words
        if words in ("", text):
            return ""
        if words in phrases().placeholders and words not in self._text_sentences:
            return "a placeholder"
        if words not in text:
            if _is_list(claim):
                return "a list in place of a claim"
            if phrases().is_refusal(claim):
                return "a refusal"
        is_echo = len(words.split()) > 2 and words in self._instruction_words
        if is_echo and not content(claim) <= self._text_content:
            return "words of the instruction"
        if self._is_foreign(claim) and not self._says_nothing(claim):
            return "a claim that shares no word with the text"
        return ""

    def _is_foreign(self, claim: str) -> bool:
        """Has it no word in common with text and question, and is it no part of the text?"""
        if not self._about or _stands_in(self._text_words, by_words(claim)):
            return False
        return self._about.isdisjoint(content(claim))

    def _is_skipped(self, claim: str) -> bool:
        if by_words(claim) == self._text_words and not self._says_nothing(claim):
            return False
        return not by_words(claim) or not self._is_statement(claim)

    def _is_statement(self, line: str) -> bool:
        return not _is_no_statement(line) and not self._says_nothing(line)

    def _repeats_question(self, claim: str, claims: Sequence[str]) -> bool:
        """Has it the question's words alone, where another claim says more, or "not" besides?"""
        if by_words(claim) in self._text_words:
            return False
        spoken = content(claim)
        if not spoken <= self._question_content:
            return False
        others = [other for other in claims if other != claim]
        return any(spoken <= content(other) for other in others)

    def _says_nothing(self, statement: str) -> bool:
        """A greeting, an offer of help; in a response also that the answer was not found."""
        if phrases().is_idle(statement):
            return True
        return not self.counts_refusals and claims_nothing(statement)

    def _behind_question(self, claim: str) -> str:
        """The claim; behind the question where it says nothing without it ("1998", "Yes.")."""
        words = by_words(claim)
        is_answer = words == self._text_words and _is_bare(claim)
        is_word_of_it = _is_one_word(words) and _stands_in(self._text_words, words)
        if (is_answer or is_word_of_it) and self.question.strip():
            return f"{self.question.strip()} {claim}"
        return claim


_BARE = 3
_TERSE = 4


def _is_bare(text: str) -> bool:
    """Is it so short that it is hardly a sentence?"""
    words = by_words(text).split()
    return len(words) <= _BARE and len(content(text)) <= _BARE


def _is_one_word(words: str) -> bool:
    """Are they one word, or function words alone ("it is")?"""
    spoken = content(words)
    return not spoken or (len(spoken) == 1 and " " not in words)


def is_terse(reference: str) -> bool:
    """Is the reference so short that it may say nothing without its question?"""
    return len(content(reference)) <= _TERSE


@lru_cache(maxsize=512)
def claims_nothing(statement: str) -> bool:
    """Does the statement only say that the answer is not known or was not found?"""
    return phrases().is_no_answer(statement)


def _sentences_and_rows(text: str, rows: Container[str]) -> list[str]:
    """The sentences; a row of a table is one, whatever its cells hold."""
    found: list[str] = []
    for line in text.split("\n"):
        row = line.strip()
        found += [row] if row in rows else sentences(line)
    return found


def _without_numbers(lines: Sequence[str]) -> list[str]:
    """The lines without citations and the numbers of a list: one alone may be the answer."""
    told = [_CITATION.sub("", line) for line in lines]
    if sum(_LIST_NUMBER.search(line) is not None for line in told) < 2:
        return told
    return [_LIST_NUMBER.sub(r"\1", line) for line in told]


def _repeated_words(lines: Iterable[str]) -> set[str]:
    """The words of more than one line."""
    counts = Counter[str]()
    for line in lines:
        counts.update(content(line))
    return {word for word, count in counts.items() if count > 1}


_ENOUGH = 0.6
"""Claims must have more than this share of a sentence's words. Half of a sentence may be left out
where they share a subject; with more, what is said in other words would count as left out."""


def _says_enough(spoken: set[str], sentence: str, elsewhere: set[str]) -> bool:
    """Do the claims have most words of the sentence, its numbers and names, and a word of its own?

    Args:
        spoken: the words of the claims.
        sentence: of the text.
        elsewhere: the words that stand in another sentence or in the question, too.
    """
    words = content(sentence)
    own = words - elsewhere
    if own and own.isdisjoint(spoken):
        return False
    if not _details(sentence) <= spoken:
        return False
    return not words or len(words & spoken) > _ENOUGH * len(words)


def _has_cells(spoken: set[str], row: str) -> bool:
    """Do the claims have a word of each cell?"""
    by_cell = [content(cell) for cell in cells(row)]
    return not any(words and words.isdisjoint(spoken) for words in by_cell)


def _is_no_statement(line: str) -> bool:
    """A heading, the rule of a table, a question, what leads in to a list, or where it is from."""
    text = line.strip()
    is_heading = text.startswith(("#", "```", "|--", "| --", "---"))
    return is_heading or text.endswith((":", "：", "?", "？")) or _names_sources(text)


def _names_sources(text: str) -> bool:
    """Is it a line such as "Sources: a.pdf, b.md (page 3)"?"""
    named = _SOURCES.fullmatch(text)
    if named is None:
        return False
    parts = map(str.strip, re.split("[,;、]", named[1]))
    return all(map(_DOCUMENT.fullmatch, parts))


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
