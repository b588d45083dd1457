"""Sheets that people fill in: a row for each verdict on a judge's own claims and chunks."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from noisesense import InputError, Result, Sample, Score, Verdicts, score
from noisesense.errors import check_whole, describe, encodable
from noisesense.jsonl import write_whole
from noisesense.verdicts.form import Cell, ClaimForm
from noisesense_adapters.datasets.files import Raw, check_new, csv_rows
from noisesense_adapters.reading.values import as_object

_KEYS = ("sample", "kind", "claim", "chunk")  # what a row is found again by
_TEXTS = ("question", "statement", "source")
LABEL = "entailed"
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_WORDS: dict[str, Cell] = {
    **dict.fromkeys(("yes", "y", "true", "1"), True),
    **dict.fromkeys(("no", "n", "false", "0"), False),
    **dict.fromkeys(("", "?"), None),
}
# Also behind what a spreadsheet takes for the end of a cell, and as Chinese and Japanese write it.
_FORMULA = re.compile(r"[\s;,'\"]*[=+\-@＝＋－＠]|[\t\r\n]")

Key = tuple[str, str, str]
"""The kind of a question and the positions of its claim and its chunk, as the sheet has them."""


class Question(NamedTuple):
    """Does the source say what the statement says?"""

    statement: str
    source: str


class Sheet(NamedTuple):
    """The numbers of what was written.

    Attributes:
        samples: samples in the sheet.
        rows: questions on them.
        left_out: samples without texts or claims.
    """

    samples: int
    rows: int
    left_out: int


def write_labels(
    results: Iterable[Result],
    path: str | Path,
    *,
    samples: int | None = None,
    seed: int = 0,
    force: bool = False,
) -> Sheet:
    """Write a CSV file in which people answer each question the judge could be asked.

    A row asks whether ``source`` (the reference, or a chunk) says what ``statement`` (a claim)
    says; people write ``yes`` or ``no`` into ``entailed``, or leave it empty. Claims and chunks
    are numbered from 0. What the judge said is not in it: people tend to agree with it. The
    samples stand in random order, so that the first ones, as far as people come, are a random
    choice. Each row holds the ``seed``.

    Args:
        results: the judge's; those with an error are left out.
        path: a new file, ``.csv`` or ``.tsv``.
        samples: draw so many samples at random: rates among the labels are then the run's.
        seed: of the draw and the order.
        force: replace a file, with the labels in it.

    Raises:
        InputError: a file that exists, an id twice, no sample with texts and claims, or a file
            of another kind.
    """
    path = Path(path)
    if path.suffix.lower() not in _DELIMITERS:
        raise InputError("a name ending in .csv or .tsv", repr(path.name), where="sheet")
    check_new(path, force=force)
    if samples is not None:
        check_whole(samples, 1, "samples")
    by_id, left_out = _by_id(results)
    shuffled = [*by_id]
    random.Random(seed).shuffle(shuffled)
    drawn = shuffled[:samples]
    rows: list[tuple[str, ...]] = []
    for name in drawn:
        result = by_id[name]
        sample, _ = _parts(result)
        for key, question in _questions(result).items():
            rows.append((name, *key, str(seed), sample.user_input, *question, ""))
    delimiter = _DELIMITERS[path.suffix.lower()]
    header = (*_KEYS, "seed", *_TEXTS, LABEL)
    lines = [_line(row, delimiter) for row in (header, *rows)]
    lines[0] = f"\ufeff{lines[0]}"  # tells spreadsheets that it is UTF-8
    write_whole(path, lines)
    return Sheet(len(drawn), len(rows), left_out)


def _line(row: Iterable[str], delimiter: str) -> str:
    """Return the cells as a line, without its end."""
    line = io.StringIO()
    # Python before 3.13 quotes a lone "\r" only where a line may end with one.
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(map(_as_text, row))
    return line.getvalue().removesuffix("\r\n")


def _as_text(text: str) -> str:
    """As a cell. A spreadsheet would run a text that begins like a formula."""
    text = encodable(text).replace("\0", "\ufffd")
    return f"'{text}" if _FORMULA.match(text) else text


def _by_id(results: Iterable[Result]) -> tuple[dict[str, Result], int]:
    """Return the results that can be labeled, and the number of others that were scored."""
    by_id: dict[str, Result] = {}
    left_out = 0
    for result in results:
        if result.score is None:
            continue
        if result.sample is None or not result.score.claims:
            left_out += 1
        elif result.id in by_id:
            raise InputError("each id once", f"{result.id!r} twice", where="results")
        else:
            by_id[result.id] = result
    if not by_id:
        hint = "a results file or a recording holds the texts"
        raise InputError("samples with claims and texts", "none", where="results", hint=hint)
    return by_id, left_out


def _parts(result: Result) -> tuple[Sample, Score]:
    assert result.sample is not None
    assert result.score is not None
    return result.sample, result.score


def _questions(result: Result) -> dict[Key, Question]:
    """Return all questions on one sample; those that decide first come first."""
    sample, scored = _parts(result)
    verdicts = scored.verdicts
    chunks = sample.retrieved_contexts
    questions: dict[Key, Question] = {}
    for i, response_claim in enumerate(verdicts.response_claims):
        questions["correct", str(i), ""] = Question(response_claim.text, sample.reference)
    labeled = all(chunk.relevant is not None for chunk in chunks)
    sides: dict[str, Sequence[ClaimForm]] = {
        "response": verdicts.response_claims,
        "reference": () if labeled else verdicts.reference_claims,
    }
    for kind, claims in sides.items():
        for j, chunk in enumerate(chunks):
            for i, claim in enumerate(claims):
                questions[kind, str(i), str(j)] = Question(claim.text, chunk.text)
    return questions


def is_label_sheet(path: Path) -> bool:
    """Tell whether it is a file that `write_labels` wrote."""
    if path.suffix.lower() not in _DELIMITERS:
        return False
    first = next(islice(csv_rows(path), 1), None)
    return first is not None and {*_KEYS, LABEL} <= as_object(first.data).keys()


class SheetLabels(NamedTuple):
    """People's labels in a sheet.

    Attributes:
        results: people's verdicts on each sample with a label. A cell without one is undetermined.
        questions: how many questions the sheet has.
        unlabeled: how many of them have no label.
        without: how many samples of the sheet have no label.
        in_part: how many samples have labels for some of their questions only.
    """

    results: list[Result]
    questions: int
    unlabeled: int
    without: int
    in_part: int


def read_labels(
    path: str | Path, judged: Iterable[Result], on_error: Callable[[InputError], None]
) -> SheetLabels:
    """People's verdicts on the samples of a sheet.

    Args:
        path: a sheet that `write_labels` wrote and people filled in from the top, as far as they
            came.
        judged: the results that it was written from.
        on_error: called with the error of each row that cannot be used, which names its line. Two
            different labels of one question leave it open.

    Raises:
        InputError: an id twice among the results, or a sheet without labels.
    """
    by_id, _ = _by_id(judged)
    by_name: dict[str, Result] = {}
    for name, result in by_id.items():
        by_name[_as_text(name).strip()] = result

    @cache
    def questions(name: str) -> dict[Key, Question]:
        if name not in by_name:
            hint = "the sheet belongs to the results that it was written from"
            raise InputError("a sample of the results", repr(name), where="sample", hint=hint)
        return _questions(by_name[name])

    sheet: defaultdict[str, _Answers] = defaultdict(_Answers)
    for raw in csv_rows(Path(path)):
        try:
            row = _checked_row(raw, questions)
            sheet[row.sample].add(row)
        except InputError as error:
            on_error(error.within(raw.place))
    if not any(answers.has_label for answers in sheet.values()):
        hint = f"write yes or no into the column {LABEL!r}"
        raise InputError("at least one label", "none", where=str(path), hint=hint)
    results: list[Result] = []
    in_part = 0
    for name, answers in sheet.items():
        if answers.cells:
            result = by_name[name]
            results.append(_labeled(result, answers.cells))
            in_part += answers.unlabeled > 0
    return SheetLabels(
        results,
        questions=sum(len(answers.asked) for answers in sheet.values()),
        unlabeled=sum(answers.unlabeled for answers in sheet.values()),
        without=len(sheet) - len(results),
        in_part=in_part,
    )


class _Answers:
    """People's answers to the questions on one sample.

    Attributes:
        asked: the questions in the sheet.
        cells: their labels, without those that are empty; None where two contradict each other.
    """

    def __init__(self) -> None:
        self.asked: set[Key] = set()
        self.cells: dict[Key, Cell] = {}

    def add(self, row: _Row) -> None:
        """Add a row. Raises `InputError` at another label of its question."""
        self.asked.add(row.key)
        if row.label is None:
            return
        if self.cells.setdefault(row.key, row.label) is not row.label:
            self.cells[row.key] = None
            raise InputError("one label for each question", "yes and no", where=LABEL)

    @property
    def has_label(self) -> bool:
        """Is there a label that no other one contradicts?"""
        return any(cell is not None for cell in self.cells.values())

    @property
    def unlabeled(self) -> int:
        return len(self.asked) - len(self.cells)


class _Row(NamedTuple):
    """A row of a sheet, checked."""

    sample: str
    key: Key
    label: Cell


def _checked_row(raw: Raw, questions: Callable[[str], dict[Key, Question]]) -> _Row:
    """Return a row of a sheet. Raises `InputError` if it is no question on these results."""
    if isinstance(raw.data, InputError):
        raise raw.data
    row: dict[str, str] = {name: text.strip() for name, text in raw.data.items()}
    for column in (*_KEYS, LABEL):
        if column not in row:
            raise InputError(f"the column {column!r}", f"only {', '.join(map(repr, row))}")
    word = row[LABEL].lower()
    if word not in _WORDS:
        raise InputError("yes, no or nothing", describe(row[LABEL]), where=LABEL)
    # Some spreadsheets save whole numbers with a point.
    key = row["kind"], row["claim"].removesuffix(".0"), row["chunk"].removesuffix(".0")
    question = questions(row["sample"]).get(key)
    if question is None:
        raise InputError("a kind, a claim and a chunk of the sheet", describe(key))
    hint = "was the run judged again, or retrieved anew, since the sheet was written?"
    statement = _words(_as_text(question.statement))
    source = _words(_as_text(question.source))
    if _words(row.get("statement", statement)) != statement:
        raise InputError("the judge's claim", "another", where="statement", hint=hint)
    if not source.startswith(_words(row.get("source", source))):  # spreadsheets cut long cells
        raise InputError("the text that was judged", "another", where="source", hint=hint)
    return _Row(row["sample"], key, _WORDS[word])


def _words(text: str) -> str:
    return " ".join(text.split())


def _labeled(result: Result, cells: Mapping[Key, Cell]) -> Result:
    """Return the result with people's verdicts in place of the judge's."""
    sample, judged = _parts(result)
    response = [claim.text for claim in judged.verdicts.response_claims]
    reference = [claim.text for claim in judged.verdicts.reference_claims]

    def table(kind: str, claims: list[str]) -> list[list[Cell]]:
        chunks = range(len(judged.chunk_relevance))
        rows: list[list[Cell]] = []
        for i in range(len(claims)):
            rows.append([cells.get((kind, str(i), str(j))) for j in chunks])
        return rows

    people = Verdicts.from_matrices(
        [cells.get(("correct", str(i), "")) for i in range(len(response))],
        table("response", response),
        table("reference", reference),
        response_claims=response,
        reference_claims=reference,
    )
    scored = score(people.with_sample(sample), definition=judged.definition, empty=judged.empty)
    return Result(result.id, scored, sample=sample, cluster=result.cluster)
