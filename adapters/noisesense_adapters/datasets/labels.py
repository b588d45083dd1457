"""Claims that people labeled: asking a judge about them, and importing those of WiCE."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ConfigDict, model_validator

from noisesense import InputError, LabeledVerdicts, Result, Sample, Usage, Verdicts, errors, score
from noisesense.errors import check_whole, describe, error_context
from noisesense.jsonl import as_path
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense.scoring.results import write_results
from noisesense.stats.labels_cells import cell_of
from noisesense.verdicts.form import Cell, ClaimForm
from noisesense.verdicts.sample import Model
from noisesense.verdicts.verdicts import as_model
from noisesense_adapters.datasets.files import jsonl_rows
from noisesense_adapters.datasets.score import Failures, ask_all, check_not_dataset

OnDone = Callable[[str | None], object]
"""Called for each labeled sample with why it failed, or None."""


class JudgedLabels(NamedTuple):
    """Labels beside a judge's verdicts, and the verdicts' cost.

    Attributes:
        probabilities: of a judge that gives them: a cell's label, and the probability that the
            judge gives it.
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
            which claims are correct and the sample is there, its reference is asked, too, as the
            answer to its question.
            Results without verdicts are left out.
        judge: e.g. `LLMJudge`.
        concurrency: how many samples at once.
        on_done: see `OnDone`.

    Raises:
        InputError: labels without texts, or a ``concurrency`` below 1.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    check_whole(concurrency, 1, "concurrency")
    samples: list[LabeledVerdicts] = []
    usages: list[Usage] = []
    probabilities: list[tuple[bool, float]] = []
    failures = Failures()

    async def ask(result: Result) -> LabeledVerdicts:
        assert result.score is not None
        labels = as_model(result.score.verdicts)
        judged = None
        try:
            asked = await _judged(labels, result, judge)
        except errors.JudgeError as error:
            failures.add(error, str(error), partial(on_done, str(error)))
        else:
            failures.judged()
            on_done(None)
            judged = asked.verdicts
            usages.append(asked.usage)
            probabilities.extend(asked.probabilities)
        return LabeledVerdicts(labels, judged, result.id, result.cluster)

    with_labels = (result for result in labeled if result.score is not None)
    run_blocking(ask_all(with_labels, ask, concurrency, samples.append))
    failures.end()
    return JudgedLabels(samples, sum(usages, Usage()), probabilities)


class _Texts(NamedTuple):
    """The texts of one labeled sample.

    Attributes:
        sample: its reference is the one that people compared the response's claims with; None if
            they did not.
    """

    response: list[str]
    reference: list[str]
    chunks: list[str]
    sample: Sample | None

    @property
    def claims(self) -> list[str]:
        return [*self.response, *self.reference]


class _Judged(NamedTuple):
    """A judge's verdicts on one labeled sample; the rest as in `JudgedLabels`."""

    verdicts: Verdicts
    usage: Usage
    probabilities: list[tuple[bool, float]]


async def _judged(labels: Verdicts, result: Result, judge: EntailmentJudge) -> _Judged:
    texts = _texts(labels, result)
    of_reference = await _correctness(texts, judge)
    of_chunks = await _sources(texts, judge)
    correct = [[claim.correct] for claim in labels.response_claims]
    probabilities = _beside(correct, of_reference) + _beside(_chunk_cells(labels), of_chunks)
    usage = of_reference.usage + of_chunks.usage
    return _Judged(_verdicts(texts, of_reference, of_chunks), usage, probabilities)


def _texts(labels: Verdicts, result: Result) -> _Texts:
    """The texts to ask about. Raises `InputError` if there are none."""
    texts = _Texts(
        response=[claim.text for claim in labels.response_claims],
        reference=[claim.text for claim in labels.reference_claims],
        chunks=[chunk.text for chunk in labels.chunks or ()],
        sample=result.sample if _has_correctness(labels) else None,
    )
    has_premises = texts.chunks or texts.sample
    if not has_premises or not all(map(str.strip, texts.claims)):
        hint = "labels need the texts of their claims and chunks"
        raise InputError("texts to judge", "none", where=f"sample {result.id!r}", hint=hint)
    return texts


def _has_correctness(labels: Verdicts) -> bool:
    return any(claim.correct is not None for claim in labels.response_claims)


