"""Cell by cell: what a judge and people said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from noisesense.errors import InputError
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Record
from noisesense.stats.interval import Interval, Resampling, Unit, mean_interval
from noisesense.stats.needed import NeededCells
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
    """People gave a verdict and the judge did not, or its plan never asked."""
    human_open: int = 0
    """People gave none."""
    not_asked: int = 0
    """Of ``judge_open``, what its lazy plan left out, as no score needs it; see `NeededCells`."""

    @property
    def compared(self) -> int:
        """Cells in which both gave a verdict."""
        return sum(self[:4])


class Rate(NamedTuple):
    """A share; None where there is nothing to measure it on.

    Attributes:
        value: the figure.
        interval: of it, resampling whole samples (or clusters), whose cells are not independent.
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


def cell_agreement(samples: Sequence[Confusion], resampling: Resampling) -> CellAgreement:
    """From the samples' confusions to the figures."""
    counts = Confusion()
    if samples:
        counts = Confusion(*map(sum, zip(*samples, strict=True)))
    return CellAgreement(
        counts=counts,
        false_yes=_rate([(each.false_yes, each.both_no) for each in samples], resampling),
        false_no=_rate([(each.missed, each.both_yes) for each in samples], resampling),
    )


def _rate(samples: Sequence[tuple[int, int]], resampling: Resampling) -> Rate:
    """The share of the wrong in the samples' wrong and right cells."""
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
    return Rate(wrong / cells, mean_interval(units, resampling))


def compare_cells(
    judge: VerdictsForm, human: VerdictsForm, name: str, *, lazy: bool = False
) -> tuple[Counter[tuple[CellKind, str]], int]:
    """How many of one sample's cells count in which field of `Confusion`, by kind; and how many
    claims only one side has.

    Args:
        judge: its verdicts.
        human: people's.
        name: of the sample.
        lazy: was the judge asked for nothing but what its score needs?

    Raises:
        InputError: another number of chunks.
    """
    if judge.chunks and human.chunks and len(judge.chunks) != len(human.chunks):
        expected = f"{len(human.chunks)} chunks, as people saw"
        raise InputError(expected, str(len(judge.chunks)), where=f"sample {name!r}")
    response = _matched(judge.response_claims, human.response_claims)
    reference = _matched(judge.reference_claims, human.reference_claims)
    chunks = range(max(judge.chunk_count, human.chunk_count))
    fields: list[tuple[CellKind, str]] = []
    needed = NeededCells(judge)
    for claim, labeled in response:
        fields.append(("correct", _field(claim.correct, labeled.correct)))
        left_out = lazy and not needed.of_response(claim)
        for chunk in chunks:
            fields += _fields("response", claim, labeled, chunk, left_out=left_out)
    for stated, people in reference:
        for chunk in chunks:
            left_out = lazy and not needed.of_reference(chunk)
            fields += _fields("reference", stated, people, chunk, left_out=left_out)
    claims = _count_claims(judge) + _count_claims(human)
    matched_claims = 2 * (len(response) + len(reference))
    return Counter(fields), claims - matched_claims


def _fields(
    kind: CellKind, judge: ClaimForm, human: ClaimForm, chunk: int, *, left_out: bool
) -> Iterator[tuple[CellKind, str]]:
    """The fields that count a cell, which the judge's plan may have left out."""
    field = _field(cell_of(judge, chunk), cell_of(human, chunk))
    yield kind, field
    if left_out and field == "judge_open":
        yield kind, "not_asked"


def _count_claims(verdicts: VerdictsForm) -> int:
    return len(verdicts.response_claims) + len(verdicts.reference_claims)


def _matched(a: Sequence[_Claim], b: Sequence[_Claim]) -> list[tuple[_Claim, _Claim]]:
    """The claims that both sides have."""
    same = same_claims([claim.text for claim in a], [claim.text for claim in b])
    return [(a[i], b[j]) for i, j in same.items()]


def cell_of(claim: ClaimForm, chunk: int) -> Truth:
    """Does the chunk entail the claim?"""
    return None if chunk in claim.undetermined else chunk in claim.entailed_by


def _field(judge: Truth, human: Truth) -> str:
    """The field of `Confusion` that counts such a cell."""
    if human is None:
        return "human_open"
    if judge is None:
        return "judge_open"
    if human:
        return "both_yes" if judge else "missed"
    return "false_yes" if judge else "both_no"
