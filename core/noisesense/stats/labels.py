"""How far to trust a judge: its verdicts beside people's, on your own samples or on others'."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import get_args

from noisesense.errors import InputError
from noisesense.judging.protocol import NO_USAGE, Usage
from noisesense.scoring.definitions import Mode, modes_of
from noisesense.scoring.outcomes import Record, check_between
from noisesense.scoring.results import Result, results_in
from noisesense.scoring.scoring import GIVEN_VERDICTS, NO_JUDGE
from noisesense.stats.clusters import cluster_of
from noisesense.stats.labels_cells import (
    CellAgreement,
    CellKind,
    Confusion,
    cell_agreement,
    compare_cells,
)
from noisesense.stats.labels_mean import Labeled, corrected_mean, labeled_pairs
from noisesense.stats.pairing import PairedBy
from noisesense.stats.powered_mean import PPIMean
from noisesense.verdicts.form import VerdictsForm


@dataclass(frozen=True)
class LabeledVerdicts:
    """One labeled sample, and what a judge said of its claims.

    Attributes:
        labels: by people; what they left open is in no figure.
        judge: on the same claims and chunks; None if it failed.
        name: of the sample.
        cluster: what the sample has in common with others, see `cluster_of`; None: nothing.
    """

    labels: VerdictsForm
    judge: VerdictsForm | None
    name: str
    cluster: str | None = None


@dataclass(frozen=True)
class Trust(Record):
    """A judge beside people.

    Attributes:
        judge: its name.
        labels_by: whose the labels are, if known.
        means: by mode, the mean that people would find in your results had they labeled them all,
            estimated from the judge's and the labels; empty where the labels are on other samples.
        samples: labeled samples that it judged.
        failed: labeled samples that it could not judge; they are in no figure.
        cells: by kind: ``"correct"`` (does the reference entail a response claim?),
            ``"response"`` (does a chunk?), ``"reference"`` (does a chunk entail a reference
            claim?). A judge errs differently in each.
        usage: what judging the labels cost.
        warnings: what a reader of the figures must know, in words.
    """

    judge: str
    labels_by: str | None
    means: dict[Mode, PPIMean]
    samples: int
    failed: int
    cells: dict[CellKind, CellAgreement]
    usage: Usage
    warnings: tuple[str, ...]

    @property
    def compared(self) -> int:
        """How many cells have a verdict of both."""
        return sum(agreement.counts.compared for agreement in self.cells.values())

    @property
    def judge_open(self) -> int:
        """How many labeled cells have no verdict of the judge: see `Confusion.judge_open`."""
        return sum(agreement.counts.judge_open for agreement in self.cells.values())


def trust(
    judge: str,
    labeled: Iterable[LabeledVerdicts],
    *,
    labels_by: str | None = None,
    usage: Usage = NO_USAGE,
    confidence: float = 0.95,
) -> Trust:
    """Return how often a judge is wrong on labels, for each kind of question that it is asked.

    ``false_yes = false yes / labeled no`` and ``false_no = missed / labeled yes`` over the cells
    that both sides decided. Intervals are over samples, or clusters of them, whose cells are not
    independent. Claims are matched by their text; case and white space do not matter, and claims
    that only one side has are left out. There are no means and no warnings: those are of results,
    see `trust_results`.

    Args:
        judge: its name.
        labeled: labels and the judge's verdicts on the same claims. Read once.
        labels_by: who gave the labels, or checked them.
        usage: what judging the labels cost.
        confidence: of each interval.

    Raises:
        InputError: no labeled cells that the judge decided, another number of chunks, or a number
            out of range.
        MissingExtraError: numpy is not installed.
    """
    check_between(confidence, "confidence")
    # Of each sample or cluster: by kind and by `Confusion`'s field, how many cells.
    units = defaultdict[Hashable, Counter[tuple[CellKind, str]]](Counter)
    samples = 0
    failed = 0
    for number, sample in enumerate(labeled):
        if sample.judge is None:
            failed += 1
            continue
        samples += 1
        unit_name = number if sample.cluster is None else sample.cluster
        units[unit_name].update(compare_cells(sample.judge, sample.labels, sample.name))
    agreements: dict[CellKind, CellAgreement] = {}
    for kind in get_args(CellKind):
        confusions: list[Confusion] = []
        for unit in units.values():
            confusions.append(Confusion(*(unit[kind, name] for name in Confusion._fields)))
        agreements[kind] = cell_agreement(confusions, confidence)
    trusted = Trust(
        judge=judge,
        labels_by=labels_by,
        means={},
        samples=samples,
        failed=failed,
        cells=agreements,
        usage=usage,
        warnings=(),
    )
    if not trusted.compared:
        raise InputError("labeled claims that the judge decided", "none", where=judge)
    return trusted


def trust_results(
    results: Iterable[Result],
    labels: Iterable[Result],
    *,
    judge: str = "the judge",
    checked_by: str | None = None,
    pair_by: PairedBy | None = None,
    confidence: float = 0.95,
) -> Trust:
    """Return how far to trust your own results, by labels on some of their samples.

    First of all the mean of each mode that people would find in them, see
    `noisesense.PPIMean`: right on average whatever the judge's errors are, if the
    labeled samples were chosen at random. Then the judge's errors, as `trust` gives them. Samples
    are paired as in `noisesense.compare`, and their texts must be the same: labels belong to one
    answer. Labels on another text, or on no sample, are in no figure; a warning counts them. A
    mode with fewer than two labels has no mean, but a warning.

    Args:
        results: of the judge, over all samples.
        labels: people's, on some of them.
        judge: its name.
        checked_by: who checked the labels, or gave them. Verdicts that a judge gave are no labels
            until a person has.
        pair_by: ``"id"`` or ``"question"``; by default by the ids that were supplied, else by
            question and reference.
        confidence: of each interval.

    Raises:
        PairingError: no sample on both sides, or none with the same texts.
        InputError: as `trust`; also no results or no labels, labels that a judge gave, an id twice
            on one side (not if paired by question), an unknown ``pair_by``, something else than
            results, or results that were not scored alike.
        MissingExtraError: numpy is not installed.
    """
    labels = list(results_in(labels))
    people = source_of_labels(labels, checked_by)
    labeled = labeled_pairs(results, labels, pair_by)
    trusted = trust(judge, _labeled_verdicts(labeled), labels_by=people, confidence=confidence)
    warnings = list(labeled.warnings)
    means: dict[Mode, PPIMean] = {}
    scored = [people.score for _, people in labeled.pairs if people.score is not None]
    for mode in modes_of(scored[0].definition):
        try:
            mean = corrected_mean(labeled, mode, confidence)
        except InputError as error:
            warnings.append(f"{mode}: no mean corrected by the labels: {error}")
            continue
        means[mode] = mean
        warnings += [f"{mode}: {warning}" for warning in mean.warnings]
    return replace(trusted, means=means, warnings=tuple(warnings))


def source_of_labels(labels: Iterable[Result], checked_by: str | None) -> str | None:
    """Return ``checked_by``, unless a judge gave some of the labels and nobody checked them.

    Args:
        labels: verdicts; who gave them, their ``judge`` says.
        checked_by: the person who checked them.

    Raises:
        InputError: a judge gave them, and nobody checked them.
    """
    judges = {result.judge for result in labels} - {None, NO_JUDGE, GIVEN_VERDICTS}
    if judges and checked_by is None:
        got = f"verdicts of {' and '.join(sorted(map(str, judges)))}"
        hint = "if a person has checked them, say who: --checked-by NAME, in Python checked_by="
        raise InputError("labels that a person gave", got, where="labels", hint=hint)
    return checked_by


def _labeled_verdicts(labeled: Labeled) -> Iterator[LabeledVerdicts]:
    """Yield the pairs whose labels have verdicts."""
    for ours, people in labeled.pairs:
        if people.score is not None:
            yield LabeledVerdicts(
                labels=people.score.verdicts,
                judge=ours.score.verdicts if ours.score else None,
                name=ours.id,
                cluster=cluster_of(ours, people),
            )
