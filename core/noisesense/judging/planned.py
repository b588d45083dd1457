"""`PlannedJudge`: what judges share that find claims in texts, and verdicts on them, by a plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar, get_args

from noisesense.errors import InputError, ReplyError, check_choice, describe
from noisesense.judging.calls import (
    AwaitingAnswerError,
    CallRunner,
    SampleRun,
    Totals,
    digest,
    gather_all,
    identity_of,
)
from noisesense.judging.plan import Answers, PendingVerdicts, Premise
from noisesense.judging.protocol import Entailment, Judgement, Usage
from noisesense.judging.records import StoredSample
from noisesense.utf8 import encodable
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

Plan = Literal["lazy", "full"]


class ClaimFinder(Protocol):
    """Takes a text apart: `noisesense.judging.plan.Decomposer` does."""

    async def claims(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        """The claims in the text's order. Raises `ReplyError` if they cannot be found."""
        ...


class ClaimChecker(Protocol):
    """Checks claims: `noisesense.judging.plan.Verifier` does."""

    async def verify(
        self, run: SampleRun, step: str, premises: Sequence[Premise]
    ) -> list[Answers]:
        """One table of answers for each premise. Raises `JudgeError` if it cannot be asked."""
        ...


def check_plan(plan: object, store: object) -> None:
    """Raises `InputError` for an unknown plan, or for something else than a store."""
    check_choice(plan, get_args(Plan), "plan")
    if store is not None and not callable(getattr(store, "claim", None)):
        hint = "store=VerdictStore(path)"
        raise InputError("a VerdictStore", describe(store), where="store", hint=hint)


A = TypeVar("A")
Check = Callable[[SampleRun, str, Sequence[Premise]], Awaitable[Sequence[Mapping[int, A | None]]]]
"""As `ClaimChecker.verify`, with answers of any kind."""


class PlannedJudge:
    """What judges share that follow the plan of `noisesense.LLMJudge`.

    Args:
        finder: finds the claims.
        checker: checks them.
        runner: makes the checker's calls, by the model and the version that the judge is known
            by, and keeps them in the store.
        plan: see `noisesense.LLMJudge`.
        settings: what else a judgement depends on, for people to read.
    """

    def __init__(
        self,
        finder: ClaimFinder,
        checker: ClaimChecker,
        runner: CallRunner,
        *,
        plan: Plan,
        settings: str,
    ) -> None:
        self.plan: Plan = plan
        self.model = runner.model
        self.version = runner.version
        self._finder, self._checker = finder, checker
        self._llm, self._store, self._totals = runner.llm, runner.store, runner.totals
        self._settings = f"plan={plan} {settings}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, plan={self.plan!r})"

    @property
    def name(self) -> str:
        """The model and all that its verdicts depend on: prompts, plan, votes, its own options."""
        options = digest(identity_of(self._llm))[:8]
        return f"{self.model}, {self._settings}, prompts {self.version}, options {options}"

    @property
    def usage(self) -> Usage:
        """What all calls so far have cost, over all samples, threads and event loops."""
        return self._totals.now.usage

    @property
    def totals(self) -> Totals:
        """As `usage`, with the number of samples and of unanswered cells."""
        return self._totals.now

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
        identity = "" if self._store is None else identity_of(self._llm)
        run = SampleRun(sample.key, _label(sample), identity)
        try:
            pending = await self._fill(sample, run)
        except BaseException:
            self._totals.add(Totals(failed=1))
            raise
        verdicts = pending.verdicts()
        self._totals.add(Totals(samples=1, unanswered=pending.unanswered))
        if self._store is not None:
            self._store.put_sample(
                StoredSample(
                    sample=sample,
                    verdicts=verdicts,
                    model=self.model,
                    version=self.version,
                    settings=self._settings,
                    unanswered=pending.unanswered,
                    identity=digest(identity),
                )
            )
        return Judgement(verdicts, run.usage, pending.unanswered)

    async def entailment(self, texts: Sequence[str], claims: Sequence[str]) -> Entailment:
        """Which texts entail which claims, as they are given. A blank text entails none.

        Raises:
            JudgeError: the model could not be asked. Calls that were finished stay in the store.
            StoreError: the store cannot be read or written.
        """
        return Entailment(*await self._cells(texts, claims, self._checker.verify, False))

    async def _cells(
        self, texts: Sequence[str], claims: Sequence[str], check: Check[A], blank: A
    ) -> tuple[list[list[A | None]], Usage, int]:
        """What the check gives for each claim and text, the usage, and how much has no answer."""
        identity = "" if self._store is None else identity_of(self._llm)
        run = SampleRun(
            digest("\0".join([*texts, "", *claims])), encodable(claims[0][:60]), identity
        )
        numbered = dict(enumerate(claims))
        asked = [text for text in dict.fromkeys(texts) if text.strip()]
        try:
            answers = await check(run, "chunk", [Premise(text, numbered) for text in asked])
        except BaseException:
            self._totals.add(Totals(failed=1))
            raise
        by_text = dict(zip(asked, answers, strict=True))
        cells = [
            [by_text[text][i] if text in by_text else blank for text in texts] for i in numbered
        ]
        unanswered = sum(row.count(None) for row in cells)
        self._totals.add(Totals(samples=1, unanswered=unanswered))
        return cells, run.usage, unanswered

    async def _fill(self, sample: Sample, run: SampleRun) -> PendingVerdicts:
        """The plan, step by step."""
        pending = PendingVerdicts(sample, full=self.plan == "full")
        decompose, verify = partial(self._finder.claims, run), self._checker.verify

        async def response() -> None:
            pending.response = await decompose("response", sample.response, sample.user_input)
            if not pending.full:
                await correctness()

        async def reference() -> None:
            if not pending.needs_reference_claims:
                return
            try:
                claims = await decompose("reference", sample.reference, sample.user_input)
            except ReplyError:
                pending.reference_failed = True
            else:
                pending.reference = claims

        async def correctness() -> None:
            premise = Premise(sample.reference, pending.response_claims)
            try:
                (answers,) = await verify(run, "reference", [premise])
            except AwaitingAnswerError:
                pending.add_correctness(None)
                raise
            pending.add_correctness(answers)

        async def chunks() -> None:
            premises = pending.chunk_premises()
            answers = await verify(run, "chunk", [*premises.values()])
            pending.by_text = dict(zip(premises, answers, strict=True))

        await gather_all([response(), reference()])
        # Where every cell is wanted, the chunks need not wait to hear what is correct.
        await gather_all([correctness(), chunks()] if pending.full else [chunks()])
        return pending


def _label(sample: Sample) -> str:
    """A few words by which a person knows the sample again."""
    words = " ".join((sample.user_input or sample.response).split())[:60]
    return encodable(words)
