"""Lists of claims: what can be told of a model's list without a language, and when to ask again.

No rule here decides what is a claim of a text: that is the judge's. A rule only says that a list
has no form of one, or that the judge should be asked once more about some of its claims, or about
some sentences of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from noisesense.judging.sentences import sentences
from noisesense.judging.words import by_words, distinct, has_cases, novelty

_SHORTEST_ECHO = 3
_BARE_WORDS = 3
_BARE_LETTERS = 3
# Neither says anything: the number of a list's item, and a mark such as "[1]" behind a sentence.
_ITEM = re.compile(r"^\W{0,4}\d{1,3}[.):、）](?=\D)")
_MARK = re.compile(r"\[[^\[\]\n]{0,40}\]|【[^【】\n]{0,40}】")
# The head of a table is said with each of its rows.
_TABLE_HEAD = re.compile(r"^[^|\n]*\|.*\n[ \t|:]*-[-|: \t]*$", re.MULTILINE)

_MOSTLY_NEW = 0.5
"""A claim with a greater share of new letters may be of another text."""
_PARTLY_NEW = 0.4
"""A sentence with a greater share of letters that no claim has may have been left out."""


@dataclass(frozen=True)
class ClaimSource:
    """A text whose claims are asked for.

    Attributes:
        text: the text.
        question: what it answers; empty if there is none.
        instruction: the words by which a model is asked, with their example.
    """

    text: str
    question: str = ""
    instruction: str = ""

    @cached_property
    def _text_words(self) -> str:
        return by_words(self.text)

    @cached_property
    def _instruction_words(self) -> str:
        return by_words(self.instruction)

    @cached_property
    def is_bare(self) -> bool:
        """Is the text so short that it says nothing without its question?

        One word, a number with its unit, or a date of up to three words; also a text without any
        word. In scripts without capital letters, up to three letters.
        """
        words = self._text_words.split()
        letters = [letter for letter in self._text_words if letter.isalpha()]
        # Without letters of two cases there may be no spaces, and one word is a whole sentence.
        if not has_cases(self._text_words) and len(letters) > _BARE_LETTERS:
            return False
        numbers = [word for word in words if any(map(str.isdecimal, word))]
        return len(words) == 1 or len(words) <= min(_BARE_WORDS, 2 * len(numbers))

    def read(self, listed: Sequence[str]) -> list[str] | None:
        """Read a model's list; no two claims of the same words, no copies of the example.

        Each line of a claim is a claim, and a bare text that is the claim gets its question in
        front. None if the list cannot be believed: it is longer than the text can hold, has JSON
        in place of a claim, or holds nothing but copies and blanks. An empty list stays empty.
        """
        size = sum(map(len, listed))
        if len(listed) > 10 + len(self.text) // 4 or size > 1_000 + 20 * len(self.text):
            return None
        if any(map(_is_json, listed)):
            return None
        single: list[str] = []
        for claim in listed:
            if not self._is_of_example(claim):
                single += claim.splitlines()
        claims = [self._behind_question(claim.strip()) for claim in distinct(single)]
        return None if listed and not claims else claims

    def strays(self, claims: Sequence[str]) -> list[str]:
        """Return the claims that may not be the text's.

        They do not stand in it word by word, and have a number or a name that neither text nor
        question has, or mostly other words.
        """
        found: list[str] = []
        for claim in claims:
            if by_words(claim) in self._text_words:
                continue
            new = novelty(claim, self.text, self.question, strict=True)
            if new.number or new.name or new.share > _MOSTLY_NEW:
                found.append(claim)
        return found

    def untouched(self, claims: Sequence[str]) -> list[str]:
        """Return the sentences of the text that the claims may have left out.

        The claims have not all of a sentence's numbers and names, or not a good part of its
        letters. Table heads are never among them, and of a bare text there are none.
        """
        if self.is_bare:
            return []
        lines = distinct(sentences(_TABLE_HEAD.sub("", self.text)))
        said = set(map(by_words, claims))
        all_claims = "\n".join(claims)  # one by one, long lists would take minutes
        found: list[str] = []
        for line in lines:
            if by_words(line) in said:
                continue
            told = _MARK.sub("", _ITEM.sub("", line))
            new = novelty(told, all_claims, aside=self.question)
            if new.number or new.name or new.share > _PARTLY_NEW:
                found.append(line)
        return found

    def _is_of_example(self, claim: str) -> bool:
        """Tell whether it is copied from the example that the model is asked with."""
        words = by_words(claim)
        is_echo = words in self._instruction_words and len(words.split()) >= _SHORTEST_ECHO
        is_own = words in self._text_words or self._text_words in self._instruction_words
        return is_echo and not is_own

    def _behind_question(self, claim: str) -> str:
        """Return the claim, with the question in front where it is all that a bare text says."""
        is_all = self.is_bare and by_words(claim) == self._text_words
        if is_all and self.question.strip():
            return f"{self.question.strip()} {claim}"
        return claim


def _is_json(claim: str) -> bool:
    """Tell whether it is a JSON list or object. A list of numbers, or of nothing, is a mark."""
    text = claim.strip()
    if not text.startswith(("[", "{")):
        return False
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, list):
        return True
    return not all(isinstance(each, int) for each in cast("list[object]", value))
