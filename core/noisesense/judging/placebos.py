"""Placebos: five questions of known answer that a judge is asked beside the first rows of a run.

A judge that says yes to everything makes every run perfect: no claim is wrong, and so no chunk is
ever asked about. One that says yes to chunks hides whatever the retriever brings. A judge is
therefore asked whether a reference, and a chunk, say a claim of another row's response (they do
not), and whether a reference says a sentence of its own (it does). What comes of them may be a
sign that the run is broken, see `noisesense.stats.signs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from noisesense.errors import StoreError
from noisesense.judging.calls import gather_all
from noisesense.judging.claims import ClaimSource
from noisesense.judging.protocol import (
    NO_USAGE,
    EntailmentJudge,
    Judge,
    Judgement,
    Placebos,
    Usage,
)
from noisesense.judging.sentences import sentences
from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Sample
from noisesense.verdicts.verdicts import ResponseClaim

COUNT = 5
"""So many placebos a judge is asked beside so many rows, if their texts give as many; more would
hardly tell more.

A run of fewer rows asks none: so few have no signs.
"""

Rows = Mapping[Sample, Iterable[ResponseClaim]]
"""Samples with the claims of their responses."""


async def with_placebos(judge: Judge, rows: Rows, judgement: Judgement) -> Judgement:
    """Ask up to `COUNT` placebos made of the rows; return the judgement with what came of them.

    Their cost is added to its usage. An error of the judge leaves a placebo unanswered.

    They are asked as the run's own claims are: with a store, a run that goes on does not pay
    again. A judge that cannot be asked about given claims, as a recording, is asked none: the
    judgement is returned as it is.

    Raises:
        StoreError: the judge's store cannot be read or written.
    """
    if not isinstance(judge, EntailmentJudge):
        return judgement
    answers = await gather_all(_ask(judge, placebo) for placebo in islice(_placebos(rows), COUNT))
    right = [is_right for is_right, _ in answers]
    placebos = Placebos(len(right), right.count(False), right.count(None))
    usage = sum((usage for _, usage in answers), judgement.usage)
    return replace(judgement, placebos=placebos, usage=usage)


_Placebo = tuple[str, str, str, bool]
"""A text, the question that it answers, a statement, and whether the text says it."""


def _placebos(rows: Rows) -> Iterator[_Placebo]:
    """In turns a claim of another row, beside the reference and a chunk, and an own sentence.

    A claim may be true by accident: so it is of a row with another question and reference, and
    has a number, a name or mostly words that the text has not.
    """
    for sample in rows:
        question = sample.user_input
        texts = {question, sample.reference} - {""}
        others: list[str] = []
        for other, claims in rows.items():
            if texts.isdisjoint({other.user_input, other.reference}):
                others += [claim.text for claim in claims]
        for claim in ClaimSource(sample.reference, question).strays(others)[:1]:
            yield sample.reference, question, claim, False
        for chunk in sample.retrieved_contexts[:1]:
            for claim in ClaimSource(chunk.text).strays(others)[:1]:
                yield chunk.text, "", claim, False
        for sentence in sentences(sample.reference)[:1]:
            yield sample.reference, question, sentence, True


async def _ask(judge: EntailmentJudge, placebo: _Placebo) -> tuple[Cell, Usage]:
    """Return whether the judge's answer is right, None without one, and what it cost."""
    text, question, statement, is_said = placebo
    try:
        found = await judge.entailment([text], [statement], question=question)
    except StoreError:
        raise
    except Exception:  # noqa: BLE001 - hosts log any error, and its message may hold a key
        return None, NO_USAGE
    said = found.cells[0][0]
    return None if said is None else said is is_said, found.usage
