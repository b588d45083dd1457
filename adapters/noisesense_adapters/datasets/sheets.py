"""Sheets that people fill in: a row for each verdict on a judge's own claims and chunks."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from noisesense import InputError, Result, Sample, Score, Verdicts, score
from noisesense.errors import check_whole, describe, encodable
from noisesense.jsonl import write_whole
from noisesense.stats.labels import is_lazy
from noisesense.stats.needed import NeededCells
from noisesense.verdicts.form import Cell, ClaimForm
from noisesense_adapters.datasets.files import Raw, csv_rows
from noisesense_adapters.evaluate.inputs import as_object

_KEYS = ("sample", "kind", "claim", "chunk")  # what a row is found again by
_TEXTS = ("question", "statement", "source")
LABEL = "entailed"
_WEIGHT = "weight"
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


Question = tuple[str, str]
"""A statement and a source: does the source say what the statement says?"""


class Sheet(NamedTuple):
    """What was written.

    Attributes:
        samples: how many.
        rows: how many questions on them.
        left_out: samples without texts or claims.
        not_asked: questions that the judge's lazy plan left out, as its scores do not need them.
            People's may: where they do not find a claim in the reference, and the judge does.
    """

    samples: int
    rows: int
    left_out: int
    not_asked: int


class _Drawn(NamedTuple):
    """A sample of the sheet, and how many samples of the results it stands for."""

    name: str
    weight: float


def write_labels(
    results: Iterable[Result],
    path: str | Path,
    *,
    samples: int | None = None,
    seed: int = 0,
    by_score: bool = False,
) -> Sheet:
    """Write a CSV file in which people answer each question the judge could be asked.

    A row asks whether ``source`` (the reference, or a chunk) says what ``statement`` (a claim)
    says; people write ``yes`` or ``no`` into ``entailed``, or leave it empty. Claims and chunks
    are numbered from 0. What the judge said is not in it: people tend to agree with it. The
    samples stand in random order, so that the first ones, as far as people come, are a random
    choice. Each row holds the ``seed``, and its sample's ``weight``: how many samples of the
    results it stands for.

    Args:
        results: the judge's; those with an error are left out.
        path: a new file, ``.csv`` or ``.tsv``.
        samples: draw so many samples at random: rates among the labels are then the run's.
        seed: of the draw and the order.
        by_score: draw half of the samples from those in which the judge finds noise, or may, and
            half from the others, by turns: few labels then tell more where noise is rare. The
            weights tell the two apart: hide that column from those who label.

    Raises:
        InputError: an id twice, no sample with texts and claims, a file of another kind, or
            ``by_score`` without ``samples``.
    """
    path = Path(path)
    if path.suffix.lower() not in _DELIMITERS:
        raise InputError("a name ending in .csv or .tsv", repr(path.name), where="sheet")
    if samples is not None:
        check_whole(samples, 1, "samples")
    elif by_score:
        raise InputError("a number of samples as well", "only by_score", where="samples")
    known, left_out = _by_id(results)
    drawn = _draw(known, min(samples or len(known), len(known)), seed, by_score=by_score)
    rows: list[tuple[str, ...]] = []
    not_asked = 0
    for name, weight in drawn:
        not_asked += _not_asked(known[name])
        question_of_user = _parts(known[name])[0].user_input
        for key, question in _questions(known[name]).items():
            rows.append((name, *key, f"{weight:.6g}", str(seed), question_of_user, *question, ""))
    sheet = io.StringIO()
    sheet.write("\ufeff")  # tells spreadsheets that it is UTF-8
    writer = csv.writer(sheet, delimiter=_DELIMITERS[path.suffix.lower()], lineterminator="\n")
    writer.writerow((*_KEYS, _WEIGHT, "seed", *_TEXTS, LABEL))
    writer.writerows(map(_as_text, row) for row in rows)
    write_whole(path, [sheet.getvalue().removesuffix("\n")])
    return Sheet(len(drawn), len(rows), left_out, not_asked)


def _draw(known: dict[str, Result], count: int, seed: int, *, by_score: bool) -> list[_Drawn]:
    """In random order; by score, the first so many of it are as many of each group as of all."""
    names = [*known]
    random.Random(seed).shuffle(names)
    if not by_score:
        return [_Drawn(name, len(names) / count) for name in names[:count]]
    groups: dict[bool, list[str]] = {True: [], False: []}
    for name in names:
        groups[_may_be_noisy(known[name])].append(name)
    half = (count + 1) // 2
    noisy = min(len(groups[True]), max(half, count - len(groups[False])))
    placed: list[tuple[float, _Drawn]] = []
    for group, drawn in ((groups[True], noisy), (groups[False], count - noisy)):
        for i, name in enumerate(group[:drawn]):
            placed.append(((i + 0.5) / drawn, _Drawn(name, len(group) / drawn)))
    placed.sort(key=lambda each: each[0])
    return [drawn for _, drawn in placed]


def _may_be_noisy(result: Result) -> bool:
    return _parts(result)[1].from_chunks.bounds.high > 0


def _as_text(text: str) -> str:
    """As a cell. A spreadsheet would run a text that begins like a formula."""
    text = encodable(text).replace("\0", "\ufffd")
    return f"'{text}" if _FORMULA.match(text) else text


def _by_id(results: Iterable[Result]) -> tuple[dict[str, Result], int]:
    """The results that can be labeled, and the number of others that were scored."""
    known: dict[str, Result] = {}
    left_out = 0
    for result in results:
        if result.score is None:
            continue
        if result.sample is None or not result.score.claims:
            left_out += 1
        elif result.id in known:
            raise InputError("each id once", f"{result.id!r} twice", where="results")
        else:
            known[result.id] = result
    if not known:
        hint = "a results file or a recording holds the texts"
        raise InputError("samples with claims and texts", "none", where="results", hint=hint)
    return known, left_out


def _parts(result: Result) -> tuple[Sample, Score]:
    assert result.sample is not None
    assert result.score is not None
    return result.sample, result.score


def _questions(result: Result) -> dict[Key, Question]:
    """All on one sample: what decides first comes first."""
    sample, scored = _parts(result)
    verdicts = scored.verdicts
    chunks = sample.retrieved_contexts
    found: dict[Key, Question] = {}
    for i, claim in enumerate(verdicts.response_claims):
        found["correct", str(i), ""] = claim.text, sample.reference
    labeled = all(chunk.relevant is not None for chunk in chunks)
    sides: dict[str, Sequence[ClaimForm]] = {
        "response": verdicts.response_claims,
        "reference": () if labeled else verdicts.reference_claims,
    }
    for kind, claims in sides.items():
        for j, chunk in enumerate(chunks):
            for i, one in enumerate(claims):
                found[kind, str(i), str(j)] = one.text, chunk.text
    return found


def _not_asked(result: Result) -> int:
    """How many of the questions the judge's lazy plan left out."""
    if not is_lazy(result.judge):
        return 0
    verdicts = _parts(result)[1].verdicts
    needed = NeededCells(verdicts)
    left_out = 0
    for claim in verdicts.response_claims:
        if not needed.of_response(claim):
            left_out += len(claim.undetermined)
    for key in _questions(result):
        kind, i, j = key
        if kind == "reference" and not needed.of_reference(int(j)):
            left_out += int(j) in verdicts.reference_claims[int(i)].undetermined
    return left_out


