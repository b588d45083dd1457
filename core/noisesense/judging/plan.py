"""The steps of judging a sample: claims, verdicts on them, and which cells are still pending."""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from noisesense.errors import ReplyError
from noisesense.judging.calls import Caller, Case, Question, gather_all
from noisesense.judging.prompts import (
    Budget,
    Claims,
    PackedVerdicts,
    Prompts,
    VerdictList,
    batches,
    split_text,
)
from noisesense.verdicts.sample import Chunk, Sample
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts

__all__ = [
    "Alignment",
    "Answers",
    "Decomposer",
    "Premise",
    "Table",
    "Verifier",
    "align",
    "any_of",
    "majority",
]

Id = TypeVar("Id", bound=Hashable)


@dataclass(frozen=True)
class Alignment(Generic[Id]):
    """One reply against what was asked. ``answers`` and ``missing`` are all that was asked.

    Attributes:
        answers: the verdict of every id that has exactly one.
        missing: asked and without a verdict, the contradictory ones included; in asked order.
        contradictory: given both verdicts.
        duplicated: given the same verdict more than once, which is harmless.
        unknown: given but never asked, in the order given. Ignored if all that was asked is
            answered. If not, the model seems to have numbered the claims anew (from 0, or
            without the gaps): its other ids mean other claims, and all of them are missing.
    """

    answers: dict[Id, bool]
    missing: tuple[Id, ...]
    contradictory: tuple[Id, ...] = ()
    duplicated: tuple[Id, ...] = ()
    unknown: tuple[Id, ...] = ()


def align(asked: Collection[Id], given: Iterable[tuple[Id, bool]]) -> Alignment[Id]:
    """Match verdicts to ids, whatever their order and number."""
    said: dict[Id, list[bool]] = {number: [] for number in asked}
    unknown: list[Id] = []
    for number, verdict in given:
        if number in said:
            said[number].append(verdict)
        else:
            unknown.append(number)
    agreed = {number: verdicts[0] for number, verdicts in said.items() if len({*verdicts}) == 1}
    if unknown and len(agreed) < len(said):
        agreed = {}
    return Alignment(
        answers=agreed,
        missing=tuple(number for number in said if number not in agreed),
        contradictory=tuple(n for n, verdicts in said.items() if len({*verdicts}) == 2),
        duplicated=tuple(n for n in agreed if len(said[n]) > 1),
        unknown=tuple(unknown),
    )


@dataclass(frozen=True)
class Decomposer:
    """Asks for the claims of a text, and again if a reply is unusable."""

    caller: Caller
    prompts: Prompts
    budget: Budget
    max_reasks: int

    async def claims(self, case: Case, which: str, text: str, question: str) -> list[str]:
        """The claims in the text's order; none if the model says there are none.

        Raises:
            ReplyError: every reply was unusable. A score is a fraction of all claims: with some
                of them missing there is nothing to go on with.
            JudgeError: the model could not be asked.
        """
        parts = split_text(text, self.budget.text_chars)
        found = await gather_all(self._part(case, which, part, question) for part in parts)
        return [claim for claims in found for claim in claims]

    async def _part(self, case: Case, which: str, text: str, about: str) -> list[str]:
        async def question(attempt: int) -> Question[Claims]:
            prompt = self.prompts.decomposition(text, about, attempt=attempt)
            step = f"claims of the {which}"
            return Question(step, prompt, Claims, partial(_usable, text), attempt=attempt)

        most = 1 + self.max_reasks
        for attempt in range(most):
            answer = await self.caller.call(case, range(attempt, most), question)
            if answer.reply is not None:
                return [claim for claim in answer.reply.claims if claim.strip()]
        times = "once" if most == 1 else f"{most} times"
        raise ReplyError(
            f"the judge's model was asked {times} for the claims of the {which}"
            f" and gave no usable list{case.told}",
            usage=case.usage,
        )


def _usable(text: str, reply: Claims) -> bool:
    """Neither all blank nor run away: what a text says is bounded by its length."""
    claims = reply.claims
    if claims and not any(claim.strip() for claim in claims):
        return False
    return len(claims) <= 50 + len(text) and sum(map(len, claims)) <= 5_000 + 20 * len(text)


