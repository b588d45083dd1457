"""`LLMJudge`: the judge over a language model, in as few calls as the score needs; its options."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, get_args

from noisesense.errors import InputError, check_choice, check_whole, describe
from noisesense.judging.calls import CallRunner, LoopLimit, RunningTotals, model_name
from noisesense.judging.plan import Decomposer, Verifier
from noisesense.judging.planned import Plan, PlannedJudge, check_plan
from noisesense.judging.prompts import DEFAULT_PROMPTS, Budget, Prompts
from noisesense.judging.protocol import StructuredLLM

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

Check = Literal["list", "each", "auto"]


class LLMJudge(PlannedJudge):
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
        check: how claims are checked: ``"list"``, a chunk's claims in one call; ``"each"``, one
            claim a call; ``"auto"``, whichever the model can do.
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
        check: Check = "list",
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
        check_choice(check, get_args(Check), "check")
        check_plan(plan, store)
        check_whole(max_concurrency, 1, "max_concurrency")
        check_whole(votes, 1, "votes")
        check_whole(chunks_per_call, 1, "chunks_per_call")
        check_whole(max_reasks, 0, "max_reasks")
        prompts, budget = prompts or DEFAULT_PROMPTS, budget or Budget()
        name = model_name(llm, model, needed=store is not None)
        limit, totals = LoopLimit(max_concurrency), RunningTotals()
        runner = self._runner(CallRunner(llm, name, prompts.version, store, limit, totals))
        super().__init__(
            Decomposer(runner, prompts, budget, max_reasks),
            Verifier(runner, prompts, budget, max_reasks, votes, chunks_per_call),
            runner,
            plan=plan,
            settings=f"votes={votes} chunks_per_call={chunks_per_call}",
        )

    def _runner(self, runner: CallRunner) -> CallRunner:
        """What makes this judge's calls."""
        return runner


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
