"""Claims that people labeled: a judge asked about them, and WiCE turned into such a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ConfigDict

from noisesense import InputError, LabeledVerdicts, Result, Usage, Verdicts, errors, score
from noisesense.errors import check_whole, located
from noisesense.jsonl import as_path
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense.scoring.results import write_results
from noisesense.stats.labels_cells import cell_of
from noisesense.verdicts.form import Cell, ClaimForm
from noisesense.verdicts.sample import Model
from noisesense.verdicts.verdicts import as_model
from noisesense_adapters.datasets.files import jsonl_rows
from noisesense_adapters.datasets.score import Failures, ask_all

OnDone = Callable[[str | None], object]
"""Called for each labeled sample with why it failed, or None."""


class JudgedLabels(NamedTuple):
    """Labels beside a judge's verdicts, and what these cost.

    Attributes:
        probabilities: of a judge that has them: what people said of a cell, and how likely the
            judge has it.
    """

    samples: list[LabeledVerdicts]
    usage: Usage
    probabilities: list[tuple[bool, float]]


def judge_labels(
    labeled: Iterable[Result],
    judge: EntailmentJudge,
    *,
    concurrency: int = 16,
    on_done: OnDone = lambda _: None,
) -> JudgedLabels:
    """Ask a judge about claims that people labeled. The claims are taken as they are.

    Args:
        labeled: results whose verdicts are labels; they need the chunks' texts. Where people said
            which claims are correct and the sample is there, its reference is a text, too.
            Results without verdicts are left out.
        judge: e.g. `LLMJudge`, or `noisesense_adapters.local.LocalJudge`.
        concurrency: how many samples at once.
        on_done: see `OnDone`.

    Raises:
        InputError: labels without texts.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    samples: list[LabeledVerdicts] = []
    usages: list[Usage] = []
    probabilities: list[tuple[bool, float]] = []
    failures = Failures()

    async def ask(result: Result) -> LabeledVerdicts:
        assert result.score is not None
        labels = as_model(result.score.verdicts)
        judged = None
        try:
            judged, usage, likely = await _judged(labels, result, judge)
        except errors.JudgeError as error:
            on_done(str(error))
            failures.add(str(error))
        else:
            on_done(None)
            failures.judged = True
            usages.append(usage)
            probabilities.extend(likely)
        return LabeledVerdicts(labels, judged, result.id, result.cluster)

    with_labels = (result for result in labeled if result.score is not None)
    run_blocking(ask_all(with_labels, ask, concurrency, samples.append))
    return JudgedLabels(samples, sum(usages, Usage()), probabilities)


async def _judged(
    labels: Verdicts, result: Result, judge: EntailmentJudge
) -> tuple[Verdicts, Usage, list[tuple[bool, float]]]:
    texts = [chunk.text for chunk in labels.chunks or ()]
    response = [claim.text for claim in labels.response_claims]
    reference = [claim.text for claim in labels.reference_claims]
    premises, width, nothing = texts, len(texts), Entailment((), Usage(), 0)
    if result.sample and any(claim.correct is not None for claim in labels.response_claims):
        premises = [*texts, result.sample.reference]
    if not premises or not all(map(str.strip, [*response, *reference])):
        hint = "labels need the texts of their claims and chunks"
        raise InputError("texts to judge", "none", where=f"sample {result.id!r}", hint=hint)
    of_response = await judge.entailment(premises, response) if response else nothing
    of_reference = await judge.entailment(texts, reference) if reference and texts else nothing
    likely: list[tuple[bool, float]] = []
    sides: list[tuple[Sequence[ClaimForm], Entailment]] = [
        (labels.response_claims, of_response),
        (labels.reference_claims, of_reference),
    ]
    for claims, found in sides:
        for claim, row in zip(claims, found.probabilities or (), strict=False):
            said = [*(cell_of(claim, j) for j in range(width)), getattr(claim, "correct", None)]
            pairs = zip(said, row, strict=False)  # a reference claim has no cell for correct
            likely += [(label, p) for label, p in pairs if label is not None and p is not None]
    verdicts = Verdicts.from_matrices(
        [row[width] if len(premises) > width else None for row in of_response.cells],
        [row[:width] for row in of_response.cells],
        of_reference.cells or [()] * len(reference),
        response_claims=response,
        reference_claims=reference,
        chunks=texts,
    )
    return verdicts, of_response.usage + of_reference.usage, likely


class Imported(NamedTuple):
    """What was written: labeled samples, and their cells."""

    samples: int
    yes: int
    no: int
    undecided: int


def import_labels(
    path: str | os.PathLike[str], out: str | os.PathLike[str], *, sentences: int = 8
) -> Imported:
    """Turn a download of WiCE into a file of labeled claims, for `judge_labels`.

    A chunk entails a supported claim if it holds a whole set of supporting sentences; with some
    of a set, or of one that supports the claim in part, it is left undecided.

    Args:
        path: a file of its ``entailment_retrieval/``, such as ``claim/dev.jsonl``.
        out: the results file to write; it appears whole or not at all.
        sentences: of the evidence, in a chunk.

    Raises:
        InputError: a file of another form; it names the line.

    Source: the README of github.com/ryokamoi/wice. Nothing of it is in this package: users
    download it under its own license.
    """
    check_whole(sentences, 1, "sentences")
    counts: Counter[Cell] = Counter()
    samples = 0

    def results() -> Iterator[Result]:
        nonlocal samples
        for row in _rows(as_path(path)):
            chunks, cells = row.labeled(sentences)
            counts.update(cells)
            samples += 1
            verdicts = Verdicts.from_matrices(
                [None], [cells], response_claims=[row.claim], chunks=chunks
            )
            name = str(row.meta.id)
            yield Result(name, score(verdicts), cluster=name)

    write_results(out, results())
    return Imported(samples, counts[True], counts[False], counts[None])


class _Meta(Model):
    model_config = ConfigDict(extra="ignore")

    id: int | str


class _Row(Model):
    """What is read of a row of WiCE; it has more fields than these."""

    model_config = ConfigDict(extra="ignore")

    label: Literal["supported", "partially_supported", "not_supported"]
    claim: str
    evidence: tuple[str, ...]
    supporting_sentences: tuple[frozenset[int], ...]
    meta: _Meta

    def labeled(self, sentences: int) -> tuple[list[str], list[Cell]]:
        """The chunks' texts, and whether each entails the claim."""
        texts: list[str] = []
        cells: list[Cell] = []
        sets = [each for each in self.supporting_sentences if each]
        for at in range(0, len(self.evidence), sentences):
            texts.append(" ".join(self.evidence[at : at + sentences]))
            chunk = {*range(at, at + sentences)}
            said: Cell = False
            if self.label != "not_supported" and any(each & chunk for each in sets):
                whole = any(each <= chunk for each in sets)
                said = True if whole and self.label == "supported" else None
            cells.append(said)
        return texts, cells


def _rows(path: Path) -> Iterator[_Row]:
    """Raises `InputError`, which names the line."""
    for place, data in jsonl_rows(path):
        with located(place):
            if isinstance(data, InputError):
                raise data
            yield _Row.model_validate(data)
