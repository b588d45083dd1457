"""Words without a language: which texts say the same words, and what in a text is new."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
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


def repetitions(texts: Sequence[str]) -> int:
    """Count the texts that say the words of an earlier one; those without a word aside."""
    said = [words for words in map(by_words, texts) if words]
    return len(said) - len(set(said))


class _Piece(NamedTuple):
    """A word, or a part of one in scripts without capital letters, and how much it weighs."""

    grams: frozenset[str]
    weight: int
    is_name: bool


class Vocabulary(NamedTuple):
    """What a text is made of.

    Attributes:
        numbers: its numbers, whatever the script of their digits.
        grams: the runs of letters that its words are made of, two or three letters each.
        pieces: what can be found again in other texts, or not.
    """

    numbers: frozenset[int]
    grams: frozenset[str]
    pieces: tuple[_Piece, ...]


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
    """Take a text apart: numbers, and words as runs of letters.

    A word counts as found again if half of its runs are, so that its inflected forms are, too.
    """
    plain = unicodedata.normalize("NFKC", text)
    numbers = frozenset(map(int, _DIGITS.findall(plain)))
    words = _WORD.findall(plain)
    grams: set[str] = set()
    pieces: list[_Piece] = []
    for word in words:
        for piece in _pieces(word):
            pieces.append(piece)
            grams |= piece.grams
    longer = [piece for piece in pieces if piece.weight > _SHORT]
    return Vocabulary(numbers, frozenset(grams), tuple(longer or pieces))


def _pieces(word: str) -> list[_Piece]:
    plain = word.casefold()
    if plain != word.upper():  # it has letters of two cases
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
    grams = frozenset[str]().union(*(each.grams for each in known))
    telling = [piece for piece in own.pieces if not _is_found(piece, beside.grams)]
    total = new = 0
    name = False
    for piece in telling or own.pieces:
        total += piece.weight
        if not _is_found(piece, grams):
            new += piece.weight
            name = name or piece.is_name
    share = new / total if total else 0.0
    return Novelty(not own.numbers <= numbers, name, share)


def _is_found(piece: _Piece, grams: frozenset[str]) -> bool:
    return 2 * len(piece.grams & grams) >= len(piece.grams)
