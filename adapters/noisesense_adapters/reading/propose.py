"""Propose which columns of a file hold what, where their names do not settle it.

Nothing is judged by a proposal: it is shown, as a command with the first value of each field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from shlex import quote
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.chunks import chunks_of, fields_of, is_one_text
from noisesense_adapters.reading.paths import inner_paths, parse, value_at
from noisesense_adapters.reading.row import CHUNKS, GROUP, Reader
from noisesense_adapters.reading.texts import text_of

_BARS = re.compile(r" ?\|+ ?")
"""What stands between chunks, and hardly in them."""
_MARKS = ("\n", ";")
"""What may stand between chunks, and in them."""
_MOST_PATHS = 300
"""Of the first row: lists in lists have any number of them."""
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
        """Return the options by which it is taken, or what the user has to name."""
        options = " ".join(map(quote, self.options))
        if self.is_whole:
            return f"is it {options}? guess=True takes that"
        missing = [f"--map {field}=COLUMN" for field in places.FIELDS if field not in self.columns]
        named = " ".join([*missing, options]).rstrip()
        return f"name the column: {named}, in Python columns=" if missing else error.hint

    def lines(self, arguments: Sequence[str]) -> list[str]:
        """Each field with its path and first value, and the whole command with the arguments."""
        if not self.is_whole:
            return []
        lines = [f"  {field} = {value}" for field, value in self.values.items()]
        command = " ".join(map(quote, ("noisesense", *arguments, *self.options)))
        return [*lines, "If that is right, add --guess, or run", f"  {command}"]


def propose(
    rows: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any],
    settled: Mapping[str, str],
    separator: str | None = None,
) -> Proposal:
    """Return the likeliest place of each field in the first rows of a file.

    Args:
        rows: the first ones.
        chosen: the user's columns, which stay.
        settled: the places of fields that names settle. A gold answer may stand under the name
            of a response: these two are asked for all the same.
        separator: the user's own.
    """
    columns = _columns(rows, chosen, settled)
    cells: list[str] = []
    for row in rows if CHUNKS in columns else ():
        with suppress(InputError):
            cell = value_at(row, columns[CHUNKS])
            cells += [cell] if is_one_text(cell) else []
    options: list[str] = []
    is_joined = False
    if cells and separator is None:
        marks = [mark for cell in cells for mark in _BARS.findall(cell)]
        if marks:
            separator = min(marks, key=len)
            options = ["--split-contexts", separator]
            is_joined = len({mark.strip() for mark in marks}) > 1
        else:
            is_joined = _set_for_texts(columns, rows, cells)
    options = [*_options(columns, chosen), *options]
    values, is_readable = _values(rows[0] if rows else {}, columns, separator)
    has_all = {"response", "reference", CHUNKS} <= columns.keys() | chosen.keys()
    is_whole = has_all and is_readable and not is_joined
    return Proposal(columns, separator, options, values, is_whole)


def _options(columns: Mapping[str, str], chosen: Mapping[str, Any]) -> list[str]:
    """Return the options that name columns beside the user's own."""
    options: list[str] = []
    for field, path in columns.items():
        if field not in chosen:
            options += ["--map", f"{field}={path}"]
    return options


def _set_for_texts(
    columns: dict[str, str], rows: Sequence[Mapping[str, Any]], cells: Sequence[str]
) -> bool:
    """Set what makes chunks of cells of text; tell whether they may be several, joined."""
    group = _group(rows, columns)
    if group:
        columns.setdefault(GROUP, group)
        return False
    columns[CHUNKS] += ","
    return any(2 * sum(mark in cell for cell in cells) > len(cells) for mark in _MARKS)


def _columns(
    rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], settled: Mapping[str, str]
) -> dict[str, str]:
    """The user's columns, and the only ones that their words speak of for the other fields."""
    columns = {field: path for field, path in chosen.items() if isinstance(path, str)}
    spoken = _spoken(rows, [*columns.values()])
    answer = spoken.pop("answer")
    if spoken["response"] and not spoken["reference"]:
        spoken["reference"] = answer
    else:
        spoken["response"] |= answer
    spoken[CHUNKS] = spoken[CHUNKS] or _lists(rows)
    for field, found in spoken.items():
        if field in settled and field in (CHUNKS, "user_input"):
            columns.setdefault(field, settled[field])
        elif field not in chosen and len(found) == 1:
            columns[field] = next(iter(found.values()))
    return columns


