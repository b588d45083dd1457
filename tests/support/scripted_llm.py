"""Language models in the judge's own protocol, without a network: scripted, gated, spoiled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from noisesense import ReplyError, Sample, Usage, Verdicts
from support.mind import Mind, data_of, items_of, reply_of

S = TypeVar("S", bound=BaseModel)
Answer = Callable[[str], "str | Exception"]


class ScriptedLLM:
    """Replies what ``answer(prompt)`` says: text that is read as a reply, or an error to raise."""

    def __init__(self, answer: Answer, *, name: str = "scripted") -> None:
        self.name = name
        self.answer = answer
        self.prompts: list[str] = []
        self.running = 0
        self.most_running = 0

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        self.prompts.append(prompt)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await self.wait()
        finally:
            self.running -= 1
        reply = self.answer(prompt)
        if isinstance(reply, Exception):
            raise reply
        usage = Usage(calls=1, input_tokens=len(prompt), output_tokens=len(reply))
        try:
            return schema.model_validate_json(reply), usage
        except ValidationError:
            raise ReplyError("not in the form asked for", usage) from None

    async def wait(self) -> None:
        """What happens while the model thinks: other tasks run."""
        await asyncio.sleep(0)

    @property
    def data(self) -> list[dict[str, Any]]:
        """The data of every prompt so far."""
        return [data_of(prompt) for prompt in self.prompts]


class GatedLLM(ScriptedLLM):
    """Lets its calls go on only in rounds: when nobody does anything but wait for it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.rounds: list[int] = []
        self._gate = asyncio.Event()

    async def wait(self) -> None:
        await self._gate.wait()

    async def drive(self, work: asyncio.Task[Any], rounds: int = 99) -> None:
        """Open the gate for one round after another until the work is done.

        With ``rounds`` it stops before the round after those, with its calls waiting.
        """
        while not work.done():
            for _ in range(200):  # enough for every task to reach its next wait
                await asyncio.sleep(0)
            if self.running:
                if len(self.rounds) == rounds:
                    return
                self.rounds.append(self.running)
                self._gate.set()
                self._gate = asyncio.Event()
        await work


def scripted(*pairs: tuple[Sample, Verdicts], name: str = "scripted") -> ScriptedLLM:
    """A model that knows the verdicts of these samples."""
    return ScriptedLLM(Mind(pairs).answer, name=name)


def is_decomposition(prompt: str) -> bool:
    """Does it ask for claims?"""
    return "text" in data_of(prompt)


def without(reply: str, ids: Iterable[int]) -> str:
    """A reply in which the verdicts on these claims are left out."""
    ids = set(ids)
    return reply_of([item for item in items_of(reply) if item["id"] not in ids])
