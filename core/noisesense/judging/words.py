"""Words without a language: which texts say the same words, and what in a text is new."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

# What stands around words and changes nothing. Signs that do ("-5", "C++", "10%") are not here.
_AROUND = ".,;:!?…\"'`()[]{}*_“”„«»‘’‹›¿¡。，、；：！？「」『』（）《》｡،؛؟।॥۔"
# East Asian marks that stand between words without a space. NFKC makes "," of "，".
_BETWEEN = str.maketrans(dict.fromkeys("、。「」『』《》", " "))
# Thai to Myanmar, Khmer, kana and Han: a stretch between spaces may be a whole sentence.
_UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_STRETCH = re.compile(rf"(?:(?!\d)[{_UNSPACED}])+")
_SIGNS = r"\s\d!-/:-@\[-`{-¿–—‘-‟…、。「」『』《》，！？：；（）،؛؟।॥۔"
_WORD = re.compile(f"{_STRETCH.pattern}|[^{_UNSPACED}{_SIGNS}]+")
_DIGITS = re.compile(r"\d{1,15}")
_GRAM = 3
_NEW_PAIRS = 4
_FEWEST_NEW_PAIRS = 3
"""So many new pairs of letters in a row may be a name, in scripts without capital letters."""
_NUMBER = 4
_PAIR = 2
"""What a number and a pair of letters weigh, in letters of words."""


@lru_cache(maxsize=512)  # a list is held against its text from several sides
def by_words(text: str) -> str:
    """Return a text's words, a space apart: without case and the punctuation around words.

    Two texts that have the same words say the same. Signs in a word, and those that change one,
    are kept: ``don't``, ``-5``, ``5%`` and ``C++`` stay what they are, and of full width they are
    ASCII. "" if there is no word.
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


class _Word(NamedTuple):
    """A word, as runs of letters."""

    grams: tuple[str, ...]
    weight: int
    is_capital: bool
    is_first: bool
    has_cases: bool


class Vocabulary(NamedTuple):
    """What a text is made of.

    Attributes:
        numbers: its numbers, whatever the script of their digits. A sign parts them ("3.5" is 3
            and 5), and more than 15 digits are taken in pieces.
        words: its words.
        by_gram: for each run of three letters, the positions of the words that have it.
        stretches: what stands between spaces and punctuation in scripts where that may be a whole
            sentence: as pairs of letters.
        pairs: all of these pairs, and their letters.
    """

    numbers: frozenset[int]
    words: list[_Word]
    by_gram: dict[str, list[int]]
    stretches: list[list[str]]
    pairs: frozenset[str]

    def has(self, word: _Word) -> bool:
        """Tell whether the text has the word, if only in another form, as with an ending.

        The text has to have a word with half of the given word's runs of letters. If that may be a
        name, some word of the text must also have its first run.
        """
        if (word.is_capital or not word.has_cases) and word.grams[0] not in self.by_gram:
            return False
        shared = Counter[int]()
        for gram in word.grams:
            shared.update(self.by_gram.get(gram, ()))
        return 2 * max(shared.values(), default=0) >= len(word.grams)


class Novelty(NamedTuple):
    """What of a text is new beside others.

    Attributes:
        number: has it a number that they have not?
        name: has it a word that may be a name, and that they have not? In scripts without
            capital letters any word may be one that begins otherwise.
        share: of its letters, those in words that they have not; 0 to 1. A number counts as four
            letters if they have it, else not at all.
    """

    number: bool
    name: bool
    share: float


@lru_cache(maxsize=512)
def vocabulary(text: str) -> Vocabulary:
    """Take a text apart: numbers, words as runs of letters, and pairs of letters.

    The result is kept for the next call with the same text, so nobody may change it.
    """
    plain = unicodedata.normalize("NFKD", text)  # Korean letters, too
    words: list[_Word] = []
    by_gram: dict[str, list[int]] = {}
    stretches: list[list[str]] = []
    for at, word in enumerate(_WORD.findall(plain)):
        folded = word.casefold()
        if _STRETCH.match(word):
            stretches.append(list(map("".join, pairwise(f" {folded} "))))
            continue
        grams = _runs(folded)
        for gram in set(grams):
            by_gram.setdefault(gram, []).append(len(words))
        is_capital = word[:1].isupper()
        words.append(_Word(grams, len(word), is_capital, at == 0, has_cases(word)))
    numbers = frozenset(map(int, _DIGITS.findall(plain)))
    pairs = frozenset(chain(*stretches))
    return Vocabulary(numbers, words, by_gram, stretches, pairs.union("".join(pairs)))


def has_cases(text: str) -> bool:
    """Tell whether any letter has a capital and a small form, whichever of them stands there.

    In scripts without, spaces need not part words.
    """
    return text.casefold() != text.upper()


def _runs(word: str) -> tuple[str, ...]:
    """Return all runs of three letters; a shorter word is one run."""
    last = max(len(word) - _GRAM, 0)
    return tuple(word[start : start + _GRAM] for start in range(last + 1))


def novelty(text: str, *others: str, aside: str = "", strict: bool = False) -> Novelty:
    """Tell what of a text is new beside others, in any language. The caller decides what follows.

    Args:
        text: the text. Of an empty one, nothing is new.
        others: the texts in which its words are looked for; without any, all of it is new.
        aside: a text whose words are left out of the share, and are never new names or numbers. If
            ``text`` has no other words, ``aside`` is ignored.
        strict: less is enough for a name: a capitalized word at the head of the text, one new
            letter.
    """
    own = vocabulary(text)
    known = vocabulary("\n".join(others))
    beside = vocabulary(aside)
    letters = Counter[bool]()  # by whether they are new
    names = 0
    for word in own.words:
        if beside.has(word):
            continue
        is_new = not known.has(word)
        letters[is_new] += word.weight
        if word.has_cases:  # at the head of a text every word has a capital letter
            is_name = word.is_capital and (strict or not word.is_first)
        else:
            is_name = word.grams[0] not in known.by_gram
        names += is_new and is_name
    for pair in chain(*own.stretches):
        if pair not in beside.pairs:
            letters[pair not in known.pairs] += _PAIR
    if aside and not letters:
        return novelty(text, *others, strict=strict)
    numbers = known.numbers | beside.numbers
    letters[False] += _NUMBER * len(own.numbers & numbers)
    pairs = known.pairs | beside.pairs
    names += sum(_has_new_row(stretch, pairs, strict=strict) for stretch in own.stretches)
    share = letters[True] / max(letters.total(), 1)
    return Novelty(not own.numbers <= numbers, names > 0, share)


def _has_new_row(stretch: Iterable[str], known: Collection[str], *, strict: bool) -> bool:
    """Tell whether several pairs in a row are new (one is, at any joint), or a letter is."""
    most = _FEWEST_NEW_PAIRS if strict else _NEW_PAIRS
    row = 0
    for pair in stretch:
        row = 0 if pair in known else row + 1
        has_new_letter = strict and not all(letter in known for letter in pair)
        if row == most or has_new_letter:
            return True
    return False
