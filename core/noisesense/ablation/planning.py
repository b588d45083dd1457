"""What the user's system is asked: the samples' questions, with other chunks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from pydantic import StrictStr

from noisesense.errors import InputError, describe, encodable, error_context
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.definitions import Truth, any_of
from noisesense.scoring.outcomes import Range
from noisesense.scoring.results import Result, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.clusters import cluster_of
from noisesense.stats.interval import mean_range
from noisesense.stats.paired import MIN_PAIRS
from noisesense.stats.summarize import counted
from noisesense.verdicts.form import ResponseClaimForm
from noisesense.verdicts.sample import Chunk, ChunkLike, Line, Sample

VARIANTS = ("again", "without", "without-other")
"""What is asked by default."""

_LEAVE_OUT = "leave-out-"


class Row(Line):
    """One row of the plan, and of the answers."""

    id: StrictStr
    variant: StrictStr
    user_input: StrictStr
    retrieved_contexts: tuple[ChunkLike, ...]
    response: StrictStr | None = ""

    @property
    def place(self) -> str:
        return f"{self.id}, {self.variant}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready. A chunk is its text, or an object where it has a label or an id."""
        chunks: list[Any] = []
        for chunk in self.retrieved_contexts:
            data = chunk.model_dump(exclude_defaults=True)
            chunks.append(data["text"] if len(data) == 1 else data)
        return self.model_dump() | {"retrieved_contexts": chunks}


class Answer(NamedTuple):
    """What became of a sample under a variant.

    Attributes:
        unsupported: the share of the response's claims that the reference does not support; None
            where it makes no claims, or nothing is compared by it.
        said: of each claim of the old response, from 0 to 1: does this one say it again?
    """

    unsupported: Range | None
    said: tuple[Range, ...]


@dataclass
class Case:
    """One sample of the results, and the answers to it by variant.

    Attributes:
        unit: the cluster that it is in.
        noisy: the positions of its claims that the reference does not support and a chunk entails.
        unexplained: of those that the reference does not support and no chunk entails.
        sources: the texts of the chunks that the noisy claims come from, or may come from.
        relevance: whether each chunk is relevant; None where that is not known.
    """

    id: str
    unit: Hashable
    sample: Sample
    score: Score
    noisy: list[int] = field(init=False)
    unexplained: list[int] = field(init=False)
    sources: set[str] = field(init=False)
    relevance: tuple[Truth, ...] = field(init=False)
    answers: dict[str, Answer] = field(init=False, default_factory=dict[str, Answer])

    def __post_init__(self) -> None:
        """Derive the rest from the score, whose ``from_a_chunk`` implies an incorrect claim."""
        self.noisy = []
        self.unexplained = []
        self.sources = set()
        self.relevance = self.score.chunk_relevance
        outcomes = zip(self.claims, self.score.outcomes, strict=True)
        for position, (claim, outcome) in enumerate(outcomes):
            if outcome.from_a_chunk:
                self.noisy.append(position)
                for chunk in (*claim.entailed_by, *claim.undetermined):
                    self.sources.add(self.sample.retrieved_contexts[chunk].text)
            elif claim.correct is False and outcome.from_a_chunk is False:
                self.unexplained.append(position)

    @property
    def claims(self) -> Sequence[ResponseClaimForm]:
        """The claims of the old response."""
        return self.score.verdicts.response_claims

    @property
    def chunks(self) -> Iterator[tuple[Chunk, Truth]]:
        """The sample's chunks, and whether each is relevant."""
        return zip(self.sample.retrieved_contexts, self.relevance, strict=True)

    @property
    def relevant_chunks(self) -> list[Chunk]:
        """The chunks that are known to be relevant."""
        return [chunk for chunk, relevant in self.chunks if relevant]

    @property
    def reference_claims(self) -> list[str]:
        """The texts of the reference's claims."""
        return [claim.text for claim in self.score.verdicts.reference_claims]

    def chunks_without(self, texts: AbstractSet[str]) -> list[Chunk]:
        """The chunks but for those with these texts."""
        return [chunk for chunk in self.sample.retrieved_contexts if chunk.text not in texts]

    @property
    def documents(self) -> dict[str, int]:
        """The documents, each with the position of its first chunk."""
        documents: dict[str, int] = {}
        for position, chunk in enumerate(self.sample.retrieved_contexts):
            documents.setdefault(document_of(chunk), position)
        return documents

    def chunks_of(self, position: int) -> set[str]:
        """The texts of the chunks of the same document as the one at this position."""
        chunks = self.sample.retrieved_contexts
        document = document_of(chunks[position])
        return {chunk.text for chunk in chunks if document_of(chunk) == document}

    def unsupported(self, variant: str) -> Range | None:
        """The share of unsupported claims; None without an answer, or where it claims nothing."""
        answer = self.answers.get(variant)
        return None if answer is None else answer.unsupported

    def gone(self, variant: str, claims: Iterable[int]) -> Range | None:
        """The share of these claims that an answer does not say; None if there is none."""
        answer = self.answers.get(variant)
        if answer is None:
            return None
        said = mean_range([answer.said[claim] for claim in claims])
        return None if said is None else Range(1 - said.high, 1 - said.low)

    def others(self, followed: Iterable[int], taken: AbstractSet[str]) -> list[int]:
        """The claims that are not followed, and that no chunk with these texts entails."""
        texts = [chunk.text for chunk in self.sample.retrieved_contexts]
        others: list[int] = []
        for position, claim in enumerate(self.claims):
            entailing = {texts[chunk] for chunk in claim.entailed_by}
            if position not in followed and not entailing & taken:
                others.append(position)
        return others


