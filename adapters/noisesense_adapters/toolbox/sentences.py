"""Where the sentences of a text begin and end, by its punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator

# After a Western mark there is a space; after an East Asian one there need not be.
_END = re.compile(r"[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[\"'”’」』）)]*|\n+")
_NEXT = re.compile(r"\s*(\S?)")
_ABBREVIATIONS = {
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "etc", "al", "e.g", "i.e", "cf",
    "fig", "no", "vol", "pp", "inc", "ltd", "co", "corp", "approx",
}  # fmt: skip


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without the white space around it.

    A sentence ends at a line's end, at an East Asian full stop, and at a Western one before white
    space and anything but a small letter; not after initials ("J. K. Rowling") and a few
    abbreviations ("Dr.", "e.g."). What holds no letter and no digit is no sentence.
    """
    start = 0
    for end in [*_ends(text), len(text)]:
        part = text[start:end]
        if any(map(str.isalnum, part)):
            yield start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        start = end


def sentences(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _ends(text: str) -> Iterator[int]:
    for match in _END.finditer(text):
        if match[0][0] in "。！？｡\n":
            yield match.end()
            continue
        following = _NEXT.match(text, match.end())
        if following is not None and following[1].islower():
            continue
        word = text[max(match.start() - 20, 0) : match.start()].split()[-1:]
        if match[0][0] == "." and word and _is_short(word[0].strip("\"'“‘(["), text[match.end()]):
            continue
        yield match.end()


def _is_short(word: str, space: str) -> bool:
    """An abbreviation or an initial: a single capital letter, or "U.S"."""
    initial = re.fullmatch(r"(\w\.)*[^\W\d_]", word) is not None and word[-1].isupper()
    return space != "\n" and (initial or word.lower() in _ABBREVIATIONS)
