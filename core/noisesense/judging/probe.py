"""Can a model judge, and how is it to be asked? A few statements of known answer tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

_TEXTS: tuple[tuple[str, dict[str, bool]], ...] = (
    (
        "The Lindholm bridge was opened in May 1932. It is 410 meters long and carries trains, "
        "but no cars. Two of its piers were renewed after the flood of 1954.",
        {
            "The bridge is 410 meters long.": True,
            "Cars may cross the bridge.": False,
            "The bridge was opened in 1923.": False,
            "Some of the piers were replaced after a flood.": True,
            "The bridge was designed by a woman.": False,
            "Trains cross the bridge.": True,
        },
    ),
    (
        "Dr. Amara Osei studies how octopuses sleep. In her trial with twelve animals, nine "
        "changed color while they slept. She has not found out why.",
        {
            "Osei knows why octopuses change color in their sleep.": False,
            "Twelve octopuses took part in the trial.": True,
            "Most of the animals in the trial changed color.": True,
            "Osei studies how dolphins sleep.": False,
            "The trial took place in Ghana.": False,
            "Amara Osei does research on octopuses.": True,
        },
    ),
)
_MOST_WRONG = 1

Ask = Callable[[str, str, Sequence[str]], Awaitable["Sequence[bool | None]"]]


class Probe(NamedTuple):
    """What came of asking.

    Attributes:
        form: the first of the two in which at most one of the twelve answers was wrong or
            missing; None if there was none.
        reason: a sentence about it.
    """

    form: Literal["list", "each"] | None
    reason: str


async def probe(ask: Ask) -> Probe:
    """Ask in both forms, the cheaper one first.

    Args:
        ask: in a form, which of the statements the text entails.
    """
    failures: list[str] = []
    forms: tuple[Literal["list", "each"], ...] = ("list", "each")
    for form in forms:
        answers: list[tuple[str, bool, bool | None]] = []
        for text, truth in _TEXTS:
            said = await ask(form, text, list(truth))
            answers += zip(truth, truth.values(), said, strict=True)
        failure = _failure(answers)
        if not failure:
            passed = "answered known statements well"
            if not failures:
                return Probe(form, f'check="list": the model {passed}, several in a call')
            return Probe(
                form, f'check="each": the model {passed} one by one; in a list it {failures[0]}'
            )
        failures.append(failure)
    return Probe(
        None,
        f"in a list it {failures[0]}; one by one it {failures[1]}. "
        'Hint: use a larger model, or overrule this by check="list" or check="each"',
    )


def _failure(answers: Sequence[tuple[str, bool, bool | None]]) -> str:
    """In words, if more than one answer is wrong or missing."""
    wrong = [(statement, truth, said) for statement, truth, said in answers if said is not truth]
    if len(wrong) <= _MOST_WRONG:
        return ""
    kinds = (
        (False, True, "said yes to {} of {} statements that the text does not support"),
        (True, False, "said no to {} of {} statements that the text supports"),
    )
    parts: list[str] = []
    for truth, said, words in kinds:
        found = [statement for statement, is_so, what in wrong if (is_so, what) == (truth, said)]
        if found:
            of = sum(is_so is truth for _, is_so, _ in answers)
            parts.append(f'{words.format(len(found), of)} (such as "{found[0]}")')
    missing = sum(said is None for _, _, said in wrong)
    if missing:
        parts.append(f"did not answer {missing} of {len(answers)}")
    return " and ".join(parts)