def is_label_sheet(path: Path) -> bool:
    """Is it a file that `write_labels` wrote?"""
    if path.suffix.lower() not in _DELIMITERS:
        return False
    first = next(islice(csv_rows(path), 1), None)
    return first is not None and {*_KEYS, LABEL} <= as_object(first.data).keys()


class SheetLabels(NamedTuple):
    """What people said in a sheet.

    Attributes:
        results: their verdicts on the samples that have any; what is empty is undetermined.
        weights: by id, how many samples of the judge's results each of them stands for.
        questions: how many the sheet has.
        unlabeled: of these, how many have no label.
        without: samples of the sheet without any label.
        in_part: samples of which some questions have one, and some not.
    """

    results: list[Result]
    weights: dict[str, float]
    questions: int
    unlabeled: int
    without: int
    in_part: int


def read_labels(
    path: str | Path, judged: Iterable[Result], on_error: Callable[[InputError], None]
) -> SheetLabels:
    """People's verdicts on the samples of a sheet.

    Where only some of the samples are labeled, each of these stands for more: the labeled ones of
    a weight share what all samples of that weight in the sheet stand for.

    Args:
        path: a sheet that `write_labels` wrote and people filled in from the top, as far as they
            came.
        judged: the results that it was written from.
        on_error: called with the error of each row that cannot be used, which names its line. Two
            different labels of one question leave it open.

    Raises:
        InputError: an id twice among the results, or a sheet without labels.
    """
    known = {_as_text(name).strip(): result for name, result in _by_id(judged)[0].items()}
    given: defaultdict[str, dict[Key, Cell]] = defaultdict(dict)
    weights: dict[str, float] = {}
    asked: defaultdict[str, set[Key]] = defaultdict(set)

    @cache
    def questions(name: str) -> dict[Key, Question]:
        if name not in known:
            hint = "the sheet belongs to the results that it was written from"
            raise InputError("a sample of the results", repr(name), where="sample", hint=hint)
        return _questions(known[name])

    for raw in csv_rows(Path(path)):
        try:
            row = _answer(raw, questions)
            weights[row.sample] = row.weight
            asked[row.sample].add(row.key)
            _add_label(given[row.sample], row)
        except InputError as error:
            on_error(error.within(raw.place))
    labeled = [name for name, cells in given.items() if cells]
    if not any(map(_has_label, given.values())):
        hint = f"write yes or no into the column {LABEL!r}"
        raise InputError("at least one label", "none", where=str(path), hint=hint)
    stands_for = _stands_for(labeled, weights)
    open_in = {name: len(keys) - len(given[name]) for name, keys in asked.items()}
    return SheetLabels(
        results=[_labeled(known[name], given[name]) for name in labeled],
        weights={known[name].id: weight for name, weight in stands_for.items()},
        questions=sum(map(len, asked.values())),
        unlabeled=sum(open_in.values()),
        without=len(asked) - len(labeled),
        in_part=sum(open_in[name] > 0 for name in labeled),
    )


