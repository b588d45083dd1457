"""Placebos: five questions of known answer that a run asks its judge beside its own.

A judge that says yes to everything makes every run perfect: no claim is wrong, and so no chunk is
ever asked about. A run therefore asks whether a reference says a claim of another row's response
(it does not), and whether it says a sentence of its own (it does). What comes of them may be a
sign that the run is broken, see `noisesense.stats.signs`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from noisesense.errors import JudgeError
from noisesense.judging.calls import gather_all
from noisesense.judging.claims import ClaimSource
from noisesense.judging.protocol import NO_USAGE, EntailmentJudge, Judge, Placebos, Usage
from noisesense.judging.sentences import sentences
from noisesense.scoring.results import Result
from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Sample

COUNT = 5
"""So many placebos a run asks, if its texts give as many; more would hardly tell more.

A run of fewer rows asks none: so few have no signs.
"""
_MOST_ROWS = 20


class PlaceboRows:
    """The rows that the placebos of a run are made of, its first twenty."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._claims: dict[Sample, list[str]] = {}

    def add(self, result: Result) -> None:
        """Add the next row."""
        sample = result.sample
        if sample and result.score and len(self._claims) < _MOST_ROWS:
            verdicts = result.score.verdicts
            self._claims[sample] = [claim.text for claim in verdicts.response_claims]

    async def ask(self, last: Result) -> Result:
        """Ask the placebos; the last result of the run with what came of them, and their cost.

        They are asked as the run's own claims are: with a store, a run that goes on does not pay
        again. A judge that cannot be asked about given claims, as a recording, is asked none.

        Raises:
            StoreError: the judge's store.
        """
        judge = self._judge
        if len(self._claims) < COUNT or not isinstance(judge, EntailmentJudge):
            return last
        answers = await gather_all(islice(self._asked(judge), COUNT))
        cells = [cell for cell, _ in answers]
        placebos = Placebos(len(cells), cells.count(False), cells.count(None))
        usage = sum((usage for _, usage in answers), last.usage)
        return replace(last, placebos=placebos, usage=usage)

    def _asked(self, judge: EntailmentJudge) -> Iterator[_Asked]:
        """In turns a claim of another row and a sentence of the reference.

        A claim may be true by accident: so it is of a row with another question and reference, and
        has a number, a name or mostly words that neither question nor reference has.
        """
        for sample in self._claims:
            texts = {sample.user_input, sample.reference} - {""}
            source = ClaimSource(sample.reference, sample.user_input)
            for other, listed in self._claims.items():
                claims = source.strays(listed)
                if claims and texts.isdisjoint({other.user_input, other.reference}):
                    yield _ask(judge, sample, claims[0], is_said=False)
                    break
            for sentence in sentences(sample.reference)[:1]:
                yield _ask(judge, sample, sentence, is_said=True)


_Asked = Coroutine[Any, Any, tuple[Cell, Usage]]


async def _ask(
    judge: EntailmentJudge, sample: Sample, statement: str, *, is_said: bool
) -> tuple[Cell, Usage]:
    """Return whether the judge's answer is right, None without one, and what it cost."""
    question = sample.user_input
    try:
        found = await judge.entailment([sample.reference], [statement], question=question)
    except JudgeError:
        return None, NO_USAGE
    said = found.cells[0][0]
    return None if said is None else said is is_said, found.usage
