"""`LLMJudge`: the judge over a language model, in as few calls as the score needs; its options."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from noisesense.errors import (
    InputError,
    ReplyError,
    check_choice,
    check_whole,
    describe,
    kind_of,
)
from noisesense.judging.calls import Calls, ModelCall, SampleRun, gather_all, model_name
from noisesense.judging.claims import ClaimSource
from noisesense.judging.plan import Plan, PlannedJudge
from noisesense.judging.prompts import (
    DEFAULT_PROMPTS,
    Answer,
    Answers,
    Budget,
    Premise,
    Prompts,
    answers_form,
    claims_form,
)
from noisesense.judging.protocol import ClaimChange, StructuredLLM, TextKind
from noisesense.judging.splitting import TextLimit
from noisesense.judging.words import distinct
from noisesense.verdicts.form import Cell

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

Check = Literal["list", "each"]

_OVERLAP = 1_000


class LLMJudge(PlannedJudge):
    """Verdicts from a language model, in some C + 3 calls and 3 rounds for C chunks.

    1. The response and the reference are decomposed into claims, at once; the reference only
       if some chunk has no label. The model is asked once more about claims that may not be the
       text's, and about sentences that the claims may have left out.
    2. The response's claims are checked against the reference.
    3. Only if some claim is not found correct: each chunk, all at once, is asked for those
       claims and, if it has no label, for the reference's claims.
    4. Only if neither the reference nor a chunk supports some claim: does it give information on
       the question? If not, it is no claim.

    So 3 calls if nothing is wrong (2 with labels) and the lists have the words of the texts, and
    at most C + 8, for both modes and every definition. Cells that are never asked are
    undetermined in the verdicts and cannot change the score. ``plan="full"`` asks for every cell;
    the score is the same.

    Each call is repeated at most ``max_reasks`` times, and only for what its replies left out.
    What stays missing is undetermined and counted in `Judgement.unanswered`; with a store, a
    later run asks for it again, and for nothing else. A first reply that a text makes no claims
    is asked again, however small ``max_reasks``: only two that agree are believed.

    A text beyond the `Budget` takes more calls. A blank chunk entails nothing and is not asked
    about; equal chunks are asked once.

    Args:
        llm: the model; each framework's adapter wraps its own.
        check: ``"list"`` asks a text about all its claims in one call: the fewest calls, for
            strong models. ``"each"`` asks about one claim a call: for small and
            local models, which err less so.
        plan: ``"lazy"`` for the fewest calls and tokens; ``"full"`` for the shortest wait, or to
            export verdicts for other metrics too.
        store: keeps every useful reply, so that a run that was killed resumes without paying
            twice.
        max_concurrency: calls at once, over all samples, in each event loop.
        votes: ask for each verdict this many times and take what more than half say. Without
            such a majority the verdict is undetermined. Votes only differ if the model's
            temperature is above 0 and its host caches nothing.
        prompts: other instructions.
        max_reasks: how often one call is repeated for what is missing.
        model: the model's name in the store, where ``llm`` has no ``name``. A model of your own
            should have an ``identity``, too: see `noisesense.StructuredLLM`.
        budget: when to split.
        timeout: seconds that one call may take, its client's own retries included.
        max_wait: seconds to wait in a row while the provider takes no calls: after an HTTP 429 or
            503 all calls pause together, and go on at a rate that it takes.

    Raises:
        InputError: an argument out of range or of another kind, or a store and no name for the
            model (or unknown options, see ``model``).
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
        max_reasks: int = 2,
        model: str | None = None,
        budget: Budget | None = None,
        timeout: float = 600.0,
        max_wait: float = 600.0,
    ) -> None:
        if isinstance(llm, type) or not callable(getattr(llm, "generate", None)):
            expected = "an object with `async def generate(prompt, schema)`"
            hint = "the adapters wrap their frameworks' own models"
            raise InputError(expected, kind_of(llm), where="llm", hint=hint)
        check_choice(check, get_args(Check), "check")
        check_choice(plan, get_args(Plan), "plan")
        if store is not None and not callable(getattr(store, "claim", None)):
            hint = "store=VerdictStore(path)"
            raise InputError("a VerdictStore", describe(store), where="store", hint=hint)
        check_whole(max_concurrency, 1, "max_concurrency")
        check_whole(votes, 1, "votes")
        check_whole(max_reasks, 0, "max_reasks")
        self._prompts = prompts or DEFAULT_PROMPTS
        self._budget = budget or Budget()
        self._limit = TextLimit(self._budget.text_chars)
        self._check: Check = check
        self._votes = votes
        self._attempts = 1 + max_reasks
        name = model_name(llm, model, needed=store is not None)
        version = self._prompts.version
        calls = Calls(llm, name, version, store, max_concurrency, timeout, max_wait)
        settings = [f"check={check}"]
        if votes != 1:
            settings.append(f"votes={votes}")
        super().__init__(calls, plan=plan, settings=" ".join(settings))

    async def find(self, run: SampleRun, which: TextKind, text: str, question: str) -> list[str]:
        """Return the claims as the model lists them, and then sentences that its list left out.

        No two have the same words. None at all if the text has no letter or digit, or if the model
        says twice that there are none. Of a long text, the claims of one part after another.

        A score is a share of all claims, so a list has to be about the text and to cover it. Where
        it may not be, the model is asked once more, and its answer decides.

        Raises:
            ReplyError: no reply had a usable list.
            JudgeError: the model could not be asked.
            StoreError: the store cannot be read or written.
        """

        async def claims_of(part: str) -> list[str]:
            source = ClaimSource(part, question, self._prompts.decompose)
            return await self._find(run, which, source)

        lists = await self._limit.ask(text, claims_of)
        return distinct(claim for claims in lists for claim in claims)

    async def _find(self, run: SampleRun, which: TextKind, source: ClaimSource) -> list[str]:
        claims = await self._listed(run, which, source)
        left_out = source.untouched(claims) if claims else []
        said = await self._ask(run, Premise(claims=tuple(claims)), left_out)
        added = [line for line in left_out if said[line] is False]
        run.changes += [ClaimChange(line, which, "left out") for line in added]
        return distinct([*claims, *added])

    async def _listed(self, run: SampleRun, which: TextKind, source: ClaimSource) -> list[str]:
        """Return a list that can be believed.

        It is empty if two replies are, or if the text has no letter and no digit. Raises
        `ReplyError` if no attempt gives one.
        """
        if not any(map(str.isalnum, source.text)):
            return []
        believed = False
        attempt = 0
        most = self._attempts
        while attempt < most:
            prompt = partial(self._prompts.decomposition, source.text, source.question)
            form = claims_form(source.text)
            call = ModelCall(
                prompt,
                most,
                form,
                lambda reply: source.read(reply.claims),
                is_aside=which == "reference",
            )
            listed, attempt = await self._calls.ask(run, call, attempt)
            if listed:
                claims = await self._without_strays(run, which, source, listed)
                if claims:
                    return claims
            elif listed is not None:
                if believed:
                    return []
                believed = True
                most = max(most, attempt + 1)
        problem = run.problem or "what it listed is not the text's"
        raise ReplyError(
            f"the judge's model gave no usable list of the claims of the {which},"
            f" asked {attempt} times ({problem})",
            usage=run.usage,
        )

    async def _without_strays(
        self, run: SampleRun, which: TextKind, source: ClaimSource, claims: list[str]
    ) -> list[str]:
        """Return the claims without those that are not the text's, as the model says."""
        strays = source.strays(claims)
        said = await self._ask(run, Premise(source.text, source.question), strays)
        kept = [claim for claim in claims if said.get(claim) is not False]
        if kept:
            dropped = [claim for claim in strays if said[claim] is False]
            run.changes += [ClaimChange(claim, which, "stray") for claim in dropped]
        return kept

    async def _ask(
        self, run: SampleRun, premise: Premise, statements: Sequence[str]
    ) -> dict[str, Cell]:
        """Return what the premise says of each statement, and count what it leaves open."""
        if not statements:
            return {}
        cells = await self._part(run, premise, statements)
        run.open_questions += cells.count(None)
        return dict(zip(statements, cells, strict=True))

    async def check(
        self, run: SampleRun, premise: Premise, claims: Sequence[str]
    ) -> Sequence[Cell]:
        """Tell of each claim whether the premise says it; None if that stays without an answer.

        A long text is asked in parts: it says what any part says, and where none does, one part
        without an answer leaves it open (None). On a question alone: does the claim give
        information on it?

        Raises:
            JudgeError: the model could not be asked.
            StoreError: the store cannot be read or written.
        """
        if not premise.text:
            return await self._part(run, premise, claims)

        async def cells_of(part: str) -> list[Cell]:
            return await self._part(run, Premise(part, premise.question), claims)

        by_part = await self._limit.ask(premise.text, cells_of, overlap=_OVERLAP)
        return [any_part(cells) for cells in zip(*by_part, strict=True)]

    async def _part(self, run: SampleRun, premise: Premise, claims: Sequence[str]) -> list[Cell]:
        """Return a cell for each claim, asked with as many claims in a call as it may hold."""
        most = 1 if self._asks_each(premise) else self._budget.claims
        batches = [claims[start : start + most] for start in range(0, len(claims), most)]
        by_batch = await gather_all(self._voted(run, premise, batch) for batch in batches)
        return [cell for cells in by_batch for cell in cells]

    def _asks_each(self, premise: Premise) -> bool:
        """Tell whether each call is about one claim.

        Never on a question: asked about one claim alone, small models always say that it gives no
        information on it.
        """
        return self._check == "each" and not premise.is_question

    async def _voted(self, run: SampleRun, premise: Premise, claims: Sequence[str]) -> list[Cell]:
        """Return what more than half of the votes say."""
        votes = range(self._votes)
        by_vote = await gather_all(self._vote(run, premise, claims, vote) for vote in votes)
        return [majority(cells) for cells in zip(*by_vote, strict=True)]

    async def _vote(
        self, run: SampleRun, premise: Premise, claims: Sequence[str], vote: int
    ) -> list[Cell]:
        """Return one vote on all claims: one call, and further ones for what replies left out."""
        cells: list[Cell] = [None] * len(claims)
        missing: list[int] = list(range(len(claims)))
        attempt = 0
        while missing and attempt < self._attempts:
            call = self._check_call(premise, [claims[at] for at in missing], vote)
            answers, attempt = await self._calls.ask(run, call, attempt)
            for number, answer in (answers or {}).items():
                cells[missing[number - 1]] = answer
            missing = [at for at in missing if cells[at] is None]
        return cells

    def _check_call(
        self, premise: Premise, claims: Sequence[str], vote: int
    ) -> ModelCall[Any, dict[int, bool]]:
        """Return the call. It numbers its claims from 1: with gaps, a model may count anew."""
        if self._asks_each(premise):
            one = partial(self._prompts.single, premise, claims[0])
            return ModelCall(one, self._attempts, Answer, _only_answer, vote)
        numbered = dict(enumerate(claims, start=1))
        prompt = partial(self._prompts.verification, premise, numbered)
        form = answers_form(len(claims))
        return ModelCall(prompt, self._attempts, form, partial(_answers, numbered), vote)


