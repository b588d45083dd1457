"""Words without a language: which texts say the same words, and what in a text is new."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# What stands around words and changes nothing. Signs that do ("-5", "C++", "10%") are not here.
_AROUND = ".,;:!?…\"'`()[]{}*_“”„«»‘’‹›¿¡。，、；：！？「」『』（）《》｡،؛؟।॥۔"
# East Asian marks stand between words without a space.
_BETWEEN = str.maketrans(dict.fromkeys("，、；：。！？「」『』《》", " "))
_WORD = re.compile(r"[^\s\d!-/:-@\[-`{-¿–—‘-‟…、。「」『』《》，！？：；（）،؛؟।॥۔]+")
_DIGITS = re.compile(r"\d{1,15}")
_GRAM = 3
_CASELESS_GRAM = 2
_SHORT = 3
"""A word of so many letters or fewer counts only where a text has no longer one."""


@lru_cache(maxsize=512)  # a list is held against its text from several sides
def by_words(text: str) -> str:
    """Reduce a text to its words: without case, punctuation and white space.

    Two texts that are equal so say the same. Signs that change a word are kept, so that ``-5``,
    ``5%`` and ``C++`` stay what they are.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_BETWEEN)
    words = [word.strip(_AROUND) for word in plain.split()]
    return " ".join(filter(None, words))


def distinct(claims: Iterable[str]) -> list[str]:
    """Leave out the claims without a word, and those that say the words of an earlier one."""
    first: dict[str, str] = {}
    for claim in claims:
        first.setdefault(by_words(claim), claim)
    first.pop("", None)
    return list(first.values())


class _Piece(NamedTuple):
    """A word, or a part of one in scripts without capital letters, and how much it weighs."""

    grams: frozenset[str]
    weight: int
    is_name: bool


class Vocabulary(NamedTuple):
    """What a text is made of.

    Attributes:
        numbers: its numbers, whatever the script of their digits.
        pieces: its different words and how much each weighs, short ones aside where there are
            longer ones.
        by_gram: for each run of letters, two or three long, the words that have it.
    """

    numbers: frozenset[int]
    pieces: dict[_Piece, int]
    by_gram: dict[str, list[int]]

    def has(self, piece: _Piece) -> bool:
        """Has one of its words half of the piece's runs? So inflected forms are found, too."""
        shared = Counter[int]()
        for gram in piece.grams:
            shared.update(self.by_gram.get(gram, ()))
        return 2 * max(shared.values(), default=0) >= len(piece.grams)


class Novelty(NamedTuple):
    """What of a text is new beside others.

    Attributes:
        number: has it a number that they have not?
        name: has it a word that may be a name, and that they have not? In scripts without
            capital letters any new word may be one.
        share: of its letters, those in words that they have not; 0 to 1.
    """

    number: bool
    name: bool
    share: float


@lru_cache(maxsize=512)
def vocabulary(text: str) -> Vocabulary:
    """Take a text apart: numbers, and words as runs of letters."""
    plain = unicodedata.normalize("NFKC", text)
    numbers = frozenset(map(int, _DIGITS.findall(plain)))
    weights: dict[_Piece, int] = {}
    for word, times in Counter(_words(plain)).items():
        for piece in _pieces(word):
            weights[piece] = weights.get(piece, 0) + times * piece.weight
    by_gram: dict[str, list[int]] = {}
    for number, piece in enumerate(weights):
        for gram in piece.grams:
            by_gram.setdefault(gram, []).append(number)
    longer = {piece: weight for piece, weight in weights.items() if piece.weight > _SHORT}
    return Vocabulary(numbers, longer or weights, by_gram)


def _words(plain: str) -> Iterator[str]:
    """The words of a text; two where letters of two cases meet others ("LIC以其")."""
    for word in _WORD.findall(plain):
        start = 0
        for at, (before, letter) in enumerate(pairwise(word), start=1):
            is_in_words = before.isalpha() and letter.isalpha()
            if is_in_words and has_cases(before) is not has_cases(letter):
                yield word[start:at]
                start = at
        yield word[start:]


def has_cases(text: str) -> bool:
    """Has it letters of two cases? In scripts without, spaces need not part words."""
    return text.casefold() != text.upper()


def _pieces(word: str) -> list[_Piece]:
    plain = word.casefold()
    if has_cases(word):
        return [_Piece(_runs(plain, _GRAM), len(word), is_name=word[:1].isupper())]
    # Without spaces a "word" is a whole sentence: it is cut into parts of four letters.
    size = 2 * _CASELESS_GRAM
    pieces: list[_Piece] = []
    for start in range(0, max(len(plain) - 1, 1), size - 1):
        part = plain[start : start + size]
        pieces.append(_Piece(_runs(part, _CASELESS_GRAM), size, is_name=True))
    return pieces


def _runs(word: str, size: int) -> frozenset[str]:
    """All runs of so many letters; a shorter word is one run."""
    last = max(len(word) - size, 0)
    return frozenset(word[start : start + size] for start in range(last + 1))


def novelty(text: str, *others: str, aside: str = "") -> Novelty:
    """Tell what of a text is new beside others. Whatever the language, and without deciding.

    Args:
        text: the text.
        others: in whose words it may be found again.
        aside: a text whose words tell nothing; they count only where there are no others.
    """
    own = vocabulary(text)
    beside = vocabulary(aside)
    known = [vocabulary(other) for other in others]
    numbers = beside.numbers.union(*(each.numbers for each in known))
    telling = [piece for piece in own.pieces if not beside.has(piece)]
    total = new = 0
    name = False
    for piece in telling or own.pieces:
        weight = own.pieces[piece]
        total += weight
        if not any(each.has(piece) for each in known):
            new += weight
            name = name or piece.is_name
    share = new / total if total else 0.0
    return Novelty(not own.numbers <= numbers, name, share)


def has_new_name(text: str, *others: str) -> bool:
    """Tell whether a text has a word that may be a name, and that no word of the others begins as.

    Two short names have no run of three letters to compare. In scripts without capital letters
    any two letters in a row that are new may be one.
    """
    known = frozenset[str]().union(*map(_beginnings, others))
    return not _beginnings(text, names=True) <= known


@lru_cache(maxsize=512)
def _beginnings(text: str, *, names: bool = False) -> frozenset[str]:
    """How its words begin, or only those that may be names."""
    found: set[str] = set()
    for word in _words(unicodedata.normalize("NFKC", text)):
        plain = word.casefold()
        if not has_cases(word):
            found |= _runs(plain, _CASELESS_GRAM)
        elif not names or word[:1].isupper():
            found.add(plain[:_GRAM])
    return frozenset(found)
