"""Can a model judge, and how is it to be asked? Texts with known answers tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel

from noisesense.errors import ReplyError
from noisesense.judging.words import by_words
from noisesense.verdicts.form import Cell

Form = Literal["list", "each"]


class Probe(NamedTuple):
    """What a test of a model has shown.

    Attributes:
        form: how to ask it; None if it can judge in neither form, or cannot find claims.
        reason: a sentence about it.
    """

    form: Form | None
    reason: str


Find = Callable[[str, str], Awaitable[list[str]]]
"""The claims of a text that answers a question. Raises `ReplyError` if there is no usable list."""
Ask = Callable[[Form, str, str, Sequence[str]], Awaitable[Sequence[Cell]]]
"""In a form: which statements a text entails, read as the answer to a question if there is one."""


class _Statements(BaseModel):
    """A text with statements that it entails or not, in an order that tells nothing."""

    part: str
    text: str
    question: str = ""
    truth: dict[str, bool]


class _Claims(BaseModel):
    """A text with the words of each of its claims."""

    text: str
    question: str
    claims: list[str]


class _KnownTexts(BaseModel):
    statements: list[_Statements]
    claims: list[_Claims]


@lru_cache(maxsize=1)
def known_texts() -> _KnownTexts:
    """Plain and short texts, in lists as long as real ones. No constant answer passes."""
    return _KnownTexts.model_validate_json(Path(__file__).with_suffix(".json").read_text("utf-8"))


_HOW: dict[Form, str] = {"list": "in a list", "each": "one by one"}
_PLAIN = "plain statements"
# Real lists are longer still, and every claim more costs a small model accuracy: one mistake at
# most. One by one three may be wrong; who guesses passes in 4 of 1,000 tries.
_MOST_WRONG: dict[Form, int] = {"list": 1, "each": 3}
_MOST_WRONG_ELSEWHERE = 1
_MOST_CLAIMS_WRONG = 2


async def probe(find: Find, ask: Ask) -> Probe:
    """Ask about claims, then about statements in both forms, the cheaper one first.

    A model passes with at most 2 of the known claims missing or invented, with 1 of the plain
    statements wrong in a list, or 3 one by one, and with 1 wrong among the negations and among
    the statements on a short reference. An answer that is missing is wrong.
    """
    wrong = await _wrong_claims(find)
    count = sum(len(known.claims) for known in known_texts().claims)
    if len(wrong) > _MOST_CLAIMS_WRONG:
        lists = f"it took texts of {count} known claims apart with {len(wrong)} mistakes"
        return Probe(None, f"{lists} (such as {wrong[0]}). {_HINT}")
    found = f"took texts of {count} known claims apart with {len(wrong) or 'no'} mistakes"
    failures: list[str] = []
    for form, how in _HOW.items():
        failure = await _failure(ask, form)
        if not failure:
            passed = f'check="{form}": the model {found} and answered known statements well {how}'
            return Probe(form, "; ".join([passed, *failures]))
        failures.append(f"{how} it answered {failure}")
    return Probe(None, f"{'; '.join(failures)}. {_HINT}")


_HINT = (
    "Hint: use a larger model, or a temperature of 0; "
    'check="list" or check="each" (--check) overrules this'
)


async def _wrong_claims(find: Find) -> list[str]:
    """Each claim that it misses or invents, and each text that it cannot take apart."""
    wrong: list[str] = []
    for known in known_texts().claims:
        try:
            found = await find(known.text, known.question)
        except ReplyError:
            wrong += [f'"{known.text}"'] * len(known.claims)
            continue
        for words in known.claims:
            if not any(_has(claim, words) for claim in found):
                wrong.append(f'no claim with "{words}" of "{known.text}"')
        for claim in found:
            if not any(_has(claim, words) for words in known.claims):
                wrong.append(f'"{claim}" of "{known.text}"')
    return wrong


def _has(claim: str, words: str) -> bool:
    """Has the claim all of the words?"""
    said = by_words(claim)
    return all(word in said for word in words.split())


async def _failure(ask: Ask, form: Form) -> str:
    """What it gets wrong in this form, part by part; empty if it is good enough."""
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    asked: Counter[str] = Counter()
    for known in known_texts().statements:
        statements = list(known.truth)
        asked[known.part] += len(statements)
        cells = await ask(form, known.text, known.question, statements)
        for statement, cell in zip(statements, cells, strict=True):
            if cell is not known.truth[statement]:
                wrong[known.part].append(statement)
    failed: list[str] = []
    for part, statements in wrong.items():
        most = _MOST_WRONG[form] if part == _PLAIN else _MOST_WRONG_ELSEWHERE
        if len(statements) > most:
            count = f"{len(statements)} of {asked[part]}"
            failed.append(f'{count} {part} wrongly or not at all (such as "{statements[0]}")')
    return " and ".join(failed)
