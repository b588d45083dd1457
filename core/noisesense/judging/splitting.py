"""How much text a model takes in one call: what is too long for it is asked about in parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from noisesense.errors import PromptTooLongError
from noisesense.judging.calls import gather_all
from noisesense.judging.prompts import split_text

T = TypeVar("T")

_SHORTEST = 500
"""Characters of a part at least: what stands around a shorter one takes more room than it does."""


class TextLimit:
    """How many characters of a text one call may hold: the budget's, or fewer if it has to be.

    Args:
        chars: to begin with.
    """

    def __init__(self, chars: int) -> None:
        self._chars = chars

    async def ask(
        self,
        text: str,
        question: Callable[[str], Awaitable[T]],
        *,
        overlap: int = 0,
        most: int = 0,
    ) -> list[T]:
        """Return the answers on all parts of the text, in their order.

        A part that is too long for the model is split into parts of half its size, and those again
        if need be. Texts that come later are split so small from the beginning: not each of them
        pays for a call that is refused. An empty text is asked about as one part.

        Args:
            text: to be split.
            question: asks about one part.
            overlap: of the parts, in characters; a quarter of a part at most.
            most: characters of a part, by default as many as a call may hold.

        Raises:
            PromptTooLongError: a part of less than 1,000 characters is too long. Other errors of
                ``question`` are passed on.
        """
        most = most or self._chars
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
        of_halves = await self.ask(part, question, overlap=overlap, most=half)
        self._chars = min(self._chars, half)
        return of_halves
