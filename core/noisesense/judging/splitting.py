"""How much text a model takes in one call: what is too long for it is asked about in parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from noisesense.errors import PromptTooLongError
from noisesense.judging.calls import gather_all
from noisesense.judging.prompts import Budget, split_text

T = TypeVar("T")

_MOST_OVERLAP = 1_000
_SHORTEST = 500
"""Characters of a part at least: what stands around a shorter one takes more room than it does."""


class TextLimit:
    """How many characters of a text one call may hold: the budget's, or fewer if it has to be.

    Args:
        budget: to begin with.
    """

    def __init__(self, budget: Budget) -> None:
        self._chars = budget.text_chars

    async def ask(
        self, text: str, question: Callable[[str], Awaitable[T]], *, overlapping: bool = False
    ) -> list[T]:
        """Return the answers on all parts of the text, in their order.

        A part that is too long for the model is halved, and its halves are. Texts that come later
        are split so small from the beginning: not each of them pays for a call that is refused.

        Args:
            text: to be split.
            question: asks about one part.
            overlapping: do the parts overlap?

        Raises:
            PromptTooLongError: a part of less than 1,000 characters is too long.
        """
        overlap = _MOST_OVERLAP if overlapping else 0
        return await self._in_parts(text, self._chars, overlap, question)

    async def _in_parts(
        self, text: str, most: int, overlap: int, question: Callable[[str], Awaitable[T]]
    ) -> list[T]:
        parts = split_text(text, most, min(overlap, most // 4))
        by_part = await gather_all(self._answers(part, overlap, question) for part in parts)
        return [answer for of_part in by_part for answer in of_part]

    async def _answers(
        self, part: str, overlap: int, question: Callable[[str], Awaitable[T]]
    ) -> list[T]:
        half = len(part) // 2
        try:
            return [await question(part)]
        except PromptTooLongError:
            if half < _SHORTEST:
                raise
        of_halves = await self._in_parts(part, half, overlap, question)
        self._chars = min(self._chars, half)
        return of_halves
