"""Propose which columns of a file hold what, where their names do not settle it.

Nothing is judged by a proposal: it is shown, as a command with the first value of each field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import quote
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.chunks import chunks_of, fields_of, is_one_text, words
from noisesense_adapters.reading.paths import inner_paths, parse, value_at
from noisesense_adapters.reading.places import FIELDS, FILE
from noisesense_adapters.reading.row import CHUNKS, GROUP, Reader, Reading
from noisesense_adapters.reading.texts import text_of

_OTHERS = words(places.NO_TEXTS)
_BARS = (" || ", "||", " | ", "|")
"""What stands between chunks, and hardly in them."""
_MARKS = ("\n", ";")
"""What may stand between chunks, and in them."""
_GRADED = re.compile(r"\[(?:PASS|FAIL|ERROR)\]")
"""How Promptfoo's CSV begins its answers, which then are none."""


class Proposal(NamedTuple):
    """The columns that a file may mean.

    Attributes:
        columns: the path of each field that was found.
        separator: between the chunks of a cell.
        chosen: the user's own columns.
        values: by field what its path gives in the first row.
        asks_between: may something stand between chunks in a cell, which only its author knows?
        is_graded: do the answers begin with their grades, as in Promptfoo's table?
    """

    columns: dict[str, str]
    separator: str | None
    values: dict[str, str]
    chosen: Mapping[str, Any]
    is_graded: bool
    asks_between: bool

    @property
    def options(self) -> list[str]:
        """The options of ``noisesense score`` that take it."""
        options: list[str] = []
        for field, path in self.columns.items():
            if field not in self.chosen:
                options += ["--map", f"{field}={path}"]
        if self.separator is not None:
            shown = self.separator.replace("\n", r"\n")
            options += ["--split-contexts", shown]
        return options

    @property
    def hint(self) -> str:
        """What to say instead, or that the proposal can be taken."""
        options = " ".join(map(quote, self.options))
        if self.is_whole:
            return f"is it {options}? --guess takes that, in Python guess=True"
        if self.is_graded:
            return (
                "Promptfoo's table grades its answers: read what promptfoo eval -o out.json writes"
            )
        missing = [name for name in FIELDS if name not in self.columns]
        named = " ".join(f"--map {name}=COLUMN" for name in missing)
        return f"name the column: {named}, in Python columns=" + (
            f"; beside {options}" if options else ""
        )

    @property
    def is_whole(self) -> bool:
        """Is there a place for all that a score needs?"""
        return {"response", "reference", CHUNKS} <= self.columns.keys()

    def lines(self, arguments: Sequence[str]) -> list[str]:
        """Each field with its path and first value, and the whole command with the arguments."""
        lines = [f"  {name} = {path}: {self.values[name]}" for name, path in self.columns.items()]
        if self.is_whole:
            command = " ".join(map(quote, ("noisesense", *arguments, *self.options)))
            lines += ["If that is right, add --guess, or run", f"  {command}"]
        return lines


def propose(
    rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], settled: Mapping[str, str]
) -> Proposal:
    """The likeliest place of each field in the first rows of a file.

    Args:
        rows: the first ones.
        chosen: the user's columns, which stay.
        settled: the places of fields that names settle. A gold answer may stand under the name
            of a response: these two are asked for all the same.
    """
    found = _places(rows)
    columns = {field: path for field, path in chosen.items() if isinstance(path, str)}
    for field in (CHUNKS, "user_input"):
        if settled.get(field) and field not in chosen:
            columns[field] = settled[field]
    if "positive" in found and "negative" in found:
        columns.setdefault(CHUNKS, "positive,negative")
    for field in ("reference", "response", "reference", "user_input", CHUNKS):
        if field not in {**chosen, **columns}:
            best = _best(field, found, columns.values())
            if best:
                columns[field] = best
    separator = None
    path = columns.get(CHUNKS, "")
    cells = [value for value in found.get(path, []) if is_one_text(value)]
    asks_between = False
    if cells and GROUP not in chosen:
        separator = next((mark for mark in _BARS if any(mark in cell for cell in cells)), None)
        group = _group(rows, path, columns)
        asks_between = any(2 * sum(mark in cell for cell in cells) > len(cells) for mark in _MARKS)
        if group:
            columns[GROUP] = group
        elif separator is None:
            columns[CHUNKS] = f"{path},"
        if asks_between and not group and separator is None:
            del columns[CHUNKS]
    order = [*FIELDS, *(set(columns) - set(FIELDS))]
    columns = {field: columns[field] for field in order if field in columns}
    shown = {field: path for field, path in columns.items() if field != GROUP}
    reader = Reader(FILE, shown, separator=separator, one_chunk=GROUP in columns)
    reading = reader.read(rows[0])
    values = {field: _shown(reading, field) for field in shown}
    if GROUP in columns:
        values[GROUP] = describe(rows[0].get(columns[GROUP]))
    cells = [cell for cells in found.values() for cell in cells if isinstance(cell, str)]
    return Proposal(
        columns, separator, values, chosen, any(map(_GRADED.match, cells)), asks_between
    )


