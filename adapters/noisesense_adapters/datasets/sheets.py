"""Sheets that people fill in: a row for each verdict on a judge's own claims and chunks."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

from noisesense import InputError, Result, Verdicts, score
from noisesense.errors import check_choice, describe
from noisesense.jsonl import write_whole
from noisesense.scoring.definitions import MODES
from noisesense.stats.labels_cells import CellKind
from noisesense.verdicts.form import Cell, ClaimForm, positions
from noisesense_adapters.datasets.files import csv_rows
from noisesense_adapters.datasets.rows import Raw
from noisesense_adapters.toolbox.given import as_object

_KEYS = ("sample", "kind", "claim", "chunk")  # what a row is found again by
_TEXTS = ("question", "statement", "source")
LABEL = "entailed"
_JUDGE = "judge"
_WORDS: dict[str, Cell] = {
    **dict.fromkeys(("yes", "y", "true", "1"), True),
    **dict.fromkeys(("no", "n", "false", "0"), False),
    **dict.fromkeys(("", "?"), None),
}
_IN_WORDS: dict[Cell, str] = {True: "yes", False: "no", None: ""}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_Position = tuple[str, int, "int | None"]


class Sheet(NamedTuple):
    """What was written: samples, rows, and the samples left out: without texts or claims."""

    samples: int
    rows: int
    left_out: int


def write_labels(
    results: Iterable[Result],
    path: str | Path,
    *,
    samples: int | None = None,
    seed: int = 0,
    show_verdicts: bool = False,
) -> Sheet:
    """Write a CSV file in which people answer each question the judge could be asked.

    A row asks whether ``source`` (the reference, or a chunk) says what ``statement`` (a claim)
    says; people write ``yes`` or ``no`` into ``entailed``, or leave it empty. Claims and chunks
    are numbered from 0. What the judge said is not in it, unless ``show_verdicts`` is set.

    Args:
        results: the judge's; those with an error are left out.
        path: a new file, ``.csv`` or ``.tsv``.
        samples: draw so many samples, from those with noise, without, and undetermined ones in
            proportion to their numbers, so that rates among the labels are rates of the run.
        seed: of the draw.
        show_verdicts: a further column ``judge``, which people tend to agree with.

    Raises:
        InputError: an id twice, no sample with texts and claims, or a file of another kind.
    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise InputError("a name ending in .csv or .tsv", repr(path.name), where="sheet")
    known, left_out = _by_id(results)
    chosen = known if samples is None else _drawn(known, samples, seed)
    names = (*_KEYS, *_TEXTS, LABEL, *([_JUDGE] if show_verdicts else []))
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        # The mark tells spreadsheets that it is UTF-8.
        yield "\ufeff" + delimiter.join(names)
        for result in chosen.values():
            for row in _questions(result):
                count += 1
                text = io.StringIO()
                writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
                writer.writerow([_as_text(row.get(name, "")) for name in names])
                yield text.getvalue().removesuffix("\n")

    write_whole(path, lines())
    return Sheet(len(chosen), count, left_out)


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


def _drawn(known: Mapping[str, Result], count: int, seed: int) -> dict[str, Result]:
    """So many, in proportion from each stratum: every k-th of all, stratum after stratum."""
    rng = random.Random(seed)
    strata: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, result in known.items():
        strata[_stratum(result)].append(name)
    in_turn = [name for _, names in sorted(strata.items()) for name in _shuffled(names, rng)]
    step = max(1.0, len(in_turn) / count)
    start = rng.random() * step
    taken = {in_turn[int(start + i * step)] for i in range(min(count, len(in_turn)))}
    return {name: result for name, result in known.items() if name in taken}


def _shuffled(names: list[str], rng: random.Random) -> list[str]:
    return rng.sample(names, len(names))


def _stratum(result: Result) -> tuple[str, ...]:
    kinds: list[str] = []
    for mode in MODES:
        low, high = (result.score and result.score.bounds(mode)) or (0.0, 0.0)
        kinds.append("undetermined" if low != high else "noisy" if low else "clean")
    return tuple(kinds)


def _questions(result: Result) -> Iterator[dict[str, Any]]:
    """The sheet's rows on one sample: what decides first comes first."""
    assert result.sample is not None
    assert result.score is not None
    sample, verdicts = result.sample, result.score.verdicts
    chunks = sample.retrieved_contexts
    base = {"sample": result.id, "question": sample.user_input}
    for i, claim in enumerate(verdicts.response_claims):
        row = {**base, "claim": i, "statement": claim.text}
        reference = {"kind": "correct", "source": sample.reference}
        yield {**row, **reference, _JUDGE: _IN_WORDS[claim.correct]}
    labeled = all(chunk.relevant is not None for chunk in chunks)
    sides: dict[CellKind, Sequence[ClaimForm]] = {
        "response": verdicts.response_claims,
        "reference": () if labeled else verdicts.reference_claims,
    }
    for kind, claims in sides.items():
        for j, chunk in enumerate(chunks):
            for i, one in enumerate(claims):
                said = None if j in one.undetermined else j in one.entailed_by
                row = {**base, "kind": kind, "claim": i, "chunk": j}
                texts = {"statement": one.text, "source": chunk.text}
                yield {**row, **texts, _JUDGE: _IN_WORDS[said]}


