"""What ``noisesense score --judge`` would cost, counted with a stand-in for the model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from noisesense import InputError, LLMJudge, ReplyError, Sample, StructuredLLM, VerdictStore
from noisesense.judging.calls import run_blocking
from noisesense.judging.prompts import Budget, Claims
from noisesense.judging.protocol import Choice, Usage
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
        model: whose replies the store has; None: there is no store yet.
        store: its replies are taken, and nothing is written to it.
    """

    check: str = "list"
    plan: str = "lazy"
    votes: int = 1
    text_chars: int | None = None
    keeps: bool = False
    model: StructuredLLM | None = None
    store: VerdictStore | None = None


class _OnlyRead:
    """A store to which nothing is added: neither a reply nor a claim on a call."""

    def __init__(self, store: VerdictStore) -> None:
        self.get = store.get

    async def claim(self, key: str, *, over: str | None = None) -> bool:
        return True

    async def put(self, *_: object) -> None: ...

    async def release(self, key: str) -> None: ...


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
    repeats: int = 0
    prompts: Counter[int] = field(default_factory=Counter[int])

    @property
    def name(self) -> str:
        """The model's: with it and `identity`, its replies are found in a store."""
        return getattr(self.asked.model, "name", "")

    @property
    def identity(self) -> str:
        """Likewise."""
        return getattr(self.asked.model, "identity", "")

    def judge(self, check: str) -> LLMJudge:
        """A judge that asks it, for what the store does not have."""
        chars = self.asked.text_chars
        options: dict[str, Any] = {"check": check, "plan": self.asked.plan}
        options |= {
            "votes": self.asked.votes,
            "budget": None if chars is None else Budget.of(chars),
        }
        if self.asked.store is not None:
            options["store"] = _OnlyRead(self.asked.store)
        return LLMJudge(self, **options)

    @property
    def price(self) -> Price:
        """Of all it was asked for."""
        return Price(self.calls, self.characters // _TOKEN)

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """The reply. It is counted unless a store would have it."""
        reply = self._reply(prompt, schema)
        votes = 1 if issubclass(schema, Claims) else self.asked.votes
        self._count(prompt, json.dumps(reply), votes)
        return schema.model_validate(reply), Usage()

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """The reply as a word, as models are asked about a single claim."""
        self._count(prompt, self.answer, self.asked.votes)
        return Choice(self.answer), Usage()

    def _count(self, prompt: str, reply: str, votes: int) -> None:
        key = hash(prompt)
        self.prompts[key] += 1
        is_repeat = self.prompts[key] > votes
        self.repeats += is_repeat
        if not is_repeat or not self.asked.keeps:
            self.calls += 1
            self.characters += len(prompt) + len(reply)

    def _reply(self, prompt: str, schema: type[BaseModel]) -> dict[str, Any]:
        """The claims of the prompt's text, or the answer to each statement in the prompt."""
        if issubclass(schema, Claims):
            # Each text is a JSON string on a line of its own; the last is not the example's.
            text = prompt.rpartition(_TEXT)[2].partition("\n")[0]
            return {"claims": sentences(json.loads(text))}
        numbers = schema.model_json_schema()["properties"]  # of the statements
        return dict.fromkeys(numbers, self.answer)


@dataclass(frozen=True)
class Estimate:
    """What a run will ask for, if every reply can be used.

    Attributes:
        samples: that are judged.
        chunks: theirs.
        unread: rows that cannot be read.
        unasked: samples with nothing to measure, about which nobody is asked.
        least: the fewest calls, as if nothing were wrong, and the fewest tokens.
        most: the most calls, as if no claim were supported by the reference, and the most tokens.
        store: whose replies are not asked for again; None: there are none.
        repeats: calls, at least, that ask what another one did, about another row or the same (its
            answer is its reference), and are made as nothing is kept.
        is_tested: the model is tested first, which is not counted.
    """

    samples: int
    chunks: int
    unread: int
    unasked: int
    least: Price
    most: Price
    store: str | None = None
    repeats: int = 0
    is_tested: bool = False

    @property
    def has_something(self) -> bool:
        """Is there a sample to judge? If not, a run measures nothing."""
        return self.samples > self.unasked

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
        if not self.has_something:
            yield "There is nothing to judge: it would ask nothing."
            return
        calls = _extent(f"{self.least.calls:,}", f"{self.most.calls:,}")
        tokens = _extent(f"{self.least.tokens:,}", f"{self.most.tokens:,}")
        is_range = self.least.calls != self.most.calls
        more = ": the more claims are wrong, the more calls" if is_range else ""
        noun = "call" if calls == "1" else "calls"
        yield f"{calls} {noun} if every reply can be used{more}."
        if self.is_tested:
            yield "The test of the model comes on top: some 30 calls, once."
        if self.store is not None:
            yield f"What {self.store} holds is not asked again, and not counted."
        if self.repeats:
            fewer = f"at least {counted(self.repeats, 'call')} fewer"
            yield f"With --out or --store {fewer}: of what is asked twice, one reply is kept."
        guess = f"at {_TOKEN} characters each; the JSON of replies takes more"
        yield f"About {tokens} tokens, {guess}."
        minutes = _extent(f"{self.least.calls / rate:.1f}", f"{self.most.calls / rate:.1f}")
        yield f"{minutes} minutes at {rate:,} calls a minute (--rate). Nothing was asked."


def estimate(
    rows: Iterable[Row | BadRow],
    asked: Asked,
    chosen: Choices,
    on_error: Callable[[InputError], object],
) -> Estimate:
    """Count what judging the rows would ask for.

    Args:
        rows: of the dataset.
        asked: how the model is asked.
        chosen: how samples are scored; some definitions need no judge where nothing was retrieved.
        on_error: called with the error of each row that cannot be read.
    """
    low, high = (StandIn(answer, asked) for answer in ("yes", "no"))
    is_tested = asked.check == "auto"
    judges = [
        low.judge("list" if is_tested else asked.check),
        high.judge("each" if is_tested else asked.check),
    ]
    definition = chosen.get("definition") or "ragas"
    samples = chunks = unread = unasked = 0
    for row in rows:
        if isinstance(row, BadRow):
            unread += 1
            on_error(row.error)
        elif row.sample is not None:
            samples += 1
            chunks += len(row.sample.retrieved_contexts)
            if skip_judging(row.sample, definition) is None:
                run_blocking(_ask(judges, row.sample))
            else:
                unasked += 1
        elif row.verdicts is not None:  # of a host's row for which nothing was retrieved
            samples += 1
            unasked += 1
        else:
            unread += 1
            on_error(InputError("texts to judge", "only verdicts", where=row.place))
    # The fewest calls need not have the fewest tokens: each "yes" is longer than a "no".
    tokens = (low.price.tokens, high.price.tokens)
    return Estimate(
        samples=samples,
        chunks=chunks,
        unread=unread,
        unasked=unasked,
        least=Price(low.calls, min(tokens)),
        most=Price(high.calls, max(tokens)),
        store=None if asked.store is None else str(asked.store.path),
        is_tested=is_tested,
        repeats=0 if asked.keeps else min(low.repeats, high.repeats),
    )


async def _ask(judges: Iterable[LLMJudge], sample: Sample) -> None:
    for judge in judges:
        with suppress(ReplyError):  # sentences that are no claims: what was asked counts
            await judge.judge(sample)


def _extent(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