def document_of(chunk: Chunk) -> str:
    """The document's id, or the text of a chunk without one."""
    return chunk.id or chunk.text


def cases_of(results: Iterable[Result], left_out: Counter[str]) -> dict[str, Case]:
    """The cases by id. Counts in ``left_out`` the results that cannot be used.

    Raises:
        InputError: an id occurs twice, or no result can be used.
    """
    cases: dict[str, Case] = {}
    for item in results:
        result = result_in(item)
        sample = result.sample
        scored = result.score
        if sample is None:
            left_out["results without texts"] += 1
            continue
        if scored is None:
            left_out["results without a score"] += 1
            continue
        if result.id in cases:
            raise InputError("each id once", describe(result.id), where="results")
        cases[result.id] = Case(result.id, cluster_of(result), sample, scored)
    if not cases:
        raise InputError("results with verdicts and texts", "none", where="results")
    return cases


def distractors(variant: str) -> int:
    """K of ``plus-K``; 0 for another variant. Raises `InputError` for an unknown one."""
    plus = re.fullmatch(r"plus-([1-9][0-9]{0,3})", variant)
    if plus is not None:
        return int(plus[1])
    if left_out(variant) is None and variant not in {*VARIANTS, "relevant-only"}:
        expected = "again, without, without-other, relevant-only, or plus-K with K from 1 to 9999"
        raise InputError(expected, repr(variant), where="variant")
    return 0


def left_out(variant: str) -> int | None:
    """The position of the chunk whose document is left out; None for another variant."""
    position = variant.removeprefix(_LEAVE_OUT)
    return int(position) if position != variant and position.isdecimal() else None


def contexts_of(case: Case, variant: str, seed: int) -> list[Chunk] | None:
    """The chunks of a variant without distractors; None where it says nothing about the sample."""
    if variant == "again":
        return [*case.sample.retrieved_contexts]
    if variant == "relevant-only":
        if None in case.relevance:
            return None
        return case.relevant_chunks or None
    position = left_out(variant)
    if position is not None:
        if position >= len(case.sample.retrieved_contexts):
            return None
        return case.chunks_without(case.chunks_of(position)) or None
    if not case.noisy:
        return None
    innocent = case.chunks_without(case.sources)
    if variant == "without":
        return innocent or None
    texts = sorted({chunk.text for chunk in innocent})
    if len(texts) < len(case.sources):
        return None
    others = Random(_seed(case, seed)).sample(texts, len(case.sources))
    return case.chunks_without({*others})


