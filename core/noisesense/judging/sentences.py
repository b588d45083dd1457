"""Where sentences begin and end."""

from __future__ import annotations

import re
from collections.abc import Iterator

# After a Western mark there is a space; after an East Asian one there need not be. A row of marks
# is tried from its first alone: from each of them a long row would take minutes.
_END = re.compile(r"(?<![.!?…؟۔।])[.!?…؟۔।]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[\"'”’」』）)]*|\n+")
# After a number, where the full stop makes an ordinal of it: "am 10. Mai", "im 16. Jahrhundert".
_ORDINAL = re.compile(
    r"\s*(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Jahrhundert)"
)
NUMBER = r"(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[ivxIVX]{1,4})"
"""Of an item in a list: "1", "2.3", "a", "iv"."""
_NUMBER_ALONE = re.compile(rf"[\W_]*{NUMBER}")
_NEXT = re.compile(r"\s*(\S?)")
# An abbreviation before a full stop, or an initial, which has to be a capital letter ("U.S").
_SHORT = re.compile(
    r"(?:^|[\s\"'“‘(\[])(?:(?:\w\.)*([^\W\d_])|(?i:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|al|e\.g|i\.e|cf"
    r"|fig|no|vol|pp|inc|ltd|co|corp|approx))\Z"
)


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without the white space around it.

    A sentence ends at a line's end, at an East Asian full stop, and at a Western one before white
    space and anything but a small letter; not after initials ("J. K. Rowling"), a few
    abbreviations ("Dr.", "e.g."), a letter before a number ("p. 5") and the number of a list's
    item ("1.", "a."). What holds no letter and no digit is no sentence.
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
    start = 0
    for match in _END.finditer(text):
        is_western = match[0][0] not in "。！？｡\n"
        if is_western and _goes_on(text, start, match):
            continue
        yield match.end()
        start = match.end()


def _goes_on(text: str, start: int, mark: re.Match[str]) -> bool:
    """Does the sentence that begins there go on behind a Western mark?"""
    found = _NEXT.match(text, mark.end())
    following = found[1] if found else ""
    if following.islower():
        return True
    if text[mark.start() - 1].isdecimal() and _ORDINAL.match(text, mark.end()):
        return True
    return mark[0][0] == "." and _is_part_of_word(text, start, mark, following)


def _is_part_of_word(text: str, start: int, stop: re.Match[str], following: str) -> bool:
    """Is the full stop that of an item's number, an initial or an abbreviation?"""
    if _NUMBER_ALONE.fullmatch(text, start, stop.start()):
        return True
    if text[stop.end()] == "\n":
        return False
    short = _SHORT.search(text[max(stop.start() - 20, 0) : stop.start()])
    if short is None:
        return False
    is_before_number = following.isdecimal()  # "p. 12", "c. 1850"
    return short[1] is None or short[1].isupper() or is_before_number
