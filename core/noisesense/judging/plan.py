"""`PlannedJudge`: the plan by which claims are found and checked, whoever does it."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import Any, Literal

from noisesense.errors import ReplyError
from noisesense.judging.calls import Calls, SampleRun, digest, gather_all, identity_of
from noisesense.judging.markers import without_thoughts
from noisesense.judging.prompts import Premise
from noisesense.judging.protocol import ClaimChange, Entailment, Judgement, TextKind, Usage
from noisesense.judging.words import by_words
from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

Plan = Literal["lazy", "full"]


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
        self.model = calls.model
        self._calls = calls
        self._settings = f"plan={plan} {settings}"

    async def find(self, run: SampleRun, which: TextKind, text: str, question: str) -> list[str]:
        """Return the claims of a text, no two of the same words. Each judge implements it.

        Args:
            run: of the sample.
            which: which of its texts it is.
            text: whose claims are wanted.
            question: what the text answers.

        Raises:
            ReplyError: they cannot be found.
            JudgeError: the model cannot be asked.
        """
        raise NotImplementedError

    async def check(
        self, run: SampleRun, premise: Premise, claims: Sequence[str]
    ) -> Sequence[Cell]:
        """Tell of each claim whether the premise says it. Each judge implements it.

        None where there is no answer. If the premise is a question alone: does the claim give
        information on it?

        Raises:
            JudgeError: the model cannot be asked.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __deepcopy__(self, memo: object) -> PlannedJudge:
        return self

    @property
    def name(self) -> str:
        """The model and the judge's settings, as a line of text.

        The settings are the plan, ``check`` and the like, the prompts' version, and a `digest` of
        the model's own options.
        """
        options = digest(identity_of(self._calls.llm))
        return f"{self.model}, {self._settings}, prompts {self._calls.version}, options {options}"

    @property
    def usage(self) -> Usage:
        """What all calls so far have cost, over all samples, threads and event loops."""
        return self._calls.usage

    @property
    def waiting(self) -> float:
        """Seconds until the judge asks a provider again that refused a call; 0 if it may now."""
        return self._calls.pace.waiting

    async def judge(self, sample: Sample) -> Verdicts:
        """Return the verdicts on one sample. Raises as `judge_detailed`."""
        return (await self.judge_detailed(sample)).verdicts

    async def judge_detailed(self, sample: Sample) -> Judgement:
        """Return the verdicts on one sample, and what they cost.

        Raises:
            ReplyError: no reply had a usable list of the response's claims. Other unusable
                replies leave cells undetermined; with an unusable list of the reference's
                claims the relevance of the unlabeled chunks is undetermined.
            JudgeError: the model could not be asked. Calls that were finished stay in the store.
            StoreError: the store cannot be read or written.
        """
        work = _SampleWork(sample, full=self.plan == "full")
        if work.full:
            await gather_all([self._find_response(work), self._find_reference(work)])
            # Every cell is wanted, so the chunks need not wait to hear what is correct.
            await gather_all([self._check_reference(work), self._check_chunks(work)])
        else:
            await gather_all([self._correctness(work), self._find_reference(work)])
            await self._check_chunks(work)
        await self._drop_asides(work)
        run = work.run
        return Judgement(work.verdicts(), run.usage, work.unanswered, changes=tuple(run.changes))

    async def entailment(
        self, texts: Sequence[str], claims: Sequence[str], *, question: str = ""
    ) -> Entailment:
        """Return which texts entail which claims. A blank text entails none, without being asked.

        Args:
            texts: each is read alone.
            claims: each is asked about as it is, equal ones once.
            question: if there is one, each text is read as the answer to it.

        Raises:
            JudgeError: the model could not be asked. Calls that were finished stay in the store.
            StoreError: the store cannot be read or written.
        """
        run = SampleRun()
        different = list(dict.fromkeys(claims))
        table = await self._checked(run, dict.fromkeys(texts, different), question)
        cells = [[table.cell(text, claim) for text in texts] for claim in claims]
        unanswered = sum(row.count(None) for row in cells)
        return Entailment(cells, run.usage, unanswered)

    async def _correctness(self, work: _SampleWork) -> None:
        await self._find_response(work)
        await self._check_reference(work)

    async def _find_response(self, work: _SampleWork) -> None:
        question = work.sample.user_input
        work.claims = await self.find(work.run, "response", work.response, question)
        work.run.has_claims.set()

    async def _find_reference(self, work: _SampleWork) -> None:
        """Set the reference's claims, to None if they cannot be had.

        Nobody asks for them if no chunk is to be asked about them.
        """
        sample = work.sample
        if not work.unlabeled:
            return
        try:
            work.reference = await self.find(
                work.run, "reference", sample.reference, sample.user_input
            )
        except ReplyError:
            work.reference = None

    async def _check_reference(self, work: _SampleWork) -> None:
        """Set which of the response's claims are correct: all, if it has the reference's words."""
        sample = work.sample
        if by_words(work.response) == by_words(sample.reference):
            work.correct = [True] * len(work.claims)
            return
        asked = {sample.reference: work.claims}
        table = await self._checked(work.run, asked, sample.user_input)
        work.correct = [table.cell(sample.reference, claim) for claim in work.claims]

    async def _check_chunks(self, work: _SampleWork) -> None:
        """Ask each chunk about the claims that are not correct and, unlabeled, the reference's.

        With the full plan, about all claims. A claim whose correctness stayed undetermined may be
        incorrect, and is asked about.
        """
        claims = work.claims
        if not work.full:
            correct = zip(claims, work.correct, strict=True)
            claims = [claim for claim, cell in correct if cell is not True]
            if not claims:
                return
        if work.reference == [] and work.unlabeled:
            # Does it give no information on the question? That is its claim then; a chunk may
            # say it, too. If the judge contradicts itself, its claims could not be had.
            question = work.sample.user_input
            text = work.sample.reference
            (informs,) = await self.check(work.run, Premise(question=question), [text])
            work.reference = [f"{question} {text}".strip()] if informs is False else None
        asked: dict[str, list[str]] = {}
        for text in work.texts:
            wanted = [*claims, *(work.reference or ())] if text in work.unlabeled else claims
            asked[text] = list(dict.fromkeys(wanted))
        work.table = await self._checked(work.run, asked)

    async def _drop_asides(self, work: _SampleWork) -> None:
        """Ask which claims that nothing supports give information on the question.

        The others are no claims: a greeting, a source, "not found". What a chunk supports is never
        asked about, so that no answer to this can hide noise.
        """
        asked = work.unsupported
        if not asked:
            return
        cells = await self.check(work.run, Premise(question=work.sample.user_input), asked)
        work.run.open_questions += cells.count(None)
        asides = [claim for claim, cell in zip(asked, cells, strict=True) if cell is False]
        work.drop(asides)
        work.run.changes += [
            ClaimChange(claim, "response", "beside the question") for claim in asides
        ]

    async def _checked(
        self, run: SampleRun, asked: Mapping[str, list[str]], question: str = ""
    ) -> CellTable:
        """Return which of its claims each text entails. A blank text is not asked about."""
        table = CellTable()

        async def check(text: str, claims: Sequence[str]) -> None:
            cells = await self.check(run, Premise(text, question), claims)
            table[text] = dict(zip(claims, cells, strict=True))

        checks: list[Coroutine[Any, Any, None]] = []
        for text, claims in asked.items():
            if claims and text.strip():
                checks.append(check(text, claims))
        await gather_all(checks)
        return table