Answers = dict[int, "bool | None"]
"""For each claim that was asked: entailed, not entailed, or without an answer."""

_Cell = tuple[int, int]
_Reply = VerdictList | PackedVerdicts


class Premise(NamedTuple):
    """A text and the claims to check against it, by id.

    Attributes:
        deciding: which claims' cells the score still hangs on, by what is known of the others;
            None: all of them. It may wait for what else it depends on.
    """

    text: str
    claims: Mapping[int, str]
    deciding: Callable[[Mapping[int, bool]], Awaitable[Collection[int]]] | None = None


class _Sheet(NamedTuple):
    """What one call asks: parts of premises by their number, and claims by their id."""

    premises: dict[int, Premise]
    claims: dict[int, str]

    async def deciding(
        self, answers: Mapping[_Cell, bool], missing: Sequence[_Cell]
    ) -> set[_Cell]:
        """Those of the missing cells that the score hangs on."""
        known: dict[int, dict[int, bool]] = {part: {} for part in self.premises}
        for (part, claim), verdict in answers.items():
            known[part][claim] = verdict
        wanted = {
            part: await premise.deciding(known[part]) if premise.deciding else premise.claims
            for part, premise in self.premises.items()
        }
        return {(part, claim) for part, claim in missing if claim in wanted[part]}


@dataclass(frozen=True)
class Verifier:
    """Asks for verdicts, again for those a reply leaves out, and takes the votes' majority."""

    caller: Caller
    prompts: Prompts
    budget: Budget
    max_reasks: int
    votes: int
    per_call: int

    async def verify(self, case: Case, step: str, premises: Sequence[Premise]) -> list[Answers]:
        """One table of answers for each premise, all asked at once.

        Raises:
            JudgeError: the model could not be asked.
        """
        parts: list[Premise] = []
        parts_of: list[range] = []
        for premise in premises:
            texts = split_text(premise.text, self.budget.text_chars, self.budget.overlap_chars)
            parts_of.append(range(len(parts), len(parts) + len(texts)))
            parts += [premise._replace(text=text) for text in texts]
        filled = await gather_all(
            self._fill(case, step, sheet, vote)
            for sheet in self._sheets(parts)
            for vote in range(self.votes)
        )
        cast: dict[_Cell, list[bool]] = {}
        for answers in filled:
            for cell, verdict in answers.items():
                cast.setdefault(cell, []).append(verdict)

        def decided(part: int, claim: int) -> bool | None:
            return majority(cast.get((part, claim), []), self.votes)

        return [
            {claim: any_of([decided(part, claim) for part in own]) for claim in premise.claims}
            for premise, own in zip(premises, parts_of, strict=True)
        ]

    def _sheets(self, parts: Sequence[Premise]) -> Iterator[_Sheet]:
        """The calls to make: parts that face the same claims may share one."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, part in enumerate(parts):
            groups.setdefault(tuple(part.claims), []).append(number)
        for numbers in groups.values():
            for claims in batches(parts[numbers[0]].claims, self.budget):
                pack: dict[int, Premise] = {}
                for number in numbers:
                    if pack and not self._fits(pack, parts[number].text, len(claims)):
                        yield _Sheet(pack, claims)
                        pack = {}
                    pack[number] = parts[number]
                yield _Sheet(pack, claims)

    def _fits(self, pack: dict[int, Premise], text: str, claims: int) -> bool:
        size = sum(len(premise.text) for premise in pack.values()) + len(text)
        asked = (len(pack) + 1) * claims
        return (
            len(pack) < self.per_call
            and size <= self.budget.text_chars
            and asked <= self.budget.claims
        )

    async def _fill(self, case: Case, step: str, sheet: _Sheet, vote: int) -> dict[_Cell, bool]:
        """Every answer that the store has, and that can be had in ``1 + max_reasks`` calls."""
        missing: list[_Cell] = list(product(sheet.premises, sheet.claims))
        answers: dict[_Cell, bool] = {}
        attempt = asked = 0
        while missing and asked <= self.max_reasks:
            left = range(attempt, attempt + 1 + self.max_reasks - asked)
            inquiry = partial(self._inquiry, sheet, answers, missing)
            answer = await self.caller.call(case, left, partial(_question, inquiry, step, vote))
            attempt = answer.attempt + 1
            asked += answer.asked
            if answer.reply is not None:
                new = (await inquiry(answer.attempt)).read(answer.reply)
                answers = {**answers, **new}
                missing = [cell for cell in missing if cell not in new]
        return answers

    async def _inquiry(
        self,
        sheet: _Sheet,
        answers: Mapping[_Cell, bool],
        missing: Sequence[_Cell],
        attempt: int,
    ) -> _Inquiry:
        """What an attempt asks: at first everything; then what decides before the rest, and the
        last time nothing else."""
        deciding = await sheet.deciding(answers, missing) if attempt else set(missing)
        last = attempt % (1 + self.max_reasks) == self.max_reasks
        wanted = [cell for cell in missing if cell in deciding] if last else []
        cells = wanted or list(missing)

        def ordered(axis: int) -> dict[int, int]:
            # Numbered from 1 in every call: with gaps, a model may count on its own.
            first = {cell[axis] for cell in cells if cell in deciding}
            numbers = sorted({cell[axis] for cell in cells}, key=lambda n: (n not in first, n))
            return dict(enumerate(numbers, start=1))

        part_of, claim_of = ordered(0), ordered(1)
        prompt = self.prompts.verification(
            {number: sheet.premises[part].text for number, part in part_of.items()},
            {number: sheet.claims[claim] for number, claim in claim_of.items()},
            attempt=attempt,
        )
        return _Inquiry(prompt, part_of, claim_of, frozenset(missing))


class _Inquiry(NamedTuple):
    """One call's prompt, the parts and claims behind its numbers, and the cells it is for."""

    prompt: str
    part_of: dict[int, int]
    claim_of: dict[int, int]
    missing: frozenset[_Cell]

    def read(self, reply: _Reply) -> dict[_Cell, bool]:
        """What the reply says of the cells that were missing."""
        asked = list(product(self.part_of.values(), self.claim_of.values()))
        found = align(asked, _cells(reply, self.part_of, self.claim_of)).answers
        return {cell: verdict for cell, verdict in found.items() if cell in self.missing}


