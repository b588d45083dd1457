"""Which premises entail which claims."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

from noisesense.llm_judge.alignment import align
from noisesense.llm_judge.budget import Budget, batches, split_text
from noisesense.llm_judge.calls import Caller, Case, Question
from noisesense.llm_judge.concurrency import gather_all
from noisesense.llm_judge.prompts import Prompts
from noisesense.llm_judge.replies import PackedVerdicts, VerdictList

__all__ = ["Answers", "Premise", "Verifier", "any_of", "majority"]

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
