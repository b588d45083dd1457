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
from noisesense.scoring.results import Result
from noisesense.stats.summarize import counted
from noisesense.verdicts.sample import Chunk


def contexts_of(case: Case, variant: str) -> list[Chunk] | None:
    """Return the chunks of a variant (not ``plus-K``); None if it is not asked of the sample."""
    if variant == "again":
        return [*case.sample.retrieved_contexts]
    if variant == "relevant-only":
        return [chunk for chunk, relevant in case.chunks if relevant] or None
    position = left_out(variant)
    if position is not None:
        if position >= len(case.sample.retrieved_contexts):
            return None
        return case.chunks_without(case.chunks_of(position)) or None
    if not case.noisy:
        return None
    innocent = case.chunks_without(case.sources)
    return (innocent or None) if variant == "without" else _without_others(case, innocent)


def _without_others(case: Case, innocent: Sequence[Chunk]) -> list[Chunk] | None:
    """Return all chunks but as many innocent texts as there are sources; None if too few."""
    texts = sorted({chunk.text for chunk in innocent})
    if len(texts) < len(case.sources):
        return None
    others = Random(case.seed).sample(texts, len(case.sources))
    return case.chunks_without({*others})


class _Pool:
    """The chunks of all samples, each text once, in random order."""

    def __init__(self, cases: Iterable[Case]) -> None:
        chunks: dict[str, Chunk] = {}
        self._owners = defaultdict[str, set[object]](set)
        """By text, the samples that it is in, and the questions that it may be relevant to."""
        for case in cases:
            for chunk, relevant in case.chunks:
                chunks.setdefault(chunk.text, chunk)
                self._owners[chunk.text].add(case.id)
                if relevant is not False:
                    self._owners[chunk.text].add((case.sample.user_input,))
        self._chunks = [chunks[text] for text in sorted(chunks)]
        Random(0).shuffle(self._chunks)

    def with_distractors(self, case: Case, count: int) -> list[Chunk]:
        """Return the sample's chunks and, at random places, ``count`` distractors (see `_is_fit`).

        Raises:
            InputError: there are not so many.
        """
        random = Random(case.seed)  # plus-4 holds the distractors of plus-2
        first = random.randrange(len(self._chunks))
        chunks = [*case.sample.retrieved_contexts]
        added = 0
        for place in range(first, first + len(self._chunks)):
            chunk = self._chunks[place % len(self._chunks)]
            if self._is_fit(chunk.text, case):
                distractor = chunk.model_copy(update={"relevant": False})
                chunks.insert(random.randint(0, len(chunks)), distractor)
                added += 1
                if added == count:
                    return chunks
        expected = f"{count} chunks of other samples (or fewer variants), without the reference"
        raise InputError(expected, str(added), where=f"{case.id}, plus-{count}")

    def _is_fit(self, text: str, case: Case) -> bool:
        """Tell whether the text holds nothing of the sample's reference.

        A chunk that is, or may be, relevant to the same question does; so does one that holds the
        reference, or one of its claims, word for word.
        """
        if not text.strip() or self._owners[text] & {case.id, (case.sample.user_input,)}:
            return False
        reference_claims = case.score.verdicts.reference_claims
        wordings = [case.sample.reference, *(claim.text for claim in reference_claims)]
        return not any(wording and wording in text for wording in wordings)


def plan(
    results: Iterable[Result],
    variants: Sequence[str] = VARIANTS,
    leave_out: int = 0,
) -> list[dict[str, Any]]:
    """Return what to ask the system: rows of samples and variants, in the results' order.

    ``without`` and ``without-other`` are asked of samples with noisy claims of which other chunks
    are left, ``relevant-only`` and ``plus-K`` of all samples, ``relevant-only`` where some chunk
    is relevant. Whatever is asked of a sample, ``again`` is, too, and first; of a sample of which
    nothing is asked there is no row.

    Args:
        results: with verdicts and texts, as `noisesense.read_results` gives them.
        variants: ``"without"``, ``"without-other"``, ``"relevant-only"``, ``"plus-K"``.
        leave_out: how many answers may be asked for beside those, to leave out one document at a
            time: those that no wrong claim was entailed by, and whose answers had a wrong claim
            that no chunk entails most often.

    Returns:
        JSON-ready rows with ``id``, ``variant``, ``user_input``, ``retrieved_contexts`` and an
        empty ``response`` to fill in. A distractor is an object with ``"relevant": false``.

    Raises:
        InputError: nothing to plan from, an id twice, no question, an unknown variant, too few
            chunks of other samples, or ``relevant-only`` with chunks of unknown relevance.
    """
    cases = cases_of(results, Counter())
    _check([*cases.values()], variants)
    pool = _Pool(cases.values())
    planned = defaultdict[str, dict[str, list[Chunk]]](dict)
    asked = [variant for variant in variants if variant != "again"]
    for case, variant in product(cases.values(), asked):
        count = distractors(variant)
        if count:
            planned[case.id][variant] = pool.with_distractors(case, count)
            continue
        chunks = contexts_of(case, variant)
        if chunks is not None:
            planned[case.id][variant] = chunks
    for case, variant in leaving_out(cases.values(), {*planned}, leave_out):
        planned[case.id][variant] = contexts_of(case, variant) or []
    rows: list[dict[str, Any]] = []
    for case in cases.values():
        contexts = planned[case.id]
        if contexts:
            contexts = {"again": [*case.sample.retrieved_contexts], **contexts}
        for variant, chunks in contexts.items():
            row = Row(
                id=case.id,
                variant=variant,
                user_input=case.sample.user_input,
                retrieved_contexts=tuple(chunks),
            )
            rows.append(row.to_dict())
    return rows


def _check(cases: Sequence[Case], variants: Sequence[str]) -> None:
    """Raise `InputError` if no sample asks anything, or the relevance of chunks is not known."""
    if not any(case.sample.user_input.strip() for case in cases):
        hint = "was its column read? score --map user_input=COLUMN"
        raise InputError("questions to ask", "none in any sample", where="results", hint=hint)
    # After a lazy plan relevance is known only for the samples that erred. Figures of those alone
    # would be figures of a selection.
    unknown = [case for case in cases if None in case.score.chunk_relevance]
    if unknown and "relevant-only" in variants:
        raise InputError(
            "chunks of known relevance",
            f"{counted(len(unknown), 'sample')} with others",
            where="relevant-only",
            hint="label them, or score with --plan full; or leave out the variant",
        )


def matched(cases: dict[str, Case], answered: Iterable[Any]) -> Iterator[tuple[Case, Row]]:
    """Yield each answer's case and row, also of a row without a response.

    Raises `InputError`, while iterated, for a row that no plan has, or that comes twice.
    """
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
    """Tell whether some plan gives the sample these contexts."""
    retrieved = _texts(case.sample.retrieved_contexts)
    contexts = _texts(row.retrieved_contexts)
    count = distractors(row.variant)
    if count:
        return retrieved <= contexts and contexts.total() == retrieved.total() + count
    planned = contexts_of(case, row.variant)
    return planned is not None and contexts == _texts(planned)


def _texts(chunks: Iterable[Chunk]) -> Counter[str]:
    return Counter(chunk.text for chunk in chunks)
