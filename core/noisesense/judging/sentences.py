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
        mark = match[0][0]
        end = match.end()
        if mark not in "。！？｡\n":
            following = _NEXT.match(text, end)
            if following is not None and following[1].islower():
                continue
            if text[match.start() - 1].isdecimal() and _ORDINAL.match(text, end):
                continue
            before = text[max(match.start() - 20, 0) : match.start()]
            short = _SHORT.search(before) if mark == "." and text[end] != "\n" else None
            if short is not None and (short[1] is None or short[1].isupper()):
                continue
            is_before_number = following is not None and following[1].isdecimal()
            if short is not None and is_before_number:  # "p. 12", "c. 1850"
                continue
            if mark == "." and _NUMBER_ALONE.fullmatch(text, start, match.start()):
                continue
        yield end
        start = end
