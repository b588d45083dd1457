"""Propose which columns of a file hold what, where their names do not settle it.

Nothing is judged by a proposal: it is shown, as a command with the first value of each field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import quote
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.chunks import chunks_of, fields_of, is_one_text, words
from noisesense_adapters.reading.paths import inner_paths, parse, value_at
from noisesense_adapters.reading.row import CHUNKS, GROUP, Reader
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
        options: of ``noisesense score``, by which the user would take it.
        values: by field its path and what it gives in the first row.
        is_whole: is there a readable place for all that a score needs?
    """

    columns: dict[str, str]
    separator: str | None
    options: list[str]
    values: dict[str, str]
    is_whole: bool

    def hint(self, error: InputError) -> str:
        """The options by which it is taken, or what the user has to name."""
        options = " ".join(map(quote, self.options))
        if self.is_whole:
            return f"is it {options}? --guess takes that, in Python guess=True"
        missing = [field for field in places.FIELDS if field not in self.columns]
        named = " ".join(f"--map {field}=COLUMN" for field in missing)
        return error.hint if not named else f"name the column: {named}, in Python columns="

    def lines(self, arguments: Sequence[str]) -> list[str]:
        """Each field with its path and first value, and the whole command with the arguments."""
        if not self.is_whole:
            return []
        lines = [f"  {field} = {value}" for field, value in self.values.items()]
        command = " ".join(map(quote, ("noisesense", *arguments, *self.options)))
        return [*lines, "If that is right, add --guess, or run", f"  {command}"]


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
    columns = _columns(found, chosen, settled)
    cells = [*filter(is_one_text, found.get(columns.get(CHUNKS, ""), ()))]
    separator = _separator(cells)
    is_joined = False
    if cells and separator is None:
        is_joined = _set_for_texts(columns, rows, cells)
    options = _options(columns, chosen, separator)
    values, is_readable = _values(rows[0] if rows else {}, columns, separator)
    has_all = {"response", "reference", CHUNKS} <= columns.keys() | chosen.keys()
    is_whole = has_all and is_readable and not is_joined
    return Proposal(columns, separator, options, values, is_whole)


def _separator(cells: Sequence[str]) -> str | None:
    """What stands between the chunks of cells, if that is plain."""
    together = "\0".join(cells)
    return next((mark for mark in _BARS if mark in together), None)


def _options(
    columns: Mapping[str, str], chosen: Mapping[str, Any], separator: str | None
) -> list[str]:
    """The options that are added to the user's own."""
    options: list[str] = []
    for field, path in columns.items():
        if field not in chosen:
            options += ["--map", f"{field}={path}"]
    return options if separator is None else [*options, "--split-contexts", separator]


def _set_for_texts(
    columns: dict[str, str], rows: Sequence[Mapping[str, Any]], cells: Sequence[str]
) -> bool:
    """Set what makes chunks of cells that are texts; may these be several chunks, joined?"""
    group = _group(rows, columns)
    if group:
        columns.setdefault(GROUP, group)
        return False
    columns[CHUNKS] += ","
    return any(2 * sum(mark in cell for cell in cells) > len(cells) for mark in _MARKS)


def _columns(
    found: Mapping[str, list[Any]], chosen: Mapping[str, Any], settled: Mapping[str, str]
) -> dict[str, str]:
    """The user's columns, and the likeliest ones of the other fields."""
    columns = {field: path for field, path in chosen.items() if isinstance(path, str)}
    for field in (CHUNKS, "user_input"):
        if settled.get(field):
            columns.setdefault(field, settled[field])
    if "positive" in found and "negative" in found:
        columns.setdefault(CHUNKS, "positive,negative")
    for field in ("reference", "response", "reference", "user_input", CHUNKS):
        best = _best(field, found, columns.values())
        if best and field not in chosen:
            columns.setdefault(field, best)
    return columns