async def _question(
    inquiry: Callable[[int], Awaitable[_Inquiry]], step: str, vote: int, attempt: int
) -> Question[_Reply]:
    asked = await inquiry(attempt)
    schema: type[_Reply] = VerdictList if len(asked.part_of) == 1 else PackedVerdicts

    def answers(reply: _Reply) -> bool:
        return bool(asked.read(reply))

    return Question(step, asked.prompt, schema, answers, vote, attempt)


def _cells(
    reply: _Reply, part_of: Mapping[int, int], claim_of: Mapping[int, int]
) -> list[tuple[_Cell, bool]]:
    """A reply's verdicts under the parts and claims they are about; never asked: -1."""
    if isinstance(reply, VerdictList):
        return [
            ((part_of[1], claim_of.get(each.id, -1)), each.entailed) for each in reply.verdicts
        ]
    return [
        ((part_of.get(each.premise, -1), claim_of.get(each.id, -1)), each.entailed)
        for each in reply.verdicts
    ]


def majority(votes: Sequence[bool], of: int) -> bool | None:
    """What more than half of the ``of`` votes say; votes that were not cast count for no side."""
    yes = sum(votes)
    if 2 * yes > of:
        return True
    return False if 2 * (len(votes) - yes) > of else None


def any_of(cells: Sequence[bool | None]) -> bool | None:
    """Kleene's ∃: true if any is; false if all are; else undetermined."""
    if any(cells):
        return True
    return None if None in cells else False


