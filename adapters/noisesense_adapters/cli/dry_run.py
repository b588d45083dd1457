"""What ``noisesense score --judge`` would cost, counted with a stand-in for the model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from noisesense import LLMJudge, Sample
from noisesense.judging.calls import run_blocking
from noisesense.judging.prompts import Answer, Budget, Claims
from noisesense.judging.protocol import Usage
from noisesense.judging.sentences import sentences
from noisesense.scoring.results import Choices
from noisesense.stats.summarize import counted
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.evaluate.evaluator import skip_judging

S = TypeVar("S", bound=BaseModel)

_TOKEN = 4
"""Characters of a token: of English; in other languages fewer."""
_TEXT = "\nText: "


@dataclass(frozen=True)
class Asked:
    """How a model is asked.

    Attributes:
        check: as `noisesense.LLMJudge` takes it. With "auto" the fewest calls are those of
            "list" and the most those of "each"; its test of the model comes on top.
        plan: as `noisesense.LLMJudge` takes it.
        votes: likewise.
        text_chars: of a text in one call, at most.
        keeps: are replies kept, so that nothing is asked twice?
    """

    check: str = "list"
    plan: str = "lazy"
    votes: int = 1
    text_chars: int | None = None
    keeps: bool = False


class Price(NamedTuple):
    """What a run asks for: the calls, and about how many tokens they take."""

    calls: int
    tokens: int


@dataclass
class StandIn:
    """A model that takes each sentence for a claim and answers every question alike.

    Attributes:
        answer: of every statement: "yes" leads to the fewest calls, "no" to the most.
        asked: how it is asked.
    """

    answer: str
    asked: Asked
    calls: int = 0
    characters: int = 0
    prompts: Counter[int] = field(default_factory=Counter[int])

    def judge(self, check: str) -> LLMJudge:
        """A judge that asks it."""
        chars = self.asked.text_chars
        options: dict[str, Any] = {"check": check, "plan": self.asked.plan}
        options |= {"votes": self.asked.votes, "budget": chars and Budget.of(chars)}
        return LLMJudge(self, **options)

    @property
    def price(self) -> Price:
        """Of all it was asked for."""
        return Price(self.calls, self.characters // _TOKEN)

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """The reply. It is counted unless a store would have it."""
        reply = self._reply(prompt, schema)
        key = hash(prompt)
        self.prompts[key] += 1
        paid = 1 if issubclass(schema, Claims) else self.asked.votes
        if not self.asked.keeps or self.prompts[key] <= paid:
            self.calls += 1
            self.characters += len(prompt) + len(json.dumps(reply))
        return schema.model_validate(reply), Usage()

    def _reply(self, prompt: str, schema: type[BaseModel]) -> dict[str, Any]:
        """The claims of the prompt's text, or the answer to each statement in the prompt."""
        if issubclass(schema, Claims):
            # Each text is a JSON string on a line of its own; the last is not the example's.
            text = prompt.rpartition(_TEXT)[2].partition("\n")[0]
            return {"claims": sentences(json.loads(text))}
        if issubclass(schema, Answer):
            return {"answer": self.answer}
        numbers = schema.model_json_schema()["properties"]  # of the statements
        return dict.fromkeys(numbers, self.answer)


@dataclass(frozen=True)
class Estimate:
    """What a run will ask for, if every reply can be used.

    Attributes:
        samples: that are judged.
        chunks: theirs.
        unread: rows that cannot be read.
        least: nothing is wrong.
        most: no claim is supported by the reference.
    """

    samples: int
    chunks: int
    unread: int
    least: Price
    most: Price

    def to_dict(self, rate: int) -> dict[str, Any]:
        """As JSON holds it, with the minutes at so many calls a minute."""
        counts = {"samples": self.samples, "chunks": self.chunks, "unread": self.unread}
        prices: dict[str, Any] = {}
        for name, price in (("least", self.least), ("most", self.most)):
            prices[name] = {**price._asdict(), "minutes": price.calls / rate}
        return {**counts, **prices}

    def sentences(self, name: str, rate: int) -> Iterator[str]:
        """The same in words."""
        counts = [counted(self.samples, "sample"), counted(self.chunks, "chunk")]
        if self.unread:
            counts.append(f"{counted(self.unread, 'row')} that cannot be read")
        yield f"{name}: {', '.join(counts)}"
        calls = _extent(f"{self.least.calls:,}", f"{self.most.calls:,}")
        tokens = _extent(f"{self.least.tokens:,}", f"{self.most.tokens:,}")
        yield f"{calls} calls if every reply can be used: fewer where fewer claims are wrong."
        yield f"About {tokens} tokens, taken as {_TOKEN} characters each."
        minutes = _extent(f"{self.least.calls / rate:.1f}", f"{self.most.calls / rate:.1f}")
        yield f"{minutes} minutes at {rate:,} calls a minute (--rate). Nothing was asked."


def estimate(rows: Iterable[Row | BadRow], asked: Asked, chosen: Choices) -> Estimate:
    """Count what judging the rows would ask for.

    Args:
        rows: of the dataset.
        asked: how the model is asked.
        chosen: how samples are scored; some definitions need no judge where nothing was retrieved.
    """
    low, high = (StandIn(answer, asked) for answer in ("yes", "no"))
    is_tested = asked.check == "auto"
    judges = [
        low.judge("list" if is_tested else asked.check),
        high.judge("each" if is_tested else asked.check),
    ]
    definition = chosen.get("definition") or "ragas"
    samples = chunks = unread = 0
    for row in rows:
        if isinstance(row, BadRow) or row.sample is None:
            unread += 1
            continue
        samples += 1
        chunks += len(row.sample.retrieved_contexts)
        if skip_judging(row.sample, definition) is None:
            run_blocking(_ask(judges, row.sample))
    return Estimate(samples, chunks, unread, low.price, high.price)


async def _ask(judges: Iterable[LLMJudge], sample: Sample) -> None:
    for judge in judges:
        await judge.judge(sample)


def _extent(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
