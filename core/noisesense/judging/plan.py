"""`PlannedJudge`: the plan by which claims are found and checked, whoever does it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from noisesense.errors import InputError, ReplyError, check_choice, describe
from noisesense.judging.calls import Calls, SampleRun, digest, gather_all, identity_of
from noisesense.judging.protocol import Entailment, Judgement, Usage
from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

Plan = Literal["lazy", "full"]


def check_plan(plan: object, store: object) -> None:
    """Raises `InputError` for an unknown plan, or for something else than a store."""
    check_choice(plan, get_args(Plan), "plan")
    if store is not None and not callable(getattr(store, "claim", None)):
        hint = "store=VerdictStore(path)"
        raise InputError("a VerdictStore", describe(store), where="store", hint=hint)


def check_number(value: object, least: float, most: float, where: str) -> None:
    """Raises `InputError` unless it is a number from the one to the other."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not least <= number <= most:
        raise InputError(f"a number from {least:g} to {most:g}", describe(value), where=where)


class Finding(NamedTuple):
    """Does a text entail a claim? With its probability, where the model told one."""

    cell: Cell
    probability: float | None = None


class PlannedJudge:
    """What judges share that follow the plan of `noisesense.LLMJudge`.

    A judge is two methods, `find` and `check`, that make their calls through ``calls``.

    Args:
        calls: made by the model and the version that the judge is known by.
        plan: see `noisesense.LLMJudge`.
        settings: what else a judgement depends on, for people to read.
    """

    def __init__(self, calls: Calls, *, plan: Plan, settings: str) -> None:
        self.plan: Plan = plan
        self.model, self.version = calls.model, calls.version
        self._calls = calls
        self._settings = f"plan={plan} {settings}"

    async def find(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        """The claims of a text, in its order. Raises `ReplyError` if they cannot be found."""
        raise NotImplementedError

    async def check(self, run: SampleRun, text: str, claims: Sequence[str]) -> Sequence[Finding]:
        """Does the text entail them? Raises `JudgeError` if it cannot be asked."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, plan={self.plan!r})"

    def __deepcopy__(self, memo: object) -> PlannedJudge:
        return self

    def __reduce__(self) -> Any:
        hint = "make a judge in each process; processes may share a VerdictStore"
        raise InputError("something that can be pickled", repr(self), where="pickle", hint=hint)

    @property
    def name(self) -> str:
        """The model and all that its verdicts depend on: prompts, plan, votes, its own options."""
        options = digest(identity_of(self._calls.llm))[:8]
        return f"{self.model}, {self._settings}, prompts {self.version}, options {options}"

    @property
    def usage(self) -> Usage:
        """What all calls so far have cost, over all samples, threads and event loops."""
        return self._calls.usage

    async def judge(self, sample: Sample) -> Verdicts:
        """The verdicts on one sample. Raises as `judge_detailed`."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """The verdicts on one sample, and what they cost.

        Raises:
            ReplyError: no reply had a usable list of the response's claims. Other unusable
                replies leave cells undetermined; with an unusable list of the reference's
                claims the relevance of the unlabeled chunks is undetermined.
            JudgeError: the model could not be asked. Calls that were finished stay in the store.
            StoreError: the store cannot be read or written.
        """
        run = SampleRun()
        verdicts, unanswered = await self._judged(run, sample)
        return Judgement(verdicts, run.usage, unanswered)

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        """Which texts entail which claims, as they are given. A blank text entails none.

        Raises:
            JudgeError: the model could not be asked. Calls that were finished stay in the store.
            StoreError: the store cannot be read or written.
        """
        run = SampleRun()
        different = list(dict.fromkeys(claims))
        found = await self._checked(run, dict.fromkeys(texts, different))
        table = [[_finding(found, text, claim) for text in texts] for claim in claims]
        cells = [[each.cell for each in row] for row in table]
        unanswered = sum(row.count(None) for row in cells)
        likely = [[each.probability for each in row] for row in table]
        return Entailment(cells, run.usage, unanswered, likely)

    async def _judged(self, run: SampleRun, sample: Sample) -> tuple[Verdicts, int]:
        """The plan, step by step; and how many cells were asked and stayed open."""
        full, contexts = self.plan == "full", sample.retrieved_contexts
        texts = [chunk.text for chunk in contexts]
        unlabeled = {chunk.text for chunk in contexts if full or chunk.relevant is None}

        async def correctness(claims: list[str]) -> list[Cell]:
            asked = await self._checked(run, {sample.reference: list(dict.fromkeys(claims))})
            return [_finding(asked, sample.reference, claim).cell for claim in claims]

        async def of_response() -> tuple[list[str], list[Cell]]:
            claims = await self.find(run, "response", sample.response, sample.user_input)
            return claims, [] if full else await correctness(claims)

        async def of_reference() -> list[str] | None:
            """None if it cannot be had. Labels win: with all of them nobody asks for it."""
            if not unlabeled and not full:
                return []
            try:
                return await self.find(run, "reference", sample.reference, "")
            except ReplyError:
                return None

        both: list[Any] = await gather_all([of_response(), of_reference()])
        (claims, correct), found = both
        reference: list[str] = found or []
        # A claim whose correctness stayed undetermined may be incorrect, and is asked about.
        doubtful = [c for i, c in enumerate(claims) if full or correct[i] is not True]
        asked = {
            text: list(dict.fromkeys([*doubtful, *(reference if text in unlabeled else ())]))
            for text in (texts if doubtful or full else ())
        }
        # Where every cell is wanted, the chunks need not wait to hear what is correct.
        last: list[Any] = await gather_all(
            [self._checked(run, asked), *([correctness(claims)] if full else [])]
        )
        table: dict[str, dict[str, Finding]] = last[0]
        correct = last[-1] if full else correct

        def cells(of: list[str]) -> list[list[Cell]]:
            return [[_finding(table, text, claim).cell for text in texts] for claim in of]

        verdicts = Verdicts.from_matrices(
            correct,
            cells(claims),
            cells(reference),
            [chunk.relevant for chunk in contexts],
            response_claims=claims,
            reference_claims=reference,
        ).beside(sample)
        said = [each.cell for text in texts for each in table.get(text, {}).values()]
        return verdicts, correct.count(None) + said.count(None) + (found is None)

    async def _checked(
        self, run: SampleRun, asked: Mapping[str, list[str]]
    ) -> dict[str, dict[str, Finding]]:
        """By text and claim. A blank text is not asked about, nor an equal one twice."""
        asked = {text: claims for text, claims in asked.items() if claims and text.strip()}
        found = await gather_all(self.check(run, text, claims) for text, claims in asked.items())
        return {
            text: dict(zip(claims, findings, strict=True))
            for (text, claims), findings in zip(asked.items(), found, strict=True)
        }


def _finding(table: Mapping[str, Mapping[str, Finding]], text: str, claim: str) -> Finding:
    """A blank text entails nothing; what was not asked is undetermined."""
    if not text.strip():
        return Finding(False)
    return table.get(text, {}).get(claim, Finding(None))
