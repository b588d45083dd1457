"""Cell by cell: what a judge and people said, and where to cut a judge's probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import Truth
from noisesense.scoring.outcomes import Record
from noisesense.stats.interval import (
    Interval,
    Resampling,
    bootstrap_interval,
    mean_interval,
    ratio,
)
from noisesense.stats.pairing import match_texts
from noisesense.stats.resampling import Unit, Units, total
from noisesense.verdicts.form import ClaimForm, VerdictsForm

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

    @property
    def compared(self) -> int:
        """Cells in which both gave a verdict."""
        return sum(self[:4])


@dataclass(frozen=True)
class CellAgreement(Record):
    """Agreement on one kind of cell.

    Attributes:
        counts: see `Confusion`; cells without two verdicts enter no figure.
        accuracy: ``(both_yes + both_no) / compared``.
        kappa: Cohen's; see `kappa`.
        kappa_interval: resampling whole samples, whose cells are not independent.
        false_yes_rate: ``false_yes / (false_yes + both_no)``.
        false_yes_interval: of it; resampling whole samples, as the next.
        missed_rate: ``missed / (missed + both_yes)``.
        missed_interval: of it.
    """

    counts: Confusion
    accuracy: float | None
    kappa: float | None
    kappa_interval: Interval | None
    false_yes_rate: float | None
    false_yes_interval: Interval | None
    missed_rate: float | None
    missed_interval: Interval | None


def kappa(counts: Sequence[float]) -> float | None:
    """Cohen's kappa of ``(both_yes, missed, false_yes, both_no)``: ``(p_o − p_e) / (1 − p_e)``.

    With ``a, b, c, d`` for the four, ``p_o = (a + d) / n`` is the observed agreement and
    ``p_e = ((a+b)(a+c) + (c+d)(b+d)) / n²`` the one expected of two who say yes as often as these,
    independently. None without cells, and where both always say the same one thing (``p_e = 1``).

    Source: Cohen (1960), A coefficient of agreement for nominal scales, EPM 20.
    """
    a, b, c, d = counts[:4]
    n = a + b + c + d
    chance = (a + b) * (a + c) + (c + d) * (b + d)
    return ((a + d) * n - chance) / (n * n - chance) if n * n > chance else None


def cell_agreement(samples: Units, resampling: Resampling) -> CellAgreement:
    """From the samples' confusions (and how often each occurs) to the figures."""
    sums = total(samples) if samples else Confusion()
    counts = Confusion(*map(round, sums))
    yes, missed, false_yes, no = counts[:4]
    value = kappa(counts)
    return CellAgreement(
        counts=counts,
        accuracy=ratio((yes + no, counts.compared)),
        kappa=value,
        kappa_interval=(None if value is None else bootstrap_interval(samples, kappa, resampling)),
        false_yes_rate=ratio((false_yes, false_yes + no)),
        false_yes_interval=_rate_interval(samples, 2, 3, resampling),
        missed_rate=ratio((missed, missed + yes)),
        missed_interval=_rate_interval(samples, 1, 0, resampling),
    )


def _rate_interval(
    samples: Units, wrong: int, right: int, resampling: Resampling
) -> Interval | None:
    """Of one field of the confusions over it and another; samples without either say nothing."""
    units: Counter[Unit] = Counter()
    for sums, times in samples.items():
        if cells := sums[wrong] + sums[right]:
            units[sums[wrong], cells] += times
    return mean_interval([units], resampling) if units else None


def compare_cells(
    judge: VerdictsForm, human: VerdictsForm, name: str
) -> tuple[dict[CellKind, Confusion], int]:
    """One sample's cells, and how many claims only one side has.

    Raises:
        InputError: another number of chunks.
    """
    if judge.chunks and human.chunks and len(judge.chunks) != len(human.chunks):
        expected = f"{len(human.chunks)} chunks, as people saw"
        raise InputError(expected, str(len(judge.chunks)), where=f"sample {name!r}")
    chunks = range(max(judge.chunk_count, human.chunk_count))
    response, *alone = match_texts(judge.response_claims, human.response_claims, _text)
    reference, *others = match_texts(judge.reference_claims, human.reference_claims, _text)
    unmatched = sum(map(len, alone)) + sum(map(len, others))
    return {
        "correct": _confusion((j.correct, h.correct) for j, h in response),
        "response": _confusion(
            (cell_of(j, c), cell_of(h, c)) for j, h in response for c in chunks
        ),
        "reference": _confusion(
            (cell_of(j, c), cell_of(h, c)) for j, h in reference for c in chunks
        ),
    }, unmatched


