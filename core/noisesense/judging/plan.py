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
from typing import NamedTuple, TypeVar

from noisesense.errors import ReplyError
from noisesense.judging.calls import (
    AwaitingAnswerError,
    CallRunner,
    ModelCall,
    SampleRun,
    gather_all,
)
from noisesense.judging.prompts import (
    Budget,
    Claims,
    PackedVerdicts,
    Prompts,
    VerdictList,
    batches,
    split_text,
)
from noisesense.verdicts.form import positions
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts

Id = TypeVar("Id", bound=Hashable)


def align(expected: Collection[Id], verdicts: Iterable[tuple[Id, bool]]) -> dict[Id, bool]:
    """The verdict on every expected id that has exactly one, whatever their order and number.

    Ids that nobody asked about are ignored if every expected one has an answer. If not, the model
    seems to have numbered the claims anew (from 0, or without the gaps): its other ids mean other
    claims, and none of them counts.
    """
    by_id: dict[Id, set[bool]] = {number: set() for number in expected}
    unknown = False
    for number, verdict in verdicts:
        if number in by_id:
            by_id[number].add(verdict)
        else:
            unknown = True
    agreed = {number: min(both) for number, both in by_id.items() if len(both) == 1}
    return {} if unknown and len(agreed) < len(by_id) else agreed


