"""Where sentences begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# After a Western mark there is a space; after an East Asian one there need not be. A row of marks
# is tried from its first alone: from each of them a long row would take minutes.
_END = re.compile(r"(?<![.!?…؟۔।])[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[\"'”’」』）)]*|\n+")
_NEXT = re.compile(r"\s*(\S?)")
# The number of an item ("1.", "iv.") is all that stands before its stop.
_ITEM = re.compile(r"[\W_]{0,8}(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivxIVX]{1,4})")
_LONGEST_ITEM = 60
_SHORT = re.compile(r"(?:\A|[\W_])([^\W_]{1,3})\Z")


def sentences(text: str) -> list[str]:
    """Split a text into sentences, without the white space around them.

    A sentence ends at a line's end, at an East Asian full stop, question or exclamation mark, and
    at another one (Western, Arabic, Indian) before white space and anything but a small letter. It
    goes on behind the full stop of a capital ("J. K. Rowling"), a single letter before a digit
    ("p. 5"), a word of two or three letters with a capital first ("Dr. Roth", and so "Bob. He"), a
    number of one or two digits ("am 3. Mai"), and the number of a list's item ("1.", "a."). What
    holds no letter and no digit is no sentence and is left out.
    """
    found: list[str] = []
    start = 0
    for end in [*_ends(text), len(text)]:
        part = text[start:end].strip()
        if any(map(str.isalnum, part)):
            found.append(part)
        start = end
    return found


def _ends(text: str) -> Iterator[int]:
    start = 0
    for match in _END.finditer(text):
        is_western = match[0][0] not in "。！？｡\n"
        if is_western and _goes_on(text, start, match):
            continue
        yield match.end()
        start = match.end()


def _goes_on(text: str, start: int, mark: re.Match[str]) -> bool:
    """Tell whether the sentence goes on there, behind a Western mark."""
    found = _NEXT.match(text, mark.end())
    following = found[1] if found else ""
    if following.islower():
        return True
    if mark[0][0] != ".":
        return False
    if mark.start() - start < _LONGEST_ITEM and _ITEM.fullmatch(text, start, mark.start()):
        return True
    short = _SHORT.search(text, max(mark.start() - 4, 0), mark.start())
    if short is None or text[mark.end()] == "\n":
        return False
    word = short[1]
    if word.isdecimal():
        return len(word) < 3
    if len(word) == 1 and following.isdecimal():
        return True
    return word[0].isupper() and not word[1:].isupper()