def _only_answer(reply: Answer) -> dict[int, bool]:
    return {1: reply.answer == "yes"}


def _answers(asked: Collection[int], reply: Answers) -> dict[int, bool] | None:
    """Return what the reply says of the statements; None if nothing.

    Nothing, too, if it goes on counting below or above them, whatever stands there, or has other
    numbers and no answer to some: the model has counted anew, and its numbers mean other
    statements, or it says something else there.
    """
    said = reply.by_number
    beside = said.keys() - set(asked)
    agreed: dict[int, bool] = {}
    for number in asked:
        answer = said.get(number)
        if answer is not None:
            agreed[number] = answer
    if beside & {0, len(asked) + 1}:
        return None
    if beside and (len(agreed) < len(asked) or any(said[number] is None for number in beside)):
        return None
    return agreed or None


def majority(votes: Sequence[Cell]) -> Cell:
    """Return what more than half of the votes say, if that is True or False; else None (open).

    Unanswered votes (None) count as votes.
    """
    for cell in (True, False):
        if 2 * votes.count(cell) > len(votes):
            return cell
    return None


def any_part(cells: Sequence[Cell]) -> Cell:
    """Tell whether a text entails a claim, by the cells of its parts: True if any is True.

    Otherwise None (open) if any is None, else False. Without parts it is False.
    """
    if any(cells):
        return True
    return None if None in cells else False
