"""Can a model judge, and how is it to be asked? A few statements of known answer tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from noisesense.verdicts.form import Cell

Form = Literal["list", "each"]
Probe = tuple[Form | None, str]
Ask = Callable[[Form, str, Sequence[str]], Awaitable[Sequence[Cell]]]

# Plain and short, in lists as long as real ones, in an order that tells nothing. 7 are true and 11
# are not: no constant answer passes.
_TEXTS: tuple[tuple[str, dict[str, bool]], ...] = (
    (
        "The Lindholm bridge was opened in 1932. It carries trains.",
        {
            "The Lindholm bridge was designed by a woman.": False,
            "The Lindholm bridge was opened in 1932.": True,
            "The Lindholm bridge carries cars.": False,
            "The Lindholm bridge was opened in 1950.": False,
            "The Lindholm bridge carries trains.": True,
            "The Lindholm bridge is painted green.": False,
        },
    ),
    (
        "Octopuses have three hearts and blue blood.",
        {
            "Octopuses have blue blood.": True,
            "Octopuses live in warm seas.": False,
            "Octopuses have two hearts.": False,
            "Octopuses have three hearts.": True,
            "Octopuses have red blood.": False,
            "Octopuses are intelligent.": False,
        },
    ),
    (
        "Amara Osei was born in Ghana and teaches music in Lisbon.",
        {
            "Amara Osei has two children.": False,
            "Amara Osei teaches music.": True,
            "Amara Osei was born in Portugal.": False,
            "Amara Osei was born in Ghana.": True,
            "Amara Osei plays the violin.": False,
            "Amara Osei teaches in Lisbon.": True,
        },
    ),
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