def _values(
    row: Mapping[str, Any], columns: Mapping[str, str], separator: str | None
) -> tuple[dict[str, str], bool]:
    """The path and the first value of each field, for the user to check; can all be read?"""
    read = {field: path for field, path in columns.items() if field != GROUP}
    reader = Reader(places.FILE, read, separator=separator, one_chunk=GROUP in columns)
    reading = reader.read(row)
    values: dict[str, str] = {}
    for field, path in columns.items():
        value = reading.values.get(field)
        shown = describe(value)
        if field == CHUNKS and value:
            shown = f"{len(value)} chunks, the first {describe(fields_of(value[0])['text'])}"
        values[field] = f"{path}: {reading.errors.get(field, shown)}"
    return values, not reading.errors


def is_graded(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Does a column of a table begin with grades, as Promptfoo's answers do?"""
    cells = [cell for row in rows for cell in row.values()]
    return any(isinstance(cell, str) and _GRADED.match(cell) for cell in cells)


def _places(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What stands in the first rows, by its path."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for path in inner_paths(row):
            with suppress(InputError):
                stem = re.sub(r"(?<!\d)\d+$", "*", path)
                if "." not in path and len(stem) > 1:
                    path = stem
                value = value_at(row, path)
                if "[]" in path and value and all(isinstance(item, list) for item in value):
                    path += "[]"
                    value = value_at(row, path)
                found.setdefault(path, []).append(value)
    return found


def _best(field: str, found: Mapping[str, list[Any]], taken: Iterable[str]) -> str | None:
    """The path that speaks most for a field; None if none does, or two with other texts."""
    others = set(taken)
    best: str | None = None
    highest = 0.5
    for path, values in found.items():
        is_inside = field != CHUNKS and any(path.startswith(f"{other}.") for other in others)
        weight = _weight(field, path)
        if path in others or is_inside or weight < highest or not _holds(field, values):
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
    """How much the words of a path speak for a field, and not for others: the last step's most."""
    steps = [_words_in(step.name) for step in parse(path)[0]]
    last = steps[-1]
    own = _strongest(field, steps[:-1]) * 0.6 + _strongest(field, [last])
    if not own:
        return 0
    for other in _WORDS:
        is_gold = (other, field) == ("response", "reference") and own >= 1.5
        if other != field and not is_gold:
            own -= _strongest(other, [last], 3) + 0.6 * _strongest(other, steps[:-1], 3)
    if last and last[-1] in _OTHERS:
        own -= 5
    return own + 0.01 * len(steps)


def _strongest(field: str, steps: Iterable[list[str]], least: int = 1) -> int:
    """How much the strongest word speaks for a field; 0 below the least that counts."""
    strengths = [_WORDS[field].get(word, 0) for step in steps for word in step]
    return max((strength for strength in strengths if strength >= least), default=0)


def _words_in(name: str) -> list[str]:
    """The words of a name such as ``groundTruth`` or ``ground_truth``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", split).lower().split()


def _holds(field: str, values: Sequence[Any]) -> bool:
    """Can the values be a field's? The same text in every row is none."""
    texts: list[str] = []
    for value in values:
        with suppress(InputError):
            if field != CHUNKS:
                texts.append("" if isinstance(value, bool) else text_of(value, field) or "")
            elif is_one_text(value):
                texts.append(value if " " in value else "")
            else:
                texts.append(str([fields_of(chunk)["text"] for chunk in chunks_of(value)]))
    is_constant = len(texts) > 2 and len({*texts}) == 1
    return any(texts) and not is_constant and not any(map(_GRADED.match, texts))


def _group(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str | None:
    """The column that rows with one chunk each share; None if no two rows have the same texts."""
    texts = [columns[field] for field in ("response", "user_input") if field in columns]
    ends = _changes(rows, texts)
    if all(ends) or not rows:
        return None
    for name in rows[0]:
        if name not in columns.values() and _changes(rows, [name]) == ends:
            return name
    return columns.get("user_input")


def _changes(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[bool]:
    """Between which rows do columns change?"""
    cells = [[str(row.get(name)) for name in names] for row in rows]
    return [before != after for before, after in pairwise(cells)]
