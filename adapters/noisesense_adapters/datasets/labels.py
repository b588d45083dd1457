"""Claims that people labeled: a judge asked about them, and WiCE turned into such a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict

from noisesense import InputError, LabeledVerdicts, Result, Usage, Verdicts, errors
from noisesense.errors import check_whole, located
from noisesense.jsonl import as_path, to_json, write_whole
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import EntailmentJudge
from noisesense.stats.labels_cells import cell_of
from noisesense.verdicts.form import Cell
from noisesense.verdicts.sample import Model
from noisesense.verdicts.verdicts import as_model
from noisesense_adapters.datasets.files import jsonl_rows, opened
from noisesense_adapters.datasets.score import GIVE_UP

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
        judge: e.g. `LLMJudge`, or `noisesense_adapters.local.LocalJudge`.
        concurrency: how many samples at once.
        on_done: see `OnDone`.

    Raises:
        InputError: labels without texts.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    waiting = iter(labeled)
    samples: list[LabeledVerdicts] = []
    usages: list[Usage] = []
    probabilities: list[tuple[bool, float]] = []

    async def work() -> None:
        for result in waiting:
            if result.score is None:
                on_done(result.error)
                continue
            labels = as_model(result.score.verdicts)
            judged, failure = None, None
            try:
                judged, usage, likely = await _judged(labels, result, judge)
                usages.append(usage)
                probabilities.extend(likely)
            except errors.JudgeError as error:
                failure = str(error)
            samples.append(LabeledVerdicts(labels, judged, result.id, result.cluster))
            on_done(failure)
            if len(samples) == GIVE_UP and all(each.judge is None for each in samples):
                raise errors.JudgeError(
                    f"the judge failed on the first {GIVE_UP} samples, so the run ends. "
                    f"The last: {failure}"
                )

    async def all_work() -> None:
        await gather_all([work() for _ in range(concurrency)])

    run_blocking(all_work())
    return JudgedLabels(samples, sum(usages, Usage()), probabilities)


async def _judged(
    labels: Verdicts, result: Result, judge: EntailmentJudge
) -> tuple[Verdicts, Usage, list[tuple[bool, float]]]:
    texts = [chunk.text for chunk in labels.chunks or ()]
    responses = [claim.text for claim in labels.response_claims]
    references = [claim.text for claim in labels.reference_claims]
    if not texts or not all(text.strip() for text in (*responses, *references)):
        hint = "labels need the texts of their claims and chunks"
        raise InputError("texts to judge", "none", where=f"sample {result.id!r}", hint=hint)
    checked = result.sample is not None and any(
        c.correct is not None for c in labels.response_claims
    )
    with_reference = [*texts, result.sample.reference] if result.sample and checked else texts
    rows: list[list[Cell]] = []
    likely: list[Sequence[float | None]] = []
    usage = Usage()
    for premises, claims in ((with_reference, responses), (texts, references)):
        if claims:
            entailment = await judge.entailment(premises, claims)
            rows += [list(row) for row in entailment.cells]
            likely += entailment.probabilities or ()
            usage += entailment.usage
    width, count = len(texts), len(responses)
    correct = [row[width] if checked else None for row in rows[:count]]
    verdicts = Verdicts.from_matrices(
        correct,
        [row[:width] for row in rows[:count]],
        rows[count:],
        response_claims=responses,
        reference_claims=references,
        chunks=texts,
    )
    said: list[list[Cell]] = [
        [*(cell_of(claim, j) for j in range(width)), *([claim.correct] if checked else [])]
        for claim in labels.response_claims
    ]
    said += [[cell_of(claim, j) for j in range(width)] for claim in labels.reference_claims]
    pairs = [
        (label, p)
        for labeled, row in zip(said, likely, strict=False)
        for label, p in zip(labeled, row, strict=True)
        if label is not None and p is not None
    ]
    return verdicts, usage, pairs


class Imported(NamedTuple):
    """What was written: labeled samples, their cells, and the download's SHA-256."""

    samples: int
    yes: int
    no: int
    undecided: int
    sha256: str


def import_labels(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    sentences: int = 8,
    sha256: str | None = None,
) -> Imported:
    """Turn a download of WiCE into a file of labeled claims, for `judge_labels`.

    Args:
        path: a file of its ``entailment_retrieval/``, such as ``claim/dev.jsonl``.
        out: the JSON lines to write; the file appears whole or not at all.
        sentences: of the evidence, in a chunk.
        sha256: that the download must have.

    Raises:
        InputError: another checksum, or a file of another form.

    Source: the README of github.com/ryokamoi/wice. Nothing of it is in this package: users
    download it under its own license.
    """
    check_whole(sentences, 1, "sentences")
    checksum = _checksum(as_path(path))
    if sha256 is not None and sha256.lower() != checksum:
        hint = "is the download complete, and is it the version you mean?"
        raise InputError(f"SHA-256 {sha256}", checksum, where=str(path), hint=hint)
    counts = {True: 0, False: 0, None: 0}
    samples = 0

    def lines() -> Iterator[str]:
        nonlocal samples
        for label in _wice(as_path(path), sentences):
            samples += 1
            for cell in chain.from_iterable(label.table):
                counts[cell] += 1
            yield to_json(label.line())

    write_whole(as_path(out), lines())
    return Imported(samples, counts[True], counts[False], counts[None], checksum)


class _Labeled(NamedTuple):
    name: str
    cluster: str
    claims: Sequence[str]
    chunks: Sequence[str]
    table: Sequence[Sequence[Cell]]

    def line(self) -> dict[str, Any]:
        """A line of a results file: verdicts without a sample, as nothing else is known."""
        verdicts = Verdicts.from_matrices(
            [None] * len(self.claims),
            self.table,
            response_claims=self.claims,
            chunks=self.chunks,
        )
        data = verdicts.model_dump(mode="json", exclude_defaults=True)
        return {"id": self.name, "cluster": self.cluster, "verdicts": data}


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with opened(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class _Form(Model):
    """What is read of a download's row; it has more fields than these."""

    model_config = ConfigDict(extra="ignore")


_Id = int | str


class _WiceMeta(_Form):
    id: _Id


class _WiceRow(_Form):
    label: Literal["supported", "partially_supported", "not_supported"]
    claim: str
    evidence: tuple[str, ...]
    supporting_sentences: tuple[frozenset[int], ...]
    meta: _WiceMeta


def _wice(path: Path, sentences: int) -> Iterator[_Labeled]:
    """A chunk entails a supported claim if it holds a whole set of supporting sentences; with
    some of a set, or of one that supports the claim in part, it is left undecided."""
    for row in _rows(path):
        count = len(row.evidence)
        chunks = [range(at, min(at + sentences, count)) for at in range(0, count, sentences)]
        cells: list[Cell] = []
        for chunk in chunks:
            whole = any(each and each <= set(chunk) for each in row.supporting_sentences)
            touched = any(each & set(chunk) for each in row.supporting_sentences)
            undecided = touched and row.label != "not_supported"
            cells.append((row.label == "supported" and whole) or (None if undecided else False))
        texts = [" ".join(row.evidence[at] for at in chunk) for chunk in chunks]
        yield _Labeled(str(row.meta.id), str(row.meta.id), [row.claim], texts, [cells])


def _rows(path: Path) -> Iterator[_WiceRow]:
    """Raises `InputError`, which names the line."""
    for place, data in jsonl_rows(path):
        with located(place):
            if isinstance(data, InputError):
                raise data
            row = _WiceRow.model_validate(data)
        yield row
