"""The judge: from texts to verdicts. Protocols and what travels with the verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True)
class Usage:
    """What judging cost. Usages add up with ``+``; a cost of None adds nothing to another.

    Attributes:
        calls: requests that reached the model, re-asks included.
        cached_calls: replies used again instead: an earlier run's, or that to the same call of
            this one.
        reasks: calls that asked again for what a reply left out or spoiled.
        input_tokens: as the model's host reports them; 0 if it does not.
        output_tokens: likewise.
        cost: in the host's currency, as a float. ``None`` if nobody reports one; one that is not
            finite becomes ``None``.
    """

    calls: int = 0
    cached_calls: int = 0
    reasks: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def __post_init__(self) -> None:
        if self.cost is None:
            return
        # Price lists have decimals, which neither JSON takes nor a sum with a float. And one NaN
        # would be the sum of all calls, in the store and in every figure.
        cost = float(self.cost)
        object.__setattr__(self, "cost", cost if math.isfinite(cost) else None)

    def __add__(self, other: Usage) -> Usage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        sums = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        return Usage(**sums, cost=sum(costs) if costs else None)


COUNTED = ("calls", "cached_calls", "reasks", "input_tokens", "output_tokens")
"""The fields of a usage that are whole numbers."""
NO_USAGE = Usage()


TextKind = Literal["response", "reference"]


@dataclass(frozen=True)
class ClaimChange:
    """A claim that the judge, asked once more, has added to its list or taken from it.

    Attributes:
        text: the claim's.
        of: the text whose claim it is, or is not.
        change: ``"left out"``: a sentence of the text that the list did not say; added.
            ``"stray"``: not said by the text; dropped. ``"beside the question"``: it gives no
            information on the question, and neither the reference nor a chunk says it; dropped.
    """

    text: str
    of: TextKind
    change: Literal["left out", "stray", "beside the question"]


class Placebos(NamedTuple):
    """How a judge did on a run's questions of known answer.

    Attributes:
        asked: how many there were, see `noisesense.judging.placebos`.
        wrong: how many it answered wrong.
        unanswered: how many it did not answer.
    """

    asked: int = 0
    wrong: int = 0
    unanswered: int = 0

    def __str__(self) -> str:
        said = (
            f"the judge was wrong in {self.wrong} of {self.asked} questions that only test if it"
            " tells yes from no"
        )
        return f"{said}, and left {self.unanswered} open" if self.unanswered else said


NO_PLACEBOS = Placebos()


@dataclass(frozen=True)
class Judgement:
    """Verdicts with what they cost.

    Attributes:
        verdicts: with their chunks filled in from the sample.
        usage: what this judgement cost; all zero if it was shared with another metric.
        unanswered: what was asked and stayed without an answer. Cells a plan never asks are
            undetermined in the verdicts and not counted here.
        changes: claims that were added or dropped after the judge had been asked once more.
        placebos: how the judge did on those that it was asked beside this sample.
        shared: another metric asked for the same sample and paid for it.
        paid: what that other metric paid; all zero unless ``shared``.
    """

    verdicts: Verdicts
    usage: Usage = field(default_factory=Usage)
    unanswered: int = 0
    shared: bool = False
    paid: Usage = field(default_factory=Usage)
    changes: tuple[ClaimChange, ...] = ()
    placebos: Placebos = NO_PLACEBOS


@runtime_checkable
class Judge(Protocol):
    """Turns a sample's texts into verdicts."""

    async def judge(self, sample: Sample) -> Verdicts:
        """Return the verdicts on one sample. Raises `NoiseSenseError` if it cannot."""
        ...


class Entailment(NamedTuple):
    """Which texts entail which claims.

    Attributes:
        cells: a row for each claim, with a cell for each text; None where there is no answer.
        usage: what it cost.
        unanswered: how many cells have no answer.
    """

    cells: Sequence[Sequence[Cell]]
    usage: Usage
    unanswered: int


@runtime_checkable
class EntailmentJudge(Protocol):
    """What checks given claims against given texts; `LLMJudge` does."""

    async def entailment(
        self, texts: Sequence[str], claims: Sequence[str], *, question: str = ""
    ) -> Entailment:
        """Return which texts entail which claims. Raises `NoiseSenseError` if it cannot.

        With a question, each text is read as the answer to it.
        """
        ...


class StructuredLLM(Protocol):
    """A language model that answers in a given form. One is supplied for each host's models.

    An implementation may carry two attributes, by which a `VerdictStore` tells models apart:

    - ``name: str``: the model's name as people know it.
    - ``identity: str``: all else that changes an answer: the provider or class, the endpoint's
      host and path, the temperature and other options. Never a key: with a new key nothing is
      asked again. Without it the class stands for it, so that two objects of one class and name
      with different options answer for each other. An empty one says that nobody knows: with a
      store `LLMJudge` then needs a ``model``.

    A schema may have an attribute ``max_tokens``: what its form takes at most, without any
    thinking aloud. An implementation may bound the reply by it, generously.
    """

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        """Return the reply as an instance of ``schema``, and what it cost.

        Raises:
            ReplyError: the model replied, but with nothing that fits ``schema``.
            PromptTooLongError: the prompt is longer than its context; the judge splits the text.
            JudgeError: the model could not be asked. Never holds a key or the prompt.
        """
        ...