def _places(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What stands in the first rows, by its path."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for path in inner_paths(row):
            with suppress(InputError):
                numbered = re.sub(r"\d+$", "*", path)
                if numbered != path and "." not in path and len(numbered) > 1:
                    path = numbered
                value = value_at(row, path)
                if "[]" in path and value and all(isinstance(item, list) for item in value):
                    path += "[]"
                    value = value_at(row, path)
                found.setdefault(path, []).append(value)
    return found


def _best(field: str, found: Mapping[str, list[Any]], taken: Iterable[str]) -> str | None:
    """The path that speaks most for a field; None if none does, or two with other texts."""
    taken = set(taken)
    best: str | None = None
    highest = 0.0
    for path, values in found.items():
        is_inside = field != CHUNKS and any(path.startswith(f"{other}.") for other in taken)
        weight = _weight(field, path)
        if path in taken or is_inside or weight < max(highest, 0.5) or not _holds(field, values):
            continue
        is_tied = weight == highest and best is not None and values != found.get(best)
        best = None if is_tied else path
        highest = weight
    return best


def _strengths(field: str) -> dict[str, int]:
    """How much words speak for a field, from 4 down."""
    strengths: dict[str, int] = {}
    for number, tier in enumerate(places.WORDS[field].split("|")):
        strengths |= dict.fromkeys(tier.split(), 4 - number)
    return strengths


_WORDS = {field: _strengths(field) for field in places.WORDS}


def _weight(field: str, path: str) -> float:
    """How much the words of a path speak for a field: the last step's most."""
    own = _WORDS[field]
    steps = [_words_in(step.name) for step in parse(path)[0]]
    weight = 0.0
    if not any(word in own for step in steps for word in step):
        return 0
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        share = 1.0 if is_last else 0.6
        weight += share * max((own.get(word, 0) for word in step), default=0)
        for other, known in _WORDS.items():
            is_gold = (other, field) == ("response", "reference") and weight >= 1.5
            if other != field and not is_gold:
                strongest = max((known.get(word, 0) for word in step), default=0)
                weight -= share * strongest if strongest >= 3 else 0
        if is_last and step and step[-1] in _OTHERS:
            weight -= 5
    return weight + 0.01 * len(steps)


def _words_in(name: str) -> list[str]:
    """The words of a name such as ``groundTruth`` or ``ground_truth``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", split).lower().split()


def _holds(field: str, values: Sequence[Any]) -> bool:
    """Can the values be a field's? The same text in every row is none."""
    read: Callable[[Any], Any] = _texts_of_chunks if field == CHUNKS else _text_for(field)
    texts: list[str] = []
    for value in values:
        with suppress(InputError):
            texts.append(str(read(value) or ""))
    is_graded = any(map(_GRADED.match, texts))
    is_constant = len(texts) > 2 and len({*texts}) == 1
    return any(texts) and not is_graded and not is_constant


def _texts_of_chunks(value: Any) -> Any:
    if is_one_text(value):
        return value if " " in value else ""
    return [fields_of(chunk)["text"] for chunk in chunks_of(value)]


def _text_for(field: str) -> Callable[[Any], str | None]:
    return lambda value: None if isinstance(value, bool) else text_of(value, field)


def _group(
    rows: Sequence[Mapping[str, Any]], chunk: str, columns: Mapping[str, str]
) -> str | None:
    """The column that rows with one chunk each share; None if no two rows have the same texts."""
    others = [columns[field] for field in ("response", "user_input") if field in columns]
    keys = [[str(row.get(path)) for path in others] for row in rows]
    ends = [before != after for before, after in pairwise(keys)]
    if all(ends):
        return None
    for name in rows[0]:
        cells = [str(row.get(name)) for row in rows]
        changes = [before != after for before, after in pairwise(cells)]
        if changes == ends and name not in (*columns.values(), chunk):
            return name
    return columns.get("user_input")


def _shown(reading: Reading, field: str) -> str:
    """The first value of a field, for the user to check."""
    if field in reading.errors:
        return f"cannot be read: {reading.errors[field]}"
    value = reading.values.get(field)
    if field != CHUNKS:
        return describe(value)
    texts = [fields_of(chunk)["text"] for chunk in value or ()]
    return f"{len(texts)} chunks, the first {describe(texts[0])}" if texts else "no chunk"