def _as_text(value: object) -> str:
    """As a cell. A spreadsheet would run a text that begins like a formula."""
    text = str(value).replace("\0", "\ufffd")
    return f"'{text}" if text.startswith(_FORMULA) else text


def is_label_sheet(path: Path) -> bool:
    """Is it a file that `write_labels` wrote?"""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return False
    first = next(islice(csv_rows(path), 1), None)
    return first is not None and {*_KEYS, LABEL} <= as_object(first.data).keys()


def read_labels(
    path: str | Path, judged: Iterable[Result], on_error: Callable[[InputError], None]
) -> list[Result]:
    """People's verdicts on the samples of a sheet that have any; what is empty is undetermined.

    Args:
        path: a sheet that `write_labels` wrote and people filled in, as far as they came.
        judged: the results that it was written from.
        on_error: called with the error of each row that cannot be used, which names its line. Two
            different labels of one question leave it open.

    Raises:
        InputError: an id twice among the results, or a sheet without labels.
    """
    known = {_as_text(name).strip(): result for name, result in _by_id(judged)[0].items()}
    given: defaultdict[str, dict[_Position, Cell]] = defaultdict(dict)
    for raw in csv_rows(Path(path)):
        try:
            name, position, label = _answer(raw, known)
            if label is None:
                continue
            if given[name].get(position, label) is not label:
                given[name][position] = None
                raise InputError("one label for each question", "yes and no", where=LABEL)
        except InputError as error:
            on_error(error.within(raw.place))
        else:
            given[name][position] = label
    labeled = [_labeled(known[name], cells) for name, cells in given.items() if cells]
    if not labeled:
        hint = f"write yes or no into the column {LABEL!r}"
        raise InputError("at least one label", "none", where=str(path), hint=hint)
    return labeled


def _answer(raw: Raw, known: Mapping[str, Result]) -> tuple[str, _Position, Cell]:
    """Raises `InputError` for a row that is no question on these results."""
    if isinstance(raw.data, InputError):
        raise raw.data
    row: dict[str, str] = {name: (text or "").strip() for name, text in raw.data.items()}
    if missing := [name for name in (*_KEYS, LABEL) if name not in row]:
        raise InputError(f"the column {missing[0]!r}", f"only {', '.join(map(repr, row))}")
    label = row[LABEL].lower()
    if label not in _WORDS:
        raise InputError("yes, no or nothing", describe(row[LABEL]), where=LABEL)
    name = row["sample"]
    if name not in known:
        hint = "the sheet belongs to the results that it was written from"
        raise InputError("a sample of the results", repr(name), where="sample", hint=hint)
    score = known[name].score
    assert score is not None
    check_choice(row["kind"], get_args(CellKind), "kind")
    of_reference = row["kind"] == "reference"
    claims = score.verdicts.reference_claims if of_reference else score.verdicts.response_claims
    i = _number(row, "claim", len(claims))
    if "statement" in row and _words(row["statement"]) != _words(_as_text(claims[i].text)):
        hint = "was the run judged again since the sheet was written?"
        raise InputError("the judge's claim", "another", where="statement", hint=hint)
    chunks = len(score.chunk_relevance)
    chunk = None if row["kind"] == "correct" else _number(row, "chunk", chunks)
    return name, (row["kind"], i, chunk), _WORDS[label]


def _number(row: Mapping[str, str], name: str, count: int) -> int:
    text = row[name].removesuffix(".0")  # as some spreadsheets save whole numbers
    if not re.fullmatch(r"\d{1,9}", text) or int(text) >= count:
        raise InputError(f"a number from 0 to {count - 1}", repr(row[name]), where=name)
    return int(text)


def _words(text: str) -> str:
    return " ".join(text.split())


def _labeled(result: Result, cells: Mapping[_Position, Cell]) -> Result:
    assert result.sample is not None
    assert result.score is not None
    verdicts, chunks = result.score.verdicts, range(len(result.score.chunk_relevance))

    def row(kind: str, i: int) -> dict[str, tuple[int, ...]]:
        return positions([cells.get((kind, i, j)) for j in chunks])

    fields = {
        "response_claims": [
            {
                "text": claim.text,
                "correct": cells.get(("correct", i, None)),
                **row("response", i),
            }
            for i, claim in enumerate(verdicts.response_claims)
        ],
        "reference_claims": [
            {"text": claim.text, **row("reference", i)}
            for i, claim in enumerate(verdicts.reference_claims)
        ],
    }
    people = Verdicts.model_validate(fields).beside(result.sample)
    judged = result.score
    return Result(
        result.id,
        score(people, definition=judged.definition, empty=judged.empty),
        sample=result.sample,
        cluster=result.cluster,
    )
