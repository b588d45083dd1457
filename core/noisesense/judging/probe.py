"""Can a model judge, and how is it to be asked? Texts with known answers tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel

from noisesense.errors import ReplyError
from noisesense.judging.claims import ClaimSource
from noisesense.judging.prompts import Premise
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


Find = Callable[[ClaimSource], Awaitable[list[str]]]
"""The claims of a text that answers a question. Raises `ReplyError` if there is no usable list."""
Ask = Callable[[Form, Premise, Sequence[str]], Awaitable[Sequence[Cell]]]
"""In a form: which statements a text entails, read as the answer to a question if there is one."""


class _Statements(BaseModel):
    """A text with statements that it entails or not, in an order that tells nothing."""

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
_MOST_CLAIMS_WRONG = 2


async def probe(find: Find, ask: Ask) -> Probe:
    """Ask about claims, then about statements in both forms, the cheaper one first.

    A model passes with at most 2 of the known claims missing or invented, and with 1 statement
    wrong of all in a list, or 1 of each text one by one: real lists are longer still, and every
    claim more costs a small model accuracy. An answer that is missing is wrong.
    """
    wrong = await _wrong_claims(find)
    count = sum(len(known.claims) for known in known_texts().claims)
    found = f"took texts of {count} known claims apart with {len(wrong) or 'no'} mistakes"
    if len(wrong) > _MOST_CLAIMS_WRONG:
        return Probe(None, f"it {found} (such as {wrong[0]}). {_HINT}")
    failures: list[str] = []
    for form, how in _HOW.items():
        by_text = await _wrong_answers(ask, form)
        wrong = [statement for statements in by_text for statement in statements]
        if len(wrong) <= 1 or (form == "each" and max(map(len, by_text)) <= 1):
            passed = f'check="{form}": the model {found} and answered known statements well {how}'
            return Probe(form, "; ".join([passed, *failures]))
        example = f'(such as "{wrong[0]}")'
        failures.append(f"{how} it answered {len(wrong)} statements wrongly {example}")
    return Probe(None, f"{'; '.join(failures)}. {_HINT}")


_HINT = (
    "Hint: use a larger model, or a temperature of 0; "
    'check="list" or check="each" (--check) overrules this'
)


async def _wrong_claims(find: Find) -> list[str]:
    """Return each claim that it misses or invents, and each text that it cannot take apart."""
    wrong: list[str] = []
    for known in known_texts().claims:
        try:
            found = await find(ClaimSource(known.text, known.question))
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
    """Tell whether the claim has all of the words."""
    said = by_words(claim)
    return all(word in said for word in words.split())


async def _wrong_answers(ask: Ask, form: Form) -> list[list[str]]:
    """Return the statements of each text that it gets wrong in this form."""
    by_text: list[list[str]] = []
    for known in known_texts().statements:
        statements = list(known.truth)
        cells = await ask(form, Premise(known.text, known.question), statements)
        answers = zip(statements, cells, strict=True)
        by_text.append([each for each, cell in answers if cell is not known.truth[each]])
    return by_text
