"""Can a model judge, and how is it to be asked? A few statements of known answer tell."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from noisesense.verdicts.form import Cell

Form = Literal["list", "each"]
Probe = tuple[Form | None, str]
Ask = Callable[[Form, str, Sequence[str]], Awaitable[Sequence[Cell]]]

# Plain and short, in lists as long as real ones, in an order that tells nothing. 7 are true and 11
# are not: no constant answer passes.
_TEXTS: tuple[tuple[str, dict[str, bool]], ...] = tuple(
    json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")).items()
)
_COUNT = sum(len(truth) for _, truth in _TEXTS)

# Each form, and how many answers may be wrong. Real lists are longer still, and every claim more
# costs a small model accuracy: one mistake at most. One by one three may be wrong; who guesses
# passes in 4 of 1,000 tries.
_FORMS: tuple[tuple[Form, str, int], ...] = (("list", "in a list", 1), ("each", "one by one", 3))


async def probe(ask: Ask) -> Probe:
    """Ask in both forms, the cheaper one first.

    Args:
        ask: in a form, which of the statements the text entails.

    Returns:
        The first form in which few enough of the answers were wrong or missing, or None; and a
        sentence about it.
    """
    failures: list[str] = []
    for form, how, most in _FORMS:
        wrong: list[str] = []
        for text, truth in _TEXTS:
            said = await ask(form, text, list(truth))
            answers = zip(truth, said, strict=True)
            wrong += [claim for claim, answer in answers if answer is not truth[claim]]
        if len(wrong) <= most:
            passed = f'check="{form}": the model answered known statements well {how}'
            return form, "; ".join([passed, *failures])
        failures.append(
            f"{how} it answered {len(wrong)} of {_COUNT} statements wrongly or not at all"
            f' (such as "{wrong[0]}")'
        )
    return None, (
        f"{'; '.join(failures)}. Hint: use a larger model, or a temperature of 0; "
        'check="list" or check="each" (--check) overrules this'
    )
