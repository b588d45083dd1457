"""Sheets that people fill in: a row for each verdict on a judge's own claims and chunks."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from noisesense import InputError, Result, Sample, Score, Verdicts, score
from noisesense.errors import check_whole, describe, encodable
from noisesense.jsonl import write_whole
from noisesense.verdicts.form import Cell, ClaimForm
from noisesense_adapters.datasets.files import Raw, check_new, csv_rows

LABEL = "entailed"
_COLUMNS = ("sample", "question", "kind", "statement", "source", LABEL)
_WORDS: dict[str, Cell] = {"yes": True, "no": False, "": None}
# Also behind what a spreadsheet takes for the end of a cell, and as Chinese and Japanese write it.
_FORMULA = re.compile(r"[\s;,'\"]*[=+\-@＝＋－＠]")


class Question(NamedTuple):
    """Does the source, a ``reference`` or a ``chunk``, say what the statement says?"""

    kind: str
    statement: str
    source: str

    def as_read(self) -> Question:
        """Return the question, in its texts single spaces and no apostrophes at the beginning.

        A spreadsheet may change these, so questions are compared in this form.
        """
        return Question(self.kind, _words(self.statement), _words(self.source))


def _words(text: str) -> str:
    return " ".join(_as_cell(text).split()).lstrip("'")


class Sheet(NamedTuple):
    """The numbers of samples in a sheet, and of questions on them."""

    samples: int
    questions: int


def write_labels(
    results: Iterable[Result],
    path: str | Path,
    *,
    samples: int | None = None,
) -> Sheet:
    """Write a CSV file in which people answer each question the judge could be asked.

    A row asks whether ``source`` (the reference, or a chunk) says what ``statement`` (a claim)
    says; people write ``yes`` or ``no`` into ``entailed``, or leave it empty. What the judge said
    is not in it: people tend to agree with it. The samples stand in random order, so that the
    first ones, as far as people come, are a random choice.

    Args:
        results: the judge's; those without claims and texts are left out.
        path: a new file, ``.csv``.
        samples: draw at most so many samples at random: rates among the labels are then the
            run's. By default all.

    Returns:
        How many samples and questions are in the sheet.

    Raises:
        InputError: a file that exists or cannot be written, a name with another ending,
            ``samples`` below 1, an id twice, or no sample with texts and claims.
    """
    path = Path(path)
    if path.suffix != ".csv":
        raise InputError("a name ending in .csv", repr(path.name), where="sheet")
    check_new(path)
    if samples is not None:
        check_whole(samples, 1, "samples")
    shuffled = [*_by_name(results).items()]
    random.Random(0).shuffle(shuffled)
    drawn = shuffled[:samples]
    text = io.StringIO()
    text.write("\ufeff")  # tells spreadsheets that it is UTF-8
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    count = 0
    for name, result in drawn:
        sample, _ = _parts(result)
        for kind, statement, source in _questions(result):
            texts = (sample.user_input, kind, statement, source)
            writer.writerow((name, *map(_as_cell, texts), ""))
            count += 1
    write_whole(path, [text.getvalue().removesuffix("\n")])
    return Sheet(len(drawn), count)


def _as_cell(text: str) -> str:
    """Return a text as a cell, behind an apostrophe if it would run as a formula."""
    text = encodable(text).replace("\0", "\ufffd").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) else text


def _by_name(results: Iterable[Result]) -> dict[str, Result]:
    """Return the results that can be labeled, by the names that a sheet gives them.

    Raises `InputError` for an id twice, or if there are none.
    """
    by_name: dict[str, Result] = {}
    for result in results:
        if result.score is None or result.sample is None or not result.score.claims:
            continue
        name = _as_cell(result.id).strip()
        if name in by_name:
            raise InputError("each id once", f"{result.id!r} twice", where="results")
        by_name[name] = result
    if not by_name:
        hint = "a results file or a recording holds the texts"
        raise InputError("samples with claims and texts", "none", where="results", hint=hint)
    return by_name


def _parts(result: Result) -> tuple[Sample, Score]:
    assert result.sample is not None
    assert result.score is not None
    return result.sample, result.score


def _questions(result: Result) -> Iterator[Question]:
    """Yield all questions on one sample; those that decide first come first."""
    sample, scored = _parts(result)
    verdicts = scored.verdicts
    for claim in verdicts.response_claims:
        yield Question("reference", claim.text, sample.reference)
    claims: list[ClaimForm] = [*verdicts.response_claims]
    if any(chunk.relevant is None for chunk in sample.retrieved_contexts):
        claims += verdicts.reference_claims
    # A claim of both texts is asked about once.
    statements = dict.fromkeys(claim.text for claim in claims)
    for chunk in sample.retrieved_contexts:
        for statement in statements:
            yield Question("chunk", statement, chunk.text)


class SheetLabels(NamedTuple):
    """People's labels in a sheet.

    Attributes:
        results: people's verdicts on each sample with a label. A cell without one is undetermined.
        questions: how many rows of the sheet ask a question about the results.
        unlabeled: how many of them have no label.
    """

    results: list[Result]
    questions: int
    unlabeled: int


def read_labels(
    path: str | Path, judged: Iterable[Result], on_error: Callable[[InputError], None]
) -> SheetLabels:
    """Read people's verdicts from a sheet. Samples without a label are left out.

    Args:
        path: a sheet that `write_labels` wrote and people filled in from the top, as far as they
            came.
        judged: the results that it was written from.
        on_error: called with the error of each row that cannot be used, which names its line. Two
            different labels of one question leave it open.

    Raises:
        InputError: an id twice among the results, none with texts and claims, or a sheet that
            cannot be read or has no labels.
    """
    by_name = _by_name(judged)

    @cache
    def questions(name: str) -> set[Question]:
        found = _questions(by_name[name]) if name in by_name else ()
        return {question.as_read() for question in found}

    labels = defaultdict[str, dict[Question, Cell]](dict)
    rows = 0
    unlabeled = 0
    for raw in csv_rows(Path(path)):
        try:
            row = _checked_row(raw)
            if row.question not in questions(row.sample):
                hint = "was the run judged again, or retrieved anew, since the sheet was written?"
                got = describe((row.sample, *row.question))
                raise InputError("a question about these results", got, hint=hint)
            rows += 1
            cells = labels[row.sample]
            if row.label is None:
                unlabeled += 1
            elif cells.setdefault(row.question, row.label) is not row.label:
                cells[row.question] = None
                raise InputError("one label for each question", "yes and no", where=LABEL)
        except InputError as error:
            on_error(error.within(raw.place))
    results = [_labeled(by_name[name], cells) for name, cells in labels.items() if cells]
    if not results:
        hint = f"write yes or no into the column {LABEL!r}"
        raise InputError("at least one label", "none", where=str(path), hint=hint)
    return SheetLabels(results, rows, unlabeled)


class _Row(NamedTuple):
    """A row of a sheet."""

    sample: str
    question: Question
    label: Cell


def _checked_row(raw: Raw) -> _Row:
    """Return a row of a sheet. Raises `InputError` if it is none."""
    if isinstance(raw.data, InputError):
        raise raw.data
    sample, _, kind, statement, source, typed = (raw.data.get(name, "") for name in _COLUMNS)
    word = typed.strip().lower()
    if word not in _WORDS:
        raise InputError("yes, no or nothing", describe(typed), where=LABEL)
    question = Question(kind, statement, source)
    return _Row(sample.strip(), question.as_read(), _WORDS[word])


def _labeled(result: Result, cells: Mapping[Question, Cell]) -> Result:
    """Return the result with people's verdicts in place of the judge's."""
    sample, judged = _parts(result)
    verdicts = judged.verdicts
    texts = [chunk.text for chunk in sample.retrieved_contexts]

    def label(kind: str, claim: ClaimForm, source: str) -> Cell:
        return cells.get(Question(kind, claim.text, source).as_read())

    def table(claims: Iterable[ClaimForm]) -> list[list[Cell]]:
        rows: list[list[Cell]] = []
        for claim in claims:
            rows.append([label("chunk", claim, text) for text in texts])
        return rows

    people = Verdicts.from_matrices(
        [label("reference", claim, sample.reference) for claim in verdicts.response_claims],
        table(verdicts.response_claims),
        table(verdicts.reference_claims),
        response_claims=[claim.text for claim in verdicts.response_claims],
        reference_claims=[claim.text for claim in verdicts.reference_claims],
    )
    scored = score(people.with_sample(sample), definition=judged.definition, empty=judged.empty)
    return Result(result.id, scored, sample=sample, cluster=result.cluster)
