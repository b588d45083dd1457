"""What is said in place of a claim: refusals, greetings, placeholders, "I could not find this"."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from itertools import chain
from pathlib import Path

# What stands around words and changes nothing. Signs that do ("-5", "C++", "10%") are not here.
AROUND = ".,;:!?…\"'`()[]{}*_“”„«»‘’‹›。，、；：！？「」『』（）《》｡"


class Phrases:
    """What is said in place of a claim, by language: `phrases.json`."""

    def __init__(self) -> None:
        data = json.loads(Path(__file__).with_name("phrases.json").read_text("utf-8"))
        self.function_words = frozenset(data["function_words"].split())
        self.numbers: dict[str, str] = {}
        for number, names in data["numbers"].items():
            self.numbers |= dict.fromkeys(names.split(), number)
        self.placeholders = frozenset(data["placeholder"])
        self.is_no_answer = _Phrase(data["no_answer"])
        self.is_idle = _Phrase(data["idle"])
        self.is_refusal = _Phrase(data["refusal"])


class _Phrase:
    """Is a statement one of these phrases? Patterns by language; most say how it begins."""

    def __init__(self, by_language: dict[str, list[str]]) -> None:
        beginnings: list[str] = []
        parts: list[str] = []
        for pattern in chain.from_iterable(by_language.values()):
            (beginnings if pattern.startswith("^") else parts).append(f"(?:{pattern})")
        # Apart, as the beginnings would be tried again at each character.
        self._beginning = re.compile("|".join(beginnings))
        self._part = re.compile("|".join(parts) or "(?!)")

    def __call__(self, statement: str) -> bool:
        plain = _plain(statement)
        return bool(self._beginning.match(plain) or self._part.search(plain))


def _plain(statement: str) -> str:
    plain = unicodedata.normalize("NFKC", statement).casefold().replace("’", "'")
    return " ".join(plain.split()).strip(AROUND)


@lru_cache(maxsize=1)
def phrases() -> Phrases:
    """Read once."""
    return Phrases()
