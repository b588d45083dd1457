"""`LLMJudge`: the judge over a language model, in as few calls as the score needs; its options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from noisesense.errors import InputError, ReplyError, check_choice, check_whole, describe
from noisesense.judging.calls import (
    AwaitingAnswerError,
    CallRunner,
    LoopLimit,
    RunningTotals,
    SampleRun,
    Totals,
    digest,
    gather_all,
    identity_of,
    model_name,
)
from noisesense.judging.plan import Decomposer, PendingVerdicts, Premise, Verifier
from noisesense.judging.prompts import DEFAULT_PROMPTS, Budget, Prompts
from noisesense.judging.protocol import Entailment, Judgement, StructuredLLM, Usage
from noisesense.judging.records import StoredSample
from noisesense.utf8 import encodable
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import Verdicts

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

Plan = Literal["lazy", "full"]


class LLMJudge:
    """Verdicts from a language model, in at most C + 3 calls and 3 rounds for C chunks.

    1. The response and the reference are decomposed into claims, at once; the reference only
       if some chunk has no label.
    2. The response's claims are checked against the reference.
    3. Only if some claim is not found correct: each chunk, all at once, is asked for those
       claims and, if it has no label, for the reference's claims.

    So 3 calls if nothing is wrong (2 with labels), for both modes and every definition. Cells
    that are never asked are undetermined in the verdicts and cannot change the score.
    ``plan="full"`` asks for every cell; the score is the same.

    Each call is repeated at most ``max_reasks`` times, and only for what its replies left out.
    What decides the score is asked first, and the last time nothing else while any of it is
    open: the claims not known to be correct, and the reference's claims as long as none is known
    to be entailed by an unlabeled chunk. What stays missing is undetermined and counted in
    `Judgement.unanswered`; with a store, a later run asks for it again, and for nothing else.

    A text beyond the `Budget` takes more
    calls. A blank chunk entails nothing and is not asked about; equal chunks are asked once.

    Args:
        llm: the model; each framework's adapter wraps its own.
        plan: ``"lazy"`` for the fewest calls and tokens; ``"full"`` for the shortest wait, or to
            export verdicts for other metrics too.
        store: keeps every reply, so that a run that was killed resumes without paying twice.
        max_concurrency: calls at once, over all samples, in each event loop.
        votes: ask for each verdict this many times and take what more than half say. Without
            such a majority the verdict is undetermined. Votes only differ if the model's
            temperature is above 0 and its host caches nothing.
        prompts: other instructions.
        chunks_per_call: more than 1 saves calls, at the price of the model's attention.
        max_reasks: how often one call is repeated for what is missing.
        model: the model's name in the store, where ``llm`` has no ``name``. A model of your own
            should have an ``identity``, too: see `noisesense.StructuredLLM`.
        budget: when to split.

    Raises:
        InputError: an argument out of range, or a store and no name for the model.
    """

    def __init__(
        self,
        llm: StructuredLLM,
        *,
        plan: Plan = "lazy",
        store: VerdictStore | None = None,
        max_concurrency: int = 16,
        votes: int = 1,
        prompts: Prompts | None = None,
        chunks_per_call: int = 1,
        max_reasks: int = 2,
        model: str | None = None,
        budget: Budget | None = None,
    ) -> None:
        if not callable(getattr(llm, "generate", None)):
            raise InputError(
                "an object with `async def generate(prompt, schema)`",
                type(llm).__name__,
                where="llm",
                hint="the adapters wrap their frameworks' own models",
            )
        check_choice(plan, get_args(Plan), "plan")
        if store is not None and not callable(getattr(store, "claim", None)):
            hint = "store=VerdictStore(path)"
            raise InputError("a VerdictStore", describe(store), where="store", hint=hint)
        check_whole(max_concurrency, 1, "max_concurrency")
        check_whole(votes, 1, "votes")
        check_whole(chunks_per_call, 1, "chunks_per_call")
        check_whole(max_reasks, 0, "max_reasks")
        prompts, budget = prompts or DEFAULT_PROMPTS, budget or Budget()
        self.plan: Plan = plan
        self.model = model_name(llm, model, needed=store is not None)
        self.version = prompts.version
        self._llm, self._store = llm, store
        self._totals = RunningTotals()
        self._settings = f"plan={plan} votes={votes} chunks_per_call={chunks_per_call}"
        runner = self._runner(LoopLimit(max_concurrency))
        self._decomposer = Decomposer(runner, prompts, budget, max_reasks)
        self._verifier = Verifier(runner, prompts, budget, max_reasks, votes, chunks_per_call)

    def _runner(self, limit: LoopLimit) -> CallRunner:
        """What makes this judge's calls."""
        return CallRunner(self._llm, self.model, self.version, self._store, limit, self._totals)

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
        identity = "" if self._store is None else identity_of(self._llm)
        run = SampleRun(
            digest("\0".join([*texts, "", *claims])), encodable(claims[0][:60]), identity
        )
        numbered = dict(enumerate(claims))
        asked = [text for text in dict.fromkeys(texts) if text.strip()]
        try:
            premises = [Premise(text, numbered) for text in asked]
            answers = await self._verifier.verify(run, "chunk", premises)
        except BaseException:
            self._totals.add(Totals(failed=1))
            raise
        by_text = dict(zip(asked, answers, strict=True))
        cells = [[by_text.get(text, {i: False})[i] for text in texts] for i in numbered]
        unanswered = sum(row.count(None) for row in cells)
        self._totals.add(Totals(samples=1, unanswered=unanswered))
        return Entailment(cells, run.usage, unanswered)

    async def _fill(self, sample: Sample, run: SampleRun) -> PendingVerdicts:
        """The plan, step by step."""
        pending = PendingVerdicts(sample, full=self.plan == "full")
        decompose, verify = partial(self._decomposer.claims, run), self._verifier.verify

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


# The metric gives these itself, from arguments of its own.
_OWN = ("llm", "store")


def check_judge_options(options: Mapping[str, Any], where: str = "judge_options") -> None:
    """Only names that `LLMJudge` takes, before anything is asked. Its values it checks itself.

    Raises:
        InputError: not a mapping, or a name it does not take; the hint has what was meant.
    """
    if not isinstance(options, Mapping):
        raise InputError("a mapping of options", describe(options), where=where)
    known = [name for name in inspect.signature(LLMJudge).parameters if name not in _OWN]
    for name in options:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            if name in _OWN:
                hint = "it is an argument of the metric itself"
            raise InputError("options of LLMJudge", f"{name!r}", where=where, hint=hint)