class CellTable(dict[str, dict[str, Cell]]):
    """What texts entail, by text and claim."""

    def cell(self, text: str, claim: str) -> Cell:
        """Tell whether the text entails the claim; None if not asked, or without an answer.

        A blank text entails none.
        """
        return self.get(text, {}).get(claim) if text.strip() else False


class _SampleWork:
    """One sample on its way through the plan, and what was found out about it so far.

    Attributes:
        sample: the sample.
        response: its response, without thoughts at its head.
        full: is every cell wanted?
        run: what it has cost.
        texts: of its chunks.
        unlabeled: the texts of the chunks that are asked about the reference's claims.
        claims: of the response.
        correct: of each of them, whether the reference entails it.
        reference: the reference's claims; None if they could not be had.
        table: what the chunks entail.
    """

    def __init__(self, sample: Sample, *, full: bool) -> None:
        chunks = sample.retrieved_contexts
        self.sample = sample
        self.response = without_thoughts(sample.response)
        self.full = full
        self.run = SampleRun()
        self.texts = [chunk.text for chunk in chunks]
        self.unlabeled = {chunk.text for chunk in chunks if full or chunk.relevant is None}
        self.claims: list[str] = []
        self.correct: list[Cell] = []
        self.reference: list[str] | None = []
        self.table = CellTable()

    @property
    def unsupported(self) -> list[str]:
        """The response's claims that the judge finds neither in the reference nor in any chunk.

        If it left one of these answers open, the claim is not among them.
        """
        found: list[str] = []
        for claim, correct in zip(self.claims, self.correct, strict=True):
            if correct is False and not any(cell is not False for cell in self._cells(claim)):
                found.append(claim)
        return found

    def drop(self, claims: Collection[str]) -> None:
        """Take claims out of the response's, and their cells out of ``correct``."""
        pairs = zip(self.claims, self.correct, strict=True)
        kept = [(claim, cell) for claim, cell in pairs if claim not in claims]
        self.claims = [claim for claim, _ in kept]
        self.correct = [cell for _, cell in kept]

    @property
    def unanswered(self) -> int:
        """How much was asked and stayed open; a reference whose claims were not had counts 1."""
        open_cells = self.correct.count(None) + self.run.open_questions
        for cells in self.table.values():
            open_cells += list(cells.values()).count(None)
        return open_cells + (self.reference is None)

    def verdicts(self) -> Verdicts:
        """Return all that was found, with the sample's chunks. What was not asked is undetermined.

        Without claims of the reference, so is whether an unlabeled chunk is relevant.
        """
        reference = self.reference or []
        labels = [chunk.relevant for chunk in self.sample.retrieved_contexts]
        verdicts = Verdicts.from_matrices(
            self.correct,
            [self._cells(claim) for claim in self.claims],
            [self._cells(claim) for claim in reference],
            labels,
            response_claims=self.claims,
            reference_claims=reference,
        )
        return verdicts.with_sample(self.sample)

    def _cells(self, claim: str) -> list[Cell]:
        return [self.table.cell(text, claim) for text in self.texts]
