"""The cost of ``noisesense score --judge``, counted with a stand-in for the model."""

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
from noisesense.scoring.definitions import DefinitionName
from noisesense.stats.summarize import counted
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.evaluate.evaluator import skip_judging

S = TypeVar("S", bound=BaseModel)

_TOKEN = 4
"""Characters of a token in English; other languages have fewer."""
_TEXT = "\nText: "


@dataclass(frozen=True)
class Request:
    """How a model is asked.

    Attributes:
        check: as `noisesense.LLMJudge` takes it. With "auto" the fewest calls are those of
            "list" and the most those of "each". The test of the model comes on top.
        plan: as `noisesense.LLMJudge` takes it.
        votes: as `noisesense.LLMJudge` takes it.
        text_chars: the most characters of a text in one call.
        keeps: are replies kept, so that nothing is asked twice?
        model: the model of the replies in the store; None without a store.
        store: a store whose replies are used, and to which nothing is written.
    """

    check: str
    plan: str
    votes: int
    text_chars: int | None
    keeps: bool
    model: StructuredLLM | None
    store: VerdictStore | None


class _ReadOnlyStore:
    """A store to which nothing is added: neither a reply nor a claim on a call."""

    def __init__(self, store: VerdictStore) -> None:
        self.get = store.get

    async def claim(self, key: str, *, over: str | None = None) -> bool:
        return True

    async def put(self, *_: object) -> None: ...

    async def release(self, key: str) -> None: ...


class Price(NamedTuple):
    """The calls of a run, and about how many tokens they take."""

    calls: int
    tokens: int


