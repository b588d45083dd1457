"""Cell by cell: what a judge and people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from noisesense.errors import InputError
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Record
from noisesense.stats.interval import Interval, Unit, mean_interval
from noisesense.stats.pairing import same_claims
from noisesense.verdicts.form import ClaimForm, VerdictsForm

_Claim = TypeVar("_Claim", bound=ClaimForm)

CellKind = Literal["correct", "response", "reference"]
"""Which question a cell answers: does the reference entail a response claim; does a chunk; does a
chunk entail a reference claim?"""


class Confusion(NamedTuple):
    """How often the judge and people said what, over cells."""

    both_yes: int = 0
    missed: int = 0
    """People say yes, the judge no."""
    false_yes: int = 0
    """People say no, the judge yes."""
    both_no: int = 0
    judge_open: int = 0
    """People gave a verdict and the judge did not, or was not asked, as no score needs it."""
    human_open: int = 0
    """People gave none."""

    @property
    def compared(self) -> int:
        """How many cells have a verdict of both."""
        return sum(self[:4])


class Rate(NamedTuple):
    """A share; None where there is nothing to measure it on.

    Attributes:
        value: the figure.
        interval: of it, confidence whole samples (or clusters), whose cells are not independent.
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class CellAgreement(Record):
    """Agreement on one kind of cell.

    Attributes:
        counts: see `Confusion`; cells without two verdicts enter no figure.
        false_yes: ``false_yes / (false_yes + both_no)``.
        false_no: ``missed / (missed + both_yes)``.
    """

    counts: Confusion
    false_yes: Rate
    false_no: Rate


def cell_agreement(samples: Sequence[Confusion], confidence: float) -> CellAgreement:
    """Add up the samples' (or clusters') confusions, and return their rates."""
    return CellAgreement(
        counts=Confusion(*map(sum, zip(*samples, strict=True))),
        false_yes=_rate([(each.false_yes, each.both_no) for each in samples], confidence),
        false_no=_rate([(each.missed, each.both_yes) for each in samples], confidence),
    )


def _rate(samples: Sequence[tuple[int, int]], confidence: float) -> Rate:
    """Return the share of wrong cells, of each sample's ``(wrong, right)``; None without cells."""
    units = Counter[Unit]()
    wrong = 0
    cells = 0
    for sample_wrong, sample_right in samples:
        size = sample_wrong + sample_right
        if size:  # samples that have neither are no unit
            units[Unit(sample_wrong, sample_wrong, size)] += 1
            wrong += sample_wrong
            cells += size
    if not cells:
        return Rate(None, None)
    return Rate(wrong / cells, mean_interval(units, confidence))


def compare_cells(
    judge: VerdictsForm, human: VerdictsForm, name: str
) -> Iterator[tuple[CellKind, str]]:
    """Yield of each cell of a sample its kind and the field of `Confusion` that counts it.

    Claims that only one side has are left out.

    Raises:
        InputError: while iterated: both sides list chunks, and not as many; ``name`` is the
            sample's.
    """
    if judge.chunks and human.chunks and len(judge.chunks) != len(human.chunks):
        expected = f"{len(human.chunks)} chunks, as people saw"
        raise InputError(expected, str(len(judge.chunks)), where=f"sample {name!r}")
    chunks = range(max(judge.chunk_count, human.chunk_count))
    for claim, labeled in _matched(judge.response_claims, human.response_claims):
        yield "correct", _field(claim.correct, labeled.correct)
        for chunk in chunks:
            yield "response", _field(_cell(claim, chunk), _cell(labeled, chunk))
    for stated, people in _matched(judge.reference_claims, human.reference_claims):
        for chunk in chunks:
            yield "reference", _field(_cell(stated, chunk), _cell(people, chunk))


def _matched(a: Sequence[_Claim], b: Sequence[_Claim]) -> list[tuple[_Claim, _Claim]]:
    """Return the claims that both sides have, paired by `same_claims`."""
    same = same_claims([claim.text for claim in a], [claim.text for claim in b])
    return [(a[i], b[j]) for i, j in same.items()]


def _cell(claim: ClaimForm, chunk: int) -> Truth:
    """Tell whether the chunk entails the claim; None where that is open."""
    return None if chunk in claim.undetermined else chunk in claim.entailed_by


def _field(judge: Truth, human: Truth) -> str:
    """Return the field of `Confusion` that counts such a cell."""
    if human is None:
        return "human_open"
    if judge is None:
        return "judge_open"
    if human:
        return "both_yes" if judge else "missed"
    return "false_yes" if judge else "both_no"
