"""Can a model judge, and how is it to be asked? A few statements of known answer tell."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

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
# Real lists are longer still, and every claim more costs a small model accuracy: one mistake at
# most. One by one three may be wrong; who guesses passes in 4 of 1,000 tries.
_MOST_WRONG = {"list": 1, "each": 3}

Ask = Callable[[str, str, Sequence[str]], Awaitable["Sequence[bool | None]"]]


class Probe(NamedTuple):
    """What came of asking.

    Attributes:
        form: the first of the two in which few enough of the answers were wrong or missing: one in
            lists, three one by one; None if there was none.
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
        failure = _failure(answers, _MOST_WRONG[form])
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
        "Hint: use a larger model, or a temperature of 0; "
        'check="list" or check="each" (--check) overrules this',
    )


def _failure(answers: Sequence[tuple[str, bool, bool | None]], most: int) -> str:
    """In words, if more than so many answers are wrong or missing."""
    wrong = [(statement, truth, said) for statement, truth, said in answers if said is not truth]
    if len(wrong) <= most:
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


class Once(Generic[T]):
    """Work that is done once, whoever asks for it: across tasks, threads and event loops.

    If whoever does it fails or is cancelled, the next who asks, or waits, does it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._future: Future[T] | None = None

    @property
    def result(self) -> T | None:
        """What came of it, if it is done."""
        future = self._future
        return future.result() if future is not None and future.done() else None

    async def get(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            with self._lock:
                theirs = self._future
                if theirs is None:
                    own = self._future = Future[T]()
                    own.set_running_or_notify_cancel()
                    break
            # A waiter's cancellation ends nobody else's waiting.
            with suppress(_LeftError):
                return await asyncio.wrap_future(theirs)
        try:
            result = await work()
        except BaseException as error:
            with self._lock:
                self._future = None
            own.set_exception(error if isinstance(error, Exception) else _LeftError())
            raise
        own.set_result(result)
        return result


class _LeftError(Exception):
    """Whoever did the work was cancelled."""