def _has_label(cells: dict[Key, Cell]) -> bool:
    """Not where two answers contradict each other in every question that has any."""
    return any(cell is not None for cell in cells.values())


def _add_label(cells: dict[Key, Cell], row: _Row) -> None:
    """Add the row's label, if it has one. Raises `InputError` at another label of its question."""
    if row.label is not None and cells.setdefault(row.key, row.label) is not row.label:
        cells[row.key] = None
        raise InputError("one label for each question", "yes and no", where=LABEL)


def _stands_for(labeled: Iterable[str], weights: Mapping[str, float]) -> dict[str, float]:
    """By name, how many samples each labeled one stands for."""
    of_weight = Counter(weights.values())
    labeled_of_weight = Counter(weights[name] for name in labeled)
    stands_for: dict[str, float] = {}
    for name in labeled:
        weight = weights[name]
        stands_for[name] = weight * of_weight[weight] / labeled_of_weight[weight]
    return stands_for


class _Row(NamedTuple):
    """A row of a sheet, checked."""

    sample: str
    key: Key
    label: Cell
    weight: float


def _answer(raw: Raw, questions: Callable[[str], dict[Key, Question]]) -> _Row:
    """Raises `InputError` for a row that is no question on these results."""
    if isinstance(raw.data, InputError):
        raise raw.data
    row: dict[str, str] = {name: text.strip() for name, text in raw.data.items()}
    if missing := [name for name in (*_KEYS, LABEL) if name not in row]:
        raise InputError(f"the column {missing[0]!r}", f"only {', '.join(map(repr, row))}")
    if row[LABEL].lower() not in _WORDS:
        raise InputError("yes, no or nothing", describe(row[LABEL]), where=LABEL)
    # Some spreadsheets save whole numbers with a point.
    key = row["kind"], row["claim"].removesuffix(".0"), row["chunk"].removesuffix(".0")
    question = questions(row["sample"]).get(key)
    if question is None:
        raise InputError("a kind, a claim and a chunk of the sheet", describe(key))
    hint = "was the run judged again, or retrieved anew, since the sheet was written?"
    statement, source = (_words(_as_text(text)) for text in question)
    if _words(row.get("statement", statement)) != statement:
        raise InputError("the judge's claim", "another", where="statement", hint=hint)
    if not source.startswith(_words(row.get("source", source))):  # spreadsheets cut long cells
        raise InputError("the text that was judged", "another", where="source", hint=hint)
    label = _WORDS[row[LABEL].lower()]
    return _Row(row["sample"], key, label, _weight(row.get(_WEIGHT, "1")))


def _weight(text: str) -> float:
    # Some spreadsheets write a comma.
    try:
        weight = float(text.replace(",", "."))
    except ValueError:
        weight = 0.0
    if not 1 <= weight < float("inf"):
        raise InputError("a number of 1 or more, as in the sheet", repr(text), where=_WEIGHT)
    return weight


def _words(text: str) -> str:
    return " ".join(text.split())


def _labeled(result: Result, cells: Mapping[Key, Cell]) -> Result:
    """With people's verdicts in place of the judge's."""
    sample, judged = _parts(result)
    response = [claim.text for claim in judged.verdicts.response_claims]
    reference = [claim.text for claim in judged.verdicts.reference_claims]

    def table(kind: str, claims: list[str]) -> list[list[Cell]]:
        chunks = range(len(judged.chunk_relevance))
        return [[cells.get((kind, str(i), str(j))) for j in chunks] for i in range(len(claims))]

    people = Verdicts.from_matrices(
        [cells.get(("correct", str(i), "")) for i in range(len(response))],
        table("response", response),
        table("reference", reference),
        response_claims=response,
        reference_claims=reference,
    )
    scored = score(people.with_sample(sample), definition=judged.definition, empty=judged.empty)
    return Result(result.id, scored, sample=sample, cluster=result.cluster)