class Table:
    """Filled step by step. Claims have ids: the response's are 1 to R, the reference's go on
    from R + 1."""

    def __init__(self, sample: Sample, *, full: bool) -> None:
        self.sample = sample
        self.full = full
        self._response: Sequence[str] = ()
        self._reference: Sequence[str] = ()
        self._correct: Mapping[int, bool | None] = {}
        self._checked = asyncio.Event()
        self._by_text: Mapping[str, Answers] = {}
        self._reference_failed = False

    @property
    def needs_reference_claims(self) -> bool:
        """Labels win: with a label on every chunk nobody asks what the reference claims."""
        return self.full or any(chunk.relevant is None for chunk in self.sample.retrieved_contexts)

    @property
    def response_claims(self) -> dict[int, str]:
        """By id."""
        return dict(enumerate(self._response, start=1))

    @property
    def _reference_claims(self) -> dict[int, str]:
        return dict(enumerate(self._reference, start=len(self._response) + 1))

    def add_response_claims(self, claims: Sequence[str]) -> None:
        self._response = claims

    def add_reference_claims(self, claims: Sequence[str] | None) -> None:
        """None: every reply was unusable, so the unlabelled chunks' relevance stays open."""
        self._reference = claims or ()
        self._reference_failed = claims is None

    def add_correctness(self, answers: Answers) -> None:
        self._correct = answers
        self._checked.set()

    def chunk_premises(self) -> dict[str, Premise]:
        """What each distinct chunk text is to be asked. A blank one entails nothing.

        A claim whose correctness stayed undetermined may be incorrect, and is asked about.
        """
        doubtful = {
            number: claim
            for number, claim in self.response_claims.items()
            if self.full or self._correct[number] is not True
        }
        if not doubtful and not self.full:
            return {}
        premises: dict[str, Premise] = {}
        unlabelled = {
            chunk.text for chunk in self.sample.retrieved_contexts if chunk.relevant is None
        }
        for chunk in self.sample.retrieved_contexts:
            asked = dict(doubtful)
            if self.full or chunk.relevant is None:
                asked.update(self._reference_claims)
            if asked and chunk.text.strip():
                before = premises.get(chunk.text, Premise(chunk.text, {}))
                # Equal chunks, one of them labelled: the longer list holds the shorter.
                longer = max(before.claims, asked, key=len)
                deciding = partial(self._deciding, chunk.text in unlabelled)
                premises[chunk.text] = Premise(chunk.text, longer, deciding)
        return premises

    async def _deciding(self, unlabelled: bool, answers: Mapping[int, bool]) -> set[int]:
        """The claims that the score hangs on, by what is known of a chunk so far.

        An open cell of the reference leaves the chunk's relevance open, and with it every
        incorrect claim from that chunk; one that is known to be entailed settles it.
        """
        await self._checked.wait()
        claims = {
            number for number in self.response_claims if self._correct.get(number) is not True
        }
        if unlabelled and not any(answers.get(number) for number in self._reference_claims):
            claims.update(self._reference_claims)
        return claims

    def add_chunks(self, answers: Mapping[str, Answers]) -> None:
        self._by_text = answers

    @property
    def unanswered(self) -> int:
        """Cells that were asked and stayed open; an unusable list of claims counts as one."""
        correctness = sum(cell is None for cell in self._correct.values())
        chunks = [self._by_text.get(chunk.text, {}) for chunk in self.sample.retrieved_contexts]
        cells = sum(cell is None for answers in chunks for cell in answers.values())
        return correctness + cells + self._reference_failed

    def verdicts(self) -> Verdicts:
        """Everything that is known; cells without an answer, asked or not, are undetermined."""
        chunks = self.sample.retrieved_contexts
        return Verdicts(
            response_claims=tuple(
                ResponseClaim(text=text, correct=self._correct[number], **self._cells(number))
                for number, text in self.response_claims.items()
            ),
            reference_claims=tuple(
                ReferenceClaim(text=text, **self._cells(number))
                for number, text in self._reference_claims.items()
            ),
            chunks=chunks,
        )

    def _cells(self, claim: int) -> dict[str, tuple[int, ...]]:
        cells = [self._cell(chunk, claim) for chunk in self.sample.retrieved_contexts]
        return {
            "entailed_by": _positions(cell is True for cell in cells),
            "undetermined": _positions(cell is None for cell in cells),
        }

    def _cell(self, chunk: Chunk, claim: int) -> bool | None:
        if not chunk.text.strip():
            return False
        return self._by_text.get(chunk.text, {}).get(claim)


def _positions(which: Iterable[bool]) -> tuple[int, ...]:
    return tuple(j for j, holds in enumerate(which) if holds)
