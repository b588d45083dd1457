"""What the user's system is asked: the samples' questions, with other chunks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

from noisesense.ablation.cases import VARIANTS, Case, Row, cases_of, distractors, left_out
from noisesense.ablation.leaving_out import leaving_out
from noisesense.errors import InputError, describe, error_context
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import EntailmentJudge, Judge
from noisesense.scoring.definitions import Truth, any_of
from noisesense.scoring.results import Result
from noisesense.stats.summarize import counted
from noisesense.verdicts.sample import Chunk, Sample


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
    return (innocent or None) if variant == "without" else _without_others(case, innocent, seed)


def _without_others(case: Case, innocent: Sequence[Chunk], seed: int) -> list[Chunk] | None:
    """The chunks without as many innocent ones as there are guilty; None if there are fewer."""
    texts = sorted({chunk.text for chunk in innocent})
    if len(texts) < len(case.sources):
        return None
    others = Random(case.seed(seed)).sample(texts, len(case.sources))
    return case.chunks_without({*others})


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

    def contexts_of(self, case: Case, variant: str, seed: int) -> list[Chunk] | None:
        """As `contexts_of`, also of a variant with distractors. Raises `InputError`."""
        count = distractors(variant)
        return (
            self.with_distractors(case, count, seed) if count else contexts_of(case, variant, seed)
        )

    def with_distractors(self, case: Case, count: int, seed: int) -> list[Chunk]:
        """The sample's chunks, and at random places ``count`` that hold nothing of its reference.

        Raises:
            InputError: there are not so many.
        """
        random = Random(case.seed(seed))  # plus-4 holds the distractors of plus-2
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
    cases = cases_of(results, Counter())
    _check(cases.values(), variants)
    if "relevant-only" in variants:
        await _learn_relevance(cases.values(), judge)
    pool = _Pool(cases.values())
    planned = defaultdict[str, dict[str, list[Chunk]]](dict)
    asked = [variant for variant in variants if variant != "again"]
    for case, variant in product(cases.values(), asked):
        chunks = pool.contexts_of(case, variant, seed)
        if chunks is not None:
            planned[case.id][variant] = chunks
    for case, variant in leaving_out(cases.values(), {*planned}, leave_out, seed):
        planned[case.id][variant] = contexts_of(case, variant, seed) or []
    rows: list[dict[str, Any]] = []
    for case in cases.values():
        rows += _rows(case, planned[case.id])
    return rows


def _check(cases: Iterable[Case], variants: Sequence[str]) -> None:
    """Raise `InputError` for variants that there are not, or if no sample asks anything."""
    if isinstance(variants, str):
        raise InputError("a list of variants", describe(variants), where="variants")
    for variant in variants:
        distractors(variant)
    if not any(case.sample.user_input.strip() for case in cases):
        hint = "was its column read? score --map user_input=COLUMN"
        raise InputError("questions to ask", "none in any sample", where="results", hint=hint)


def _rows(case: Case, planned: dict[str, list[Chunk]]) -> Iterator[dict[str, Any]]:
    """The rows of one sample: of each variant, and of ``again`` if there is any."""
    if not planned:
        return
    again = {"again": [*case.sample.retrieved_contexts]}
    for variant, chunks in {**again, **planned}.items():
        row = Row(
            id=case.id,
            variant=variant,
            user_input=case.sample.user_input,
            retrieved_contexts=tuple(chunks),
        )
        yield row.to_dict()


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