@dataclass(frozen=True)
class Decomposer:
    """Asks for the claims of a text, and again if a reply is unusable."""

    runner: CallRunner
    prompts: Prompts
    budget: Budget
    max_reasks: int

    async def claims(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        """The claims in the text's order; none if the model says there are none.

        Raises:
            ReplyError: every reply was unusable. A score is a fraction of all claims: with some
                of them missing there is nothing to go on with.
            JudgeError: the model could not be asked.
        """
        parts = split_text(text, self.budget.text_chars)
        lists = await gather_all(self._part(run, which, part, question) for part in parts)
        return [claim for claims in lists for claim in claims]

    async def _part(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        async def model_call(attempt: int) -> ModelCall[Claims, list[str]]:
            prompt = self.prompts.decomposition(text, question, attempt=attempt)
            step = f"claims of the {which}"
            return ModelCall(step, prompt, Claims, partial(_claims, text), attempt=attempt)

        most = 1 + self.max_reasks
        for attempt in range(most):
            result = await self.runner.call(run, range(attempt, most), model_call)
            if result.answer is not None:
                return result.answer
        times = "once" if most == 1 else f"{most} times"
        problem = f" ({run.problem})" if run.problem else ""
        raise ReplyError(
            f"the judge's model was asked {times} for the claims of the {which}"
            f" and gave no usable list{problem}",
            usage=run.usage,
        )


def _claims(text: str, reply: Claims) -> list[str] | None:
    """None if all are blank, or run away: what a text says is bounded by its length.

    The prompt's own example, "…", is blank, too.
    """
    size = sum(map(len, reply.claims))
    if len(reply.claims) > 50 + len(text) or size > 5_000 + 20 * len(text):
        return None
    claims = [claim for claim in reply.claims if claim.strip("….\"' \t\r\n")]
    return claims if claims or not reply.claims else None


Answers = dict[int, "bool | None"]
"""For each claim that was asked: entailed, not entailed, or without an answer."""

_Cell = tuple[int, int]
_Cells = dict[_Cell, bool]
_Reply = VerdictList | PackedVerdicts


class Premise(NamedTuple):
    """A text and the claims to check against it, by id.

    Attributes:
        deciding: which claims' cells still decide the score, by what is known of the others;
            None: all of them. It may wait for what else it depends on.
    """

    text: str
    claims: Mapping[int, str]
    deciding: Callable[[Mapping[int, bool]], Awaitable[Collection[int]]] | None = None


class _Batch(NamedTuple):
    """What one call asks: parts of premises by their number, and claims by their id."""

    premises: dict[int, Premise]
    claims: dict[int, str]

    async def deciding(self, answers: _Cells, missing: Sequence[_Cell]) -> set[_Cell]:
        """Those of the missing cells that decide the score."""
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

    runner: CallRunner
    prompts: Prompts
    budget: Budget
    max_reasks: int
    votes: int
    per_call: int

    async def verify(
        self, run: SampleRun, step: str, premises: Sequence[Premise]
    ) -> list[Answers]:
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
        votes: dict[_Cell, list[bool]] = {}
        for answers in await gather_all(
            self._fill(run, step, batch, vote)
            for batch in self._batches(parts)
            for vote in range(self.votes)
        ):
            for cell, verdict in answers.items():
                votes.setdefault(cell, []).append(verdict)

        def decided(part: int, claim: int) -> bool | None:
            return majority(votes.get((part, claim), []), self.votes)

        return [
            {claim: any_of([decided(part, claim) for part in own]) for claim in premise.claims}
            for premise, own in zip(premises, parts_of, strict=True)
        ]

    def _batches(self, parts: Sequence[Premise]) -> Iterator[_Batch]:
        """The calls to make: parts that face the same claims may share one."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, part in enumerate(parts):
            groups.setdefault(tuple(part.claims), []).append(number)
        for numbers in groups.values():
            for claims in batches(parts[numbers[0]].claims, self.budget):
                pack: dict[int, Premise] = {}
                for number in numbers:
                    if pack and not self._fits(pack, parts[number].text, len(claims)):
                        yield _Batch(pack, claims)
                        pack = {}
                    pack[number] = parts[number]
                yield _Batch(pack, claims)

    def _fits(self, pack: dict[int, Premise], text: str, claims: int) -> bool:
        size = sum(len(premise.text) for premise in pack.values()) + len(text)
        return (
            len(pack) < self.per_call
            and size <= self.budget.text_chars
            and (len(pack) + 1) * claims <= self.budget.claims
        )

    async def _fill(self, run: SampleRun, step: str, batch: _Batch, vote: int) -> _Cells:
        """Every answer that the store has, and that can be had in ``1 + max_reasks`` calls."""
        missing: list[_Cell] = list(product(batch.premises, batch.claims))
        answers: _Cells = {}
        attempt = calls = 0
        while missing and calls <= self.max_reasks:
            attempts = range(attempt, attempt + 1 + self.max_reasks - calls)
            model_call = partial(self._model_call, step, vote, batch, answers, missing)
            result = await self.runner.call(run, attempts, model_call)
            attempt = result.attempt + 1
            calls += result.from_model
            answers = {**answers, **(result.answer or {})}
            missing = [cell for cell in missing if cell not in answers]
        return answers

    async def _model_call(
        self,
        step: str,
        vote: int,
        batch: _Batch,
        answers: _Cells,
        missing: Sequence[_Cell],
        attempt: int,
    ) -> ModelCall[_Reply, _Cells]:
        """At first it asks for everything; after a reply that left some out, for what decides
        before the rest, and the last time for nothing else."""
        last = attempt % (1 + self.max_reasks) == self.max_reasks
        # What decides may hang on an answer that is still awaited.
        waits = attempt and (answers or last)
        deciding = await batch.deciding(answers, missing) if waits else set(missing)
        wanted = [cell for cell in missing if cell in deciding] if last else []
        cells = wanted or list(missing)

        def ordered(axis: int) -> dict[int, int]:
            # Numbered from 1 in every call: with gaps, a model may count on its own.
            first = {cell[axis] for cell in cells if cell in deciding}
            numbers = sorted({cell[axis] for cell in cells}, key=lambda n: (n not in first, n))
            return dict(enumerate(numbers, start=1))

        part_of, claim_of = ordered(0), ordered(1)
        prompt = self.prompts.verification(
            {number: batch.premises[part].text for number, part in part_of.items()},
            {number: batch.claims[claim] for number, claim in claim_of.items()},
            attempt=attempt,
        )
        schema: type[_Reply] = VerdictList if len(part_of) == 1 else PackedVerdicts
        read = partial(_read, part_of, claim_of, frozenset(missing))
        return ModelCall(step, prompt, schema, read, vote, attempt)


def _read(
    part_of: Mapping[int, int],
    claim_of: Mapping[int, int],
    missing: Collection[_Cell],
    reply: _Reply,
) -> _Cells | None:
    """What the reply says of the cells that were missing; None if nothing.

    Nothing, too, if it goes on counting below or above the numbers in the prompt: claims numbered
    0 to N, where 1 to N were asked, may all be off by one.
    """
    beside = {"premise": (0, len(part_of) + 1), "id": (0, len(claim_of) + 1)}
    if any(getattr(each, axis, 1) in beside[axis] for each in reply.verdicts for axis in beside):
        return None
    # A number that was not in the prompt stands for no part and no claim: -1.
    cells = [
        ((part_of.get(getattr(each, "premise", 1), -1), claim_of.get(each.id, -1)), each.entailed)
        for each in reply.verdicts
    ]
    answers = align(list(product(part_of.values(), claim_of.values())), cells)
    return {cell: answers[cell] for cell in answers if cell in missing} or None


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


class PendingVerdicts:
    """Filled step by step. Claims have ids: the response's are 1 to R, the reference's go on
    from R + 1."""

    def __init__(self, sample: Sample, *, full: bool) -> None:
        self.sample = sample
        self.full = full
        self.response: Sequence[str] = ()
        self.reference: Sequence[str] = ()
        # Every reply with the reference's claims was unusable: relevance stays open.
        self.reference_failed = False
        self.by_text: Mapping[str, Answers] = {}
        self._correct: Mapping[int, bool | None] = {}
        self._checked = asyncio.Event()
        self._awaiting = False

    @property
    def needs_reference_claims(self) -> bool:
        """Labels win: with a label on every chunk nobody asks what the reference claims."""
        return self.full or any(chunk.relevant is None for chunk in self.sample.retrieved_contexts)

    @property
    def response_claims(self) -> dict[int, str]:
        """By id."""
        return dict(enumerate(self.response, start=1))

    @property
    def _reference_claims(self) -> dict[int, str]:
        return dict(enumerate(self.reference, start=len(self.response) + 1))

    def add_correctness(self, answers: Answers | None) -> None:
        """None: it awaits its answer."""
        self._correct = answers or {}
        self._awaiting = answers is None
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
        unlabeled = {
            chunk.text for chunk in self.sample.retrieved_contexts if chunk.relevant is None
        }
        for chunk in self.sample.retrieved_contexts:
            claims = dict(doubtful)
            if self.full or chunk.relevant is None:
                claims.update(self._reference_claims)
            if claims and chunk.text.strip():
                before = premises.get(chunk.text, Premise(chunk.text, {}))
                # Equal chunks, one of them labeled: the longer list holds the shorter.
                longer = max(before.claims, claims, key=len)
                deciding = partial(self._deciding, chunk.text in unlabeled)
                premises[chunk.text] = Premise(chunk.text, longer, deciding)
        return premises

    async def _deciding(self, unlabeled: bool, answers: Mapping[int, bool]) -> set[int]:
        """The claims that decide the score, by what is known of a chunk so far.

        An open cell of the reference leaves the chunk's relevance open, and with it every
        incorrect claim from that chunk; one that is known to be entailed settles it.
        """
        await self._checked.wait()
        if self._awaiting:
            raise AwaitingAnswerError("whether the claims are correct")
        claims = {
            number for number in self.response_claims if self._correct.get(number) is not True
        }
        if unlabeled and not any(answers.get(number) for number in self._reference_claims):
            claims.update(self._reference_claims)
        return claims

    @property
    def unanswered(self) -> int:
        """Cells that were asked and stayed open; an unusable list of claims counts as one."""
        correctness = sum(cell is None for cell in self._correct.values())
        chunks = [self.by_text.get(chunk.text, {}) for chunk in self.sample.retrieved_contexts]
        cells = sum(cell is None for answers in chunks for cell in answers.values())
        return correctness + cells + self.reference_failed

    def verdicts(self) -> Verdicts:
        """Everything that is known; cells without an answer, asked or not, are undetermined."""
        chunks = self.sample.retrieved_contexts
        return Verdicts(
            response_claims=tuple(
                ResponseClaim(text=text, correct=self._correct[number], **self._positions(number))
                for number, text in self.response_claims.items()
            ),
            reference_claims=tuple(
                ReferenceClaim(text=text, **self._positions(number))
                for number, text in self._reference_claims.items()
            ),
            chunks=chunks,
        )

    def _positions(self, claim: int) -> dict[str, tuple[int, ...]]:
        texts = [chunk.text for chunk in self.sample.retrieved_contexts]
        return positions(
            [self.by_text.get(text, {}).get(claim) if text.strip() else False for text in texts]
        )