@dataclass
class StandIn:
    """A model that takes each sentence for a claim and answers every question alike.

    Attributes:
        answer: its answer to every statement: "yes" leads to the fewest calls, "no" to the most.
        request: how it is asked.
        calls: how many calls a run would make.
        characters: of their prompts and replies.
        repeats: calls that ask what an earlier call has asked.
        prompts: how often each prompt was asked, by its hash.
    """

    answer: str
    request: Request
    calls: int = 0
    characters: int = 0
    repeats: int = 0
    prompts: Counter[int] = field(default_factory=Counter[int])

    @property
    def name(self) -> str:
        """The name of the model. A store finds replies by it and by `identity`."""
        return getattr(self.request.model, "name", "")

    @property
    def identity(self) -> str:
        """The identity of the model."""
        return getattr(self.request.model, "identity", "")

    def judge(self, check: str) -> LLMJudge:
        """A judge that asks the stand-in for what the store does not have."""
        options: dict[str, Any] = {
            "check": check,
            "plan": self.request.plan,
            "votes": self.request.votes,
        }
        if self.request.text_chars is not None:
            options["budget"] = Budget.of(self.request.text_chars)
        if self.request.store is not None:
            options["store"] = _ReadOnlyStore(self.request.store)
        return LLMJudge(self, **options)

    @property
    def price(self) -> Price:
        """The price of all calls so far."""
        return Price(self.calls, self.characters // _TOKEN)

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """Return a reply, and count the call unless a store would have its reply."""
        reply = self._reply(prompt, schema)
        votes = 1 if issubclass(schema, Claims) else self.request.votes
        self._count(prompt, json.dumps(reply), votes)
        return schema.model_validate(reply), Usage()

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[Choice, Usage]:
        """Return the reply to a question about a single claim, which is one word."""
        self._count(prompt, self.answer, self.request.votes)
        return Choice(self.answer), Usage()

    def _count(self, prompt: str, reply: str, votes: int) -> None:
        key = hash(prompt)
        self.prompts[key] += 1
        if self.prompts[key] > votes:
            self.repeats += 1
            if self.request.keeps:
                return
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
    """The price of a run, if every reply can be used.

    Attributes:
        samples: how many samples can be read.
        chunks: how many chunks they have.
        unread: how many rows cannot be read.
        unasked: samples with nothing to measure, about which the model is not asked.
        least: the fewest calls, as if nothing were wrong, and the fewest tokens.
        most: the most calls, as if no claim were supported by the reference, and the most tokens.
        store: the store whose replies are used; None without one.
        repeats: at least so many calls repeat another one, since nothing is kept: about another
            row, or about a row whose answer is its reference.
        is_tested: is the model tested first? The test is not counted.
    """

    samples: int
    chunks: int
    unread: int
    unasked: int
    least: Price
    most: Price
    store: str | None
    repeats: int
    is_tested: bool

    @property
    def has_something(self) -> bool:
        """Is there a sample to judge? Without one, a run measures nothing."""
        return self.samples > self.unasked

    def to_dict(self, rate: int) -> dict[str, Any]:
        """The estimate as JSON data, with the minutes at ``rate`` calls a minute."""
        return {
            "samples": self.samples,
            "chunks": self.chunks,
            "unread": self.unread,
            "least": {**self.least._asdict(), "minutes": self.least.calls / rate},
            "most": {**self.most._asdict(), "minutes": self.most.calls / rate},
        }

    def sentences(self, name: str, rate: int) -> Iterator[str]:
        """The estimate in words, with the minutes at ``rate`` calls a minute."""
        counts = [counted(self.samples, "sample"), counted(self.chunks, "chunk")]
        if self.unread:
            counts.append(f"{counted(self.unread, 'row')} that cannot be read")
        yield f"{name}: {', '.join(counts)}"
        if not self.has_something:
            yield "There is nothing to judge: it would ask nothing."
            return
        calls = _extent(f"{self.least.calls:,}", f"{self.most.calls:,}")
        tokens = _extent(f"{self.least.tokens:,}", f"{self.most.tokens:,}")
        noun = "call" if calls == "1" else "calls"
        reason = ""
        if self.least.calls != self.most.calls:
            reason = ": the more claims are wrong, the more calls"
        yield f"{calls} {noun} if every reply can be used{reason}."
        if self.is_tested:
            yield "The test of the model comes on top: some 30 calls, once."
        if self.store is not None:
            yield f"What {self.store} holds is not asked again, and not counted."
        if self.repeats:
            fewer = f"at least {counted(self.repeats, 'call')} fewer"
            yield f"With --out or --store {fewer}: of what is asked twice, one reply is kept."
        yield (
            f"About {tokens} tokens, at {_TOKEN} characters each; the JSON of replies takes more."
        )
        minutes = _extent(f"{self.least.calls / rate:.1f}", f"{self.most.calls / rate:.1f}")
        yield f"{minutes} minutes at {rate:,} calls a minute (--rate). Nothing was asked."


def estimate(
    rows: Iterable[Row | BadRow],
    request: Request,
    definition: DefinitionName,
    on_error: Callable[[InputError], object],
) -> Estimate:
    """Count the calls and tokens that judging the rows would take.

    Args:
        rows: the rows of the dataset.
        request: how the model is asked.
        definition: how samples are scored. Some definitions need no judge where nothing was
            retrieved.
        on_error: called with the error of each row that cannot be read.
    """
    low = StandIn("yes", request)
    high = StandIn("no", request)
    is_tested = request.check == "auto"
    judges = [
        low.judge("list" if is_tested else request.check),
        high.judge("each" if is_tested else request.check),
    ]
    samples = 0
    chunks = 0
    unread = 0
    unasked = 0
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
        elif row.verdicts is not None:  # a host's row for which nothing was retrieved
            samples += 1
            unasked += 1
        else:
            unread += 1
            on_error(InputError("texts to judge", "only verdicts", where=row.place))
    # The fewest calls need not have the fewest tokens: each "yes" is longer than a "no".
    tokens = [low.price.tokens, high.price.tokens]
    return Estimate(
        samples=samples,
        chunks=chunks,
        unread=unread,
        unasked=unasked,
        least=Price(low.calls, min(tokens)),
        most=Price(high.calls, max(tokens)),
        store=None if request.store is None else str(request.store.path),
        is_tested=is_tested,
        repeats=0 if request.keeps else min(low.repeats, high.repeats),
    )


async def _ask(judges: Iterable[LLMJudge], sample: Sample) -> None:
    for judge in judges:
        with suppress(ReplyError):  # sentences that are no claims; their calls count
            await judge.judge(sample)


def _extent(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