def _text(claim: ClaimForm) -> str:
    return claim.text


def cell_of(claim: ClaimForm, chunk: int) -> Truth:
    """Does the chunk entail the claim?"""
    return None if chunk in claim.undetermined else chunk in claim.entailed_by


_FIELDS: dict[tuple[Truth, Truth], str] = {
    (True, True): "both_yes",
    (False, True): "missed",
    (True, False): "false_yes",
    (False, False): "both_no",
    (None, True): "judge_open",
    (None, False): "judge_open",
}
"""By the judge's verdict and people's: the field of `Confusion` that counts such a cell."""


def _confusion(cells: Iterable[tuple[Truth, Truth]]) -> Confusion:
    return Confusion(**Counter(_FIELDS.get(cell, "human_open") for cell in cells))


@dataclass(frozen=True)
class Cut(Record):
    """A threshold, and what is wrong with the verdicts it gives.

    Attributes:
        threshold: a probability of at least this is a "yes".
        false_yes: of the "no" that people gave, the share it calls "yes".
        false_no: of the "yes", the share it calls "no".
        kappa: Cohen's.
    """

    threshold: float
    false_yes: float
    false_no: float
    kappa: float


@dataclass(frozen=True)
class Calibration(Record):
    """Two thresholds to choose from. Both are chosen on these labels, and flatter themselves on
    them: their rates on other labels are what counts.

    Attributes:
        cells: labeled verdicts with a probability.
        balanced: where the two rates are nearest to each other.
        best_kappa: where kappa is highest.
    """

    cells: int
    balanced: Cut
    best_kappa: Cut


def calibrate(cells: Iterable[tuple[bool, float]]) -> Calibration:
    """The thresholds that balance false "yes" and false "no", and that agree best with people.

    Every threshold between two neighboring probabilities is tried. It is their middle, rounded as
    far as that tells the two apart.

    Args:
        cells: what people said, and the probability.

    Raises:
        InputError: not both a "yes" and a "no"; a probability outside 0 to 1, or NaN.
    """
    given = list(cells)
    for number, (_, p) in enumerate(given):
        if not 0 <= p <= 1:
            raise InputError("a probability from 0 to 1", describe(p), where=f"cell {number}")
    found = sorted(given, key=lambda cell: cell[1])
    yes = sum(label for label, _ in found)
    no = len(found) - yes
    if not yes or not no:
        got = "none" if not found else "one kind"
        raise InputError('labels of both kinds, "yes" and "no"', got, where="calibrate")
    values = [(p, [label for label, _ in of]) for p, of in groupby(found, lambda cell: cell[1])]
    cuts: list[Cut] = []
    # A cut above all is as good as the one below all, which stands first.
    missed, refused, below = 0, 0, 0.0
    for p, labels in values:
        counts = (yes - missed, missed, no - refused, refused)
        agreement = kappa(counts)
        assert agreement is not None, "there are labels of both kinds"
        cuts.append(Cut(_between(below, p), counts[2] / no, missed / yes, agreement))
        missed += sum(labels)
        refused += len(labels) - sum(labels)
        below = p

    def unbalanced(cut: Cut) -> float:
        # Rounded: 1/2 is as far from 1/3 as from 2/3.
        return round(abs(cut.false_yes - cut.false_no), 12)

    return Calibration(
        cells=len(found),
        balanced=min(cuts, key=lambda cut: (unbalanced(cut), -cut.kappa)),
        best_kappa=min(cuts, key=lambda cut: (-cut.kappa, unbalanced(cut))),
    )


def _between(low: float, high: float) -> float:
    """The middle, rounded, but above the one and at most the other."""
    middle = (low + high) / 2
    for digits in range(1, 17):
        if low < round(middle, digits) <= high:
            return round(middle, digits)
    return high