def _seed(case: Case, seed: int) -> str:
    return encodable(f"{seed} {case.id}")


class _Pool:
    """The chunks of all samples, each text once, from which distractors are drawn."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._chunks: dict[str, Chunk] = {}
        self._owners = defaultdict[str, list[tuple[Case, Truth]]](list)
        for case in cases:
            for chunk, relevant in case.chunks:
                self._chunks.setdefault(chunk.text, chunk)
                self._owners[chunk.text].append((case, relevant))
        self._texts = sorted(self._chunks)

    def with_distractors(self, case: Case, count: int, seed: int) -> list[Chunk]:
        """The sample's chunks, and at random places ``count`` that hold nothing of its reference.

        Raises:
            InputError: there are not so many.
        """
        random = Random(_seed(case, seed))  # plus-4 holds the distractors of plus-2
        wordings = (case.sample.reference, *case.reference_claims)
        wanted = [wording for wording in wordings if wording]
        # A text is checked when it is drawn. Checking all for each sample would take minutes.
        texts = _shuffled(self._texts, random)
        drawn: list[str] = []
        for text in texts:
            if self._is_fit(text, case, wanted):
                drawn.append(text)
                if len(drawn) == count:
                    break
        if len(drawn) < count:
            expected = (
                f"{count} chunks of other samples (or fewer variants), without the reference"
            )
            raise InputError(expected, str(len(drawn)), where=f"{case.id}, plus-{count}")
        chunks = [*case.sample.retrieved_contexts]
        for text in drawn:
            chunk = self._chunks[text].model_copy(update={"relevant": False})
            chunks.insert(random.randint(0, len(chunks)), chunk)
        return chunks

    def _is_fit(self, text: str, case: Case, wanted: Iterable[str]) -> bool:
        """Does the text hold nothing of the sample's reference?

        A chunk that is, or may be, relevant to the same question or reference does; so does one
        that holds the reference, or one of its claims, word for word.
        """
        if not text.strip():
            return False
        for owner, relevant in self._owners[text]:
            if owner is case:
                return False
            if relevant is not False and _asks_the_same(case.sample, owner.sample):
                return False
        return not any(wording in text for wording in wanted)


def _shuffled(texts: Sequence[str], random: Random) -> Iterator[str]:
    """The texts in random order. Draws a random number only for each text that is taken."""
    moved: dict[int, int] = {}
    for last in reversed(range(len(texts))):
        at = random.randint(0, last)
        yield texts[moved.get(at, at)]
        moved[at] = moved.get(last, last)


def _asks_the_same(sample: Sample, other: Sample) -> bool:
    return sample.user_input == other.user_input or sample.reference == other.reference


def plan(
    results: Iterable[Result],
    variants: Sequence[str] = VARIANTS,
    seed: int = 0,
    judge: Judge | None = None,
    leave_out: int = 0,
) -> list[dict[str, Any]]:
    """What to ask the system: a row for each sample and variant, in the results' order.

    ``without`` and ``without-other`` are asked of samples with noisy claims of which other chunks
    are left, ``relevant-only`` and ``plus-K`` of all samples, ``relevant-only`` where some chunk
    is relevant. Whatever is asked of a sample, ``again`` is, too.

    Args:
        results: with verdicts and texts, as `noisesense.read_results` gives them.
        variants: ``"without"``, ``"without-other"``, ``"relevant-only"``, ``"plus-K"``.
        seed: of what comes or goes by chance.
        judge: asks, for ``relevant-only``, which chunks are relevant where nobody said: one call
            a chunk.
        leave_out: how many answers may be asked for beside those, to leave out one document at a
            time: those that no wrong claim was entailed by, and that were retrieved most often
            where an answer had a wrong claim that no chunk entails.

    Returns:
        JSON-ready rows with ``id``, ``variant``, ``user_input``, ``retrieved_contexts`` and an
        empty ``response`` to fill in. A distractor is an object with ``"relevant": false``.

    Raises:
        InputError: nothing to plan from, no question, an unknown variant, too few chunks of other
            samples, or ``relevant-only`` with chunks of unknown relevance and no judge.
        JudgeError: the judge could not be asked.
    """
    return run_blocking(plan_async(results, variants, seed, judge, leave_out))


async def plan_async(
    results: Iterable[Result],
    variants: Sequence[str],
    seed: int,
    judge: Judge | None,
    leave_out: int = 0,
) -> list[dict[str, Any]]:
    """Same as `plan`, in a running event loop."""
    if isinstance(variants, str):
        raise InputError("a list of variants", describe(variants), where="variants")
    cases = cases_of(results, Counter())
    if not any(case.sample.user_input.strip() for case in cases.values()):
        hint = "was its column read? score --map user_input=COLUMN"
        raise InputError("questions to ask", "none in any sample", where="results", hint=hint)
    asked = {variant: distractors(variant) for variant in variants if variant != "again"}
    if "relevant-only" in asked:
        await _learn_relevance(cases.values(), judge)
    pool = _Pool(cases.values())
    planned = defaultdict[str, dict[str, list[Chunk]]](dict)
    for case in cases.values():
        for variant, count in asked.items():
            chunks: list[Chunk] | None
            if count:
                chunks = pool.with_distractors(case, count, seed)
            else:
                chunks = contexts_of(case, variant, seed)
            if chunks is not None:
                planned[case.id][variant] = chunks
    for case, variant in _leaving_out(cases.values(), {*planned}, leave_out, seed):
        planned[case.id][variant] = contexts_of(case, variant, seed) or []
    rows: list[dict[str, Any]] = []
    for case in cases.values():
        variants_of = planned[case.id]
        if variants_of:
            variants_of = {"again": [*case.sample.retrieved_contexts], **variants_of}
        for variant, chunks in variants_of.items():
            row = Row(
                id=case.id,
                variant=variant,
                user_input=case.sample.user_input,
                retrieved_contexts=tuple(chunks),
            )
            rows.append(row.to_dict())
    return rows


def _leaving_out(
    cases: Iterable[Case], asked: AbstractSet[str], budget: int, seed: int
) -> Iterator[tuple[Case, str]]:
    """What to leave out, document by document, within a number of answers.

    A document is left out of each answer with a wrong claim that no chunk entails; and, as a
    sham, one of the others, of answers of which none is left out yet. A document that is in fewer
    than six clusters of such answers could not be told from chance.

    Args:
        asked: the ids of the cases that are answered again already.
        budget: how many answers there may be, those to ``again`` counted.
        seed: of the shams.
    """
    suspects = defaultdict[str, list[tuple[Case, int]]](list)
    sources = set[str]()
    for case in cases:
        for chunk in case.sample.retrieved_contexts:
            if chunk.text in case.sources:
                sources.add(document_of(chunk))
        if case.unexplained:
            for document, position in case.documents.items():
                suspects[document].append((case, position))
    ranked = sorted(suspects.items(), key=lambda suspect: (-len(suspect[1]), suspect[0]))
    done = defaultdict[str, set[int]](set)
    for document, places in ranked:
        if document in sources or len({case.unit for case, _ in places}) < MIN_PAIRS:
            continue
        for case, position in places:
            others = {*case.documents.values()} - {position}
            if not others:
                continue
            new = {position}
            if not done[case.id]:
                new.add(Random(_seed(case, seed)).choice(sorted(others)))
            new -= done[case.id]
            is_first = not done[case.id] and case.id not in asked
            budget -= len(new) + is_first
            if budget < 0:
                return
            done[case.id] |= new
            for place in sorted(new):
                yield case, f"{_LEAVE_OUT}{place}"


async def _learn_relevance(cases: Iterable[Case], judge: Judge | None) -> None:
    """Ask for the relevance of each chunk whose relevance the results do not give.

    After a lazy plan it is known only for the samples that erred. Figures of those alone would
    be figures of a selection.
    """
    unknown = [case for case in cases if None in case.relevance]
    if not unknown:
        return
    if judge is None:
        raise InputError(
            "chunks of known relevance",
            f"{counted(len(unknown), 'sample')} with others",
            where="relevant-only",
            hint="a judge (--judge) says which are relevant; or leave out the variant",
        )
    checker = checking(judge)
    await gather_all(_learn(case, checker) for case in unknown)


async def _learn(case: Case, judge: EntailmentJudge) -> None:
    """Ask which chunks of unknown relevance entail a claim of the reference: the relevant ones."""
    claims = case.reference_claims
    if not claims:
        return
    unknown = [chunk.text for chunk, relevant in case.chunks if relevant is None]
    texts = list(dict.fromkeys(unknown))
    entailment = await judge.entailment(texts, claims)
    columns = zip(*entailment.cells, strict=True)
    learned: dict[str, Truth] = {}
    for text, cells in zip(texts, columns, strict=True):
        learned[text] = any_of(cells)
    relevance: list[Truth] = []
    for chunk, relevant in case.chunks:
        relevance.append(learned[chunk.text] if relevant is None else relevant)
    case.relevance = tuple(relevance)


def checking(judge: object) -> EntailmentJudge:
    """The judge. Raises `InputError` if it cannot check given claims."""
    if not isinstance(judge, EntailmentJudge):
        raise InputError("a judge that checks given claims", type(judge).__name__, where="judge")
    return judge


def matched(cases: dict[str, Case], answered: Iterable[Any]) -> Iterator[tuple[Case, Row]]:
    """The answers with their cases. Raises `InputError` for an answer to something else."""
    answered_before: set[str] = set()
    for number, data in enumerate(answered, start=1):
        with error_context(f"answer {number}"):
            row = Row.model_validate(data)
            distractors(row.variant)
            case = cases.get(row.id)
            if case is None:
                raise InputError("an id of the results", describe(row.id))
        with error_context(row.place):
            if row.place in answered_before:
                raise InputError("one answer", "another one")
            answered_before.add(row.place)
            if row.user_input != case.sample.user_input or not _fits(case, row):
                expected = "question and contexts as in a plan of these results"
                raise InputError(expected, f"others, for {describe(row.user_input)}")
        yield case, row


def _fits(case: Case, row: Row) -> bool:
    """Does some plan, of any seed and any judge, give the sample these contexts?"""
    retrieved = _texts(case.sample.retrieved_contexts)
    contexts = _texts(row.retrieved_contexts)
    count = distractors(row.variant)
    if count:
        return retrieved <= contexts and contexts.total() == retrieved.total() + count
    if row.variant == "relevant-only":
        return bool(contexts) and _may_be_relevant(case, contexts)
    if row.variant == "without-other":
        taken = {*retrieved} - {*contexts}
        if not case.sources or len(taken) != len(case.sources) or taken & case.sources:
            return False
        return contexts == _texts(case.chunks_without(taken))
    planned = contexts_of(case, row.variant, 0)
    return planned is not None and contexts == _texts(planned)


def _may_be_relevant(case: Case, contexts: Counter[str]) -> bool:
    """May these be the relevant chunks? The plan's judge may know more of them than we do."""
    surely = _texts(case.relevant_chunks)
    possibly = _texts(chunk for chunk, relevant in case.chunks if relevant is not False)
    return surely <= contexts <= possibly


def _texts(chunks: Iterable[Chunk]) -> Counter[str]:
    return Counter(chunk.text for chunk in chunks)