def _not_asked(claims: Sequence[str], premises: int) -> Entailment:
    """Undetermined cells, for which no judge was asked."""
    return Entailment([[None] * premises] * len(claims), Usage(), 0)


async def _correctness(texts: _Texts, judge: EntailmentJudge) -> Entailment:
    """Does the reference, as the answer to its question, entail the response's claims?"""
    sample = texts.sample
    if sample is None or not texts.response:
        return _not_asked(texts.response, premises=1)
    return await judge.entailment([sample.reference], texts.response, question=sample.user_input)


async def _sources(texts: _Texts, judge: EntailmentJudge) -> Entailment:
    """Which chunks entail which claims, the response's and the reference's?"""
    if not texts.chunks or not texts.claims:
        return _not_asked(texts.claims, len(texts.chunks))
    return await judge.entailment(texts.chunks, texts.claims)


def _verdicts(texts: _Texts, of_reference: Entailment, of_chunks: Entailment) -> Verdicts:
    count = len(texts.response)
    return Verdicts.from_matrices(
        [row[0] for row in of_reference.cells],
        of_chunks.cells[:count],
        of_chunks.cells[count:],
        response_claims=texts.response,
        reference_claims=texts.reference,
        chunks=texts.chunks,
    )


def _chunk_cells(labels: Verdicts) -> list[list[Cell]]:
    """A row for each claim, the response's first: does each chunk entail it?"""
    chunks = range(len(labels.chunks or ()))
    claims: list[ClaimForm] = [*labels.response_claims, *labels.reference_claims]
    rows: list[list[Cell]] = []
    for claim in claims:
        rows.append([cell_of(claim, chunk) for chunk in chunks])
    return rows


def _beside(labels: Sequence[Sequence[Cell]], judged: Entailment) -> list[tuple[bool, float]]:
    """The labels and the judge's probabilities, of the cells that have both."""
    pairs: list[tuple[bool, float]] = []
    for cells, probabilities in zip(labels, judged.probabilities or (), strict=False):
        for cell, probability in zip(cells, probabilities, strict=True):
            if cell is not None and probability is not None:
                pairs.append((cell, probability))
    return pairs


class Imported(NamedTuple):
    """The numbers of labeled samples that were written, and of their cells."""

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
        InputError: a file of another form, a supporting sentence that the evidence does not have,
            or a (partially) supported claim without one; it names the line. Or ``out`` is the
            download itself.

    Source: the README of github.com/ryokamoi/wice. Nothing of it is in this package: users
    download it under its own license.
    """
    check_whole(sentences, 1, "sentences")
    check_not_dataset(as_path(out), as_path(path))
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

    @model_validator(mode="after")
    def _sentences_fit(self) -> _Row:
        # A claim that is not supported may have sentences or not: WiCE has both.
        named = set(chain.from_iterable(self.supporting_sentences))
        count = len(self.evidence)
        where = "supporting_sentences"
        for index in sorted(named):
            if not 0 <= index < count:
                expected = f"positions in the evidence, of {count} sentences counted from 0"
                raise InputError(expected, describe(index), where=where)
        if self.label != "not_supported" and not named:
            raise InputError(f"a sentence, as the label is {self.label!r}", "none", where=where)
        return self

    def labeled(self, sentences: int) -> tuple[list[str], list[Cell]]:
        """The texts of chunks of so many sentences, and whether each chunk entails the claim."""
        texts: list[str] = []
        cells: list[Cell] = []
        for start in range(0, len(self.evidence), sentences):
            end = min(start + sentences, len(self.evidence))
            texts.append(" ".join(self.evidence[start:end]))
            cells.append(self._entailed_by({*range(start, end)}))
        return texts, cells

    def _entailed_by(self, chunk: set[int]) -> Cell:
        """Does a chunk of these sentences entail the claim?"""
        sets = [sentences for sentences in self.supporting_sentences if sentences]
        if self.label == "not_supported" or all(map(chunk.isdisjoint, sets)):
            return False
        if self.label == "supported" and any(map(chunk.issuperset, sets)):
            return True
        return None


def _rows(path: Path) -> Iterator[_Row]:
    """The rows of a file of WiCE. Raises `InputError`, which names the line."""
    for place, data in jsonl_rows(path):
        with error_context(place):
            if isinstance(data, InputError):
                raise data
            yield _Row.model_validate(data)
