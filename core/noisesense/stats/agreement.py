"""How far a judge agrees with people who judged the same samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, get_args

from noisesense.definitions import DefinitionName, Mode
from noisesense.stats._resampling import Unit
from noisesense.stats.cells import CellAgreement, CellKind, cell_agreement, compare_cells
from noisesense.stats.interval import Resampling
from noisesense.stats.pairing import Labelled, PairedBy, check_pair_by, judged_twice
from noisesense.stats.score_errors import ScoreError, score_errors

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True)
class Agreement:
    """A judge against people.

    Attributes:
        samples: judged by both.
        only_judge: judged by the judge alone.
        only_human: judged by people alone.
        other_texts: of these, pairs that have the same id or question and differ in the answer or
            another text: each side is counted as alone, since it is not the same sample.
        paired_by: ``"id"``, or ``"question"``: user input and reference.
        unmatched_claims: claims only one side has; their cells cannot be compared.
        cells: by kind: ``"correct"`` (does the reference entail a response claim?),
            ``"response"`` (does a chunk?), ``"reference"`` (does a chunk entail a reference
            claim?).
        errors: of the scores, by mode.
        warnings: what a reader of the figures must know, in words.
    """

    samples: int
    only_judge: int
    only_human: int
    other_texts: int
    paired_by: PairedBy
    unmatched_claims: int
    cells: dict[CellKind, CellAgreement]
    errors: dict[Mode, ScoreError]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON-ready data."""
        found = asdict(self)
        for kind, cells in self.cells.items():
            interval = cells.kappa_interval
            found["cells"][kind]["counts"] = cells.counts._asdict()
            found["cells"][kind]["kappa_interval"] = interval and interval._asdict()
        for mode, errors in self.errors.items():
            interval = errors.bias_interval
            found["errors"][mode]["bias_interval"] = interval and interval._asdict()
            found["errors"][mode]["samples"] = [each._asdict() for each in errors.samples]
        return found


def agreement(
    judge: Iterable[Labelled],
    human: Iterable[Labelled],
    *,
    definition: DefinitionName = "ragas",
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
) -> Agreement:
    """Compare a judge's verdicts with people's, cell by cell and score by score.

    Samples are paired as in `noisesense.compare`, and their texts must be the same: labels belong
    to one answer. Claims are matched by their text; case and white space do not matter. The rates
    it finds are those `noisesense.sensitivity_band` takes.

    Args:
        judge: results, lines of a recording or ``(sample, verdicts)`` pairs.
        human: the same samples, labelled by people; on the judge's claims, if cells are to be
            compared.
        definition: for the scores.
        pair_by: ``"id"`` or ``"question"``; by default by the ids that were supplied, else by
            question and reference.
        confidence: of the intervals.
        seed: the same seed gives the same intervals.
        resamples: how many bootstrap resamples.

    Raises:
        PairingError: no sample on both sides.
        InputError: an id twice on one side, or another number of chunks.
    """
    how = Resampling(confidence, resamples, seed).check()
    found = judged_twice(judge, human, check_pair_by(pair_by))
    units: dict[CellKind, Counter[Unit]] = {kind: Counter() for kind in get_args(CellKind)}
    unmatched = 0
    for both in found.samples:
        confusions, missing = compare_cells(both)
        unmatched += missing
        for kind, confusion in confusions.items():
            units[kind][tuple(map(float, confusion))] += 1
    return Agreement(
        samples=len(found.samples),
        only_judge=found.only_judge,
        only_human=found.only_human,
        other_texts=found.other_texts,
        paired_by=found.paired_by,
        unmatched_claims=unmatched,
        cells={kind: cell_agreement(each, how) for kind, each in units.items()},
        errors=score_errors(found.samples, definition, how),
        warnings=found.warnings,
    )