_Places = dict[tuple[str, ...], str]
"""Paths by what they hold in the first rows."""


def _spoken(rows: Sequence[Mapping[str, Any]], taken: Sequence[str]) -> dict[str, _Places]:
    """Return the places by the field of which their words speak."""
    spoken: dict[str, _Places] = {field: {} for field in ("reference", *places.WORDS)}
    for path in _paths(rows):
        field = _field_of(path)
        if field is None or path in taken:
            continue
        homes = [*spoken[field].values(), *spoken[CHUNKS].values()]
        if any(path.startswith((f"{home}.", f"{home}[")) for home in homes):
            continue
        texts = _texts(rows, path, field)
        if texts:
            spoken[field].setdefault(texts, path)
    return spoken


def _lists(rows: Sequence[Mapping[str, Any]]) -> _Places:
    """Return the lists of chunks, whatever their names are."""
    found: _Places = {}
    for path in islice(inner_paths(rows[0], by_number=True), _MOST_PATHS):
        texts = _texts(rows, path, CHUNKS)
        if texts and all(text[:1] in ("", "[") for text in texts):
            found.setdefault(texts, path)
    return found


def _paths(rows: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    """Return the paths in the first rows, in order. Numbered columns are one."""
    paths: dict[str, None] = {}
    for row in rows:
        for path in inner_paths(row):
            stem = re.sub(r"(?<!\d)\d+$", "*", path)
            paths[path if "." in path or len(stem) < 2 else stem] = None
    both = dict.fromkeys(["positive,negative"] if {"positive", "negative"} <= paths.keys() else [])
    return both | paths


def _field_of(path: str) -> str | None:
    """Return the field of which the words of a path speak, the last ones first."""
    if path == "positive,negative":
        return CHUNKS
    steps = [_words_in(step.name) for step in parse(path)[0]]
    if steps[-1] and steps[-1][-1] in places.NO_TEXTS.split():
        return None
    spoken = [field for step in reversed(steps) for field in _fields_of(step)]
    if _GOLD.isdisjoint(chain.from_iterable(steps)):
        return spoken[0] if spoken else None
    is_text = not spoken or spoken[0] in ("response", "answer")
    return "reference" if is_text else None


_GOLD = {*places.GOLD.split()}
_WORDS = {field: {*known.split()} for field, known in places.WORDS.items()}


def _fields_of(step: Sequence[str]) -> list[str]:
    """Return the fields of which the words of a name speak."""
    return [field for field, known in _WORDS.items() if not known.isdisjoint(step)]


def _texts(rows: Sequence[Mapping[str, Any]], path: str, field: str) -> tuple[str, ...]:
    """What a path holds in the rows, as a field's texts; nothing if it is no place of such."""
    texts: list[str] = []
    for row in rows:
        with suppress(InputError):
            texts.append(_text(value_at(row, path), field))
    is_constant = len(texts) > 2 and len({*texts}) == 1
    return () if is_constant or not any(texts) or any(map(_GRADED.match, texts)) else tuple(texts)


def _text(value: Any, field: str) -> str:
    """Return what a value holds as a field. Raises `InputError` if it can be none."""
    if field in ("response", "user_input") and isinstance(value, (int, float)):
        return ""  # a count, or a price
    if field != CHUNKS:
        return text_of(value, "reference" if field == "answer" else field) or ""
    if is_one_text(value):
        return value if " " in value else ""
    texts = [fields_of(chunk)["text"] for chunk in chunks_of(value)]
    return str(texts) if any(" " in text for text in texts) else ""


def _words_in(name: str) -> list[str]:
    """Return the words of a name such as ``groundTruth`` or ``ground_truth``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", split).lower().split()


def _values(
    row: Mapping[str, Any], columns: Mapping[str, str], separator: str | None
) -> tuple[dict[str, str], bool]:
    """Return each field's path and first value, and whether all can be read."""
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
    """Tell whether a column of a table begins with grades, as Promptfoo's answers do."""
    cells = [cell for row in rows for cell in row.values()]
    return any(isinstance(cell, str) and _GRADED.match(cell) for cell in cells)


def _group(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str | None:
    """Return the question's column, if rows that follow each other share it and the response."""
    names = [columns.get("user_input", ""), columns.get("response", "")]
    texts = [[row.get(name) for name in names] for row in rows]
    is_shared = any(before == after for before, after in pairwise(texts))
    return names[0] or None if is_shared else None
