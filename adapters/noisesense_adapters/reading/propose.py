"""Propose which columns of a file hold what, where their names do not settle it.

Nothing is judged by a proposal: it is shown, as a command with the first value of each field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from shlex import quote
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.chunks import IDS, chunks_of, fields_of, text_in
from noisesense_adapters.reading.names import NAMED, OTHER_LISTS, field_of, words_in
from noisesense_adapters.reading.paths import inner_paths, value_at
from noisesense_adapters.reading.row import CHUNKS, Reader, Reading, without_gold
from noisesense_adapters.reading.texts import text_of
from noisesense_adapters.reading.values import is_one_text, is_prose

_MARKS = re.compile(r"[\n\t;§•¶#<>*]|--|//|~~|==|\[\d|\d[:)]|\", \"")
"""What may stand between chunks, and in them."""
_BARS = r"\n[-=*#_~]{3,}\n|\|+"
"""What stands between chunks alone."""


class Proposal(NamedTuple):
    """The columns that a file may mean.

    Attributes:
        columns: the path of each field that was found.
        separator: between the chunks of a cell.
        options: of ``noisesense score``, by which the user would take it.
        values: each field with its path and what it gives in the first row.
        is_whole: can all that a score needs be read?
        gaps: options for what nothing speaks of, where that is all that is wrong.
    """

    columns: dict[str, str]
    separator: str | None
    options: list[str]
    values: list[str]
    is_whole: bool
    gaps: list[str]

    @property
    def hint(self) -> str:
        """A question: are these options meant? It says how to take them."""
        return f"is it {' '.join(map(quote, self.options))}? guess=True takes that"

    def lines(self, arguments: Sequence[str]) -> list[str]:
        """Each field with its path and first value, and the whole command with the arguments.

        Where only ``gaps`` are missing, the options in place of the command, with a COLUMN for
        each gap; else nothing at all.
        """
        if self.is_whole:
            command = " ".join(map(quote, ("noisesense", *arguments, *self.options)))
            return [*self.values, "If that is right, add --guess, or run", f"  {command}"]
        if not self.gaps:
            return []
        options = " ".join([*self.gaps, *map(quote, self.options)])
        lead = "Name each COLUMN, or SEP, and, if the others are right, add"
        return [*self.values, lead, f"  {options}"]


def propose(
    rows: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any],
    separator: str | None = None,
) -> Proposal:
    """Return the likeliest place of each field in the first rows of a file.

    Args:
        rows: the first ones; one at least.
        chosen: the user's columns, which stay.
        separator: the user's own; None to propose one.
    """
    columns = _columns(rows, chosen)
    cells = _cells(rows, columns.get(CHUNKS)) if separator is None else []
    between = _between(cells)
    if between != ",":
        separator = between or separator
    elif CHUNKS not in chosen:
        columns[CHUNKS] += ","
    columns |= _names(rows, columns, separator)
    reading = Reader(places.FILE, columns, separator=separator).read(rows[0])
    shown = {**reading.places, **columns}
    missing = _missing(reading, shown, chosen)
    for field in missing:
        shown.pop(field, None)
        columns.pop(field, None)
    gaps = [*map("--map {}=COLUMN".format, missing)]
    if cells and between is None:
        gaps.insert(0, "--split-contexts SEP")
    is_told = not cells or _asks_once(rows, columns.get("user_input", ""))
    is_open = is_told and len(gaps) >= len(reading.errors)
    is_whole = is_told and not reading.errors
    options = _options(columns, chosen, between)
    values = _values(reading, shown)
    return Proposal(columns, separator, options, values, is_whole, gaps if is_open else [])


def _missing(
    reading: Reading, shown: Mapping[str, str], chosen: Mapping[str, object]
) -> list[str]:
    """Return the fields that nothing speaks of.

    The response, too, where its name may be that of the gold answer, and nothing else is.
    """
    missing = [field for field in reading.errors if field not in shown]
    said = shown.get("response", "none")
    if "reference" in missing and "response" not in chosen and field_of(said) == "answer":
        missing.append("response")
    return missing


def _values(reading: Reading, shown: Mapping[str, str]) -> list[str]:
    """Return each field with its place and what it holds; without a question, what names it."""
    values = [f"  {field} = {path}: {_shown(reading, field)}" for field, path in shown.items()]
    if "user_input" not in shown:
        values.append("  no user_input was found; --map user_input=COLUMN names the question")
    return values


def _asks_once(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Tell whether no question is there again: else a row may hold one chunk of several."""
    return len({str(row.get(column)) for row in rows}) == len(rows)


def _options(
    columns: Mapping[str, str], chosen: Mapping[str, Any], between: str | None
) -> list[str]:
    """Return the options for the separator, and for the columns that the user has not chosen."""
    options: list[str] = []
    if between not in (None, ","):
        options = ["--split-contexts", between.replace("\n", r"\n")]
    for field, path in columns.items():
        if chosen.get(field) != path:
            options += ["--map", f"{field}={path}"]
    return options


def _shown(reading: Reading, field: str) -> object:
    """Return what a field holds, or why it cannot be read."""
    value = reading.values.get(field)
    shown = describe(value)
    if field == CHUNKS and value:
        shown = f"{len(value)} chunks, the first {describe(text_in(value[0]))}"
    return reading.errors.get(field, shown)


def _cells(rows: Sequence[Mapping[str, Any]], path: str | None) -> list[str]:
    """Return the texts at a path that hold no list."""
    cells: list[str] = []
    for row in rows if path else ():
        with suppress(InputError):
            cell = value_at(row, str(path))
            if is_one_text(cell):
                cells.append(cell)
    return cells


def _names(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], separator: str | None
) -> dict[str, str]:
    """Return the only path to names for the chunks, by its field; {} if they have some."""
    if IDS in columns or _are_named(rows, columns, separator):
        return {}
    found: list[dict[str, str]] = []
    for path in _paths(rows):
        place = {IDS: path}
        is_meant = path not in columns.values() and NAMED.intersection(words_in(path)[-1:])
        if is_meant and _are_named(rows, {**columns, **place}, separator):
            found.append(place)
    return found[0] if len(found) == 1 else {}


def _are_named(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], separator: str | None
) -> bool:
    """Tell whether some chunks have a name, and all can be read."""
    reader = Reader(places.FILE, columns, separator=separator)
    readings = [reader.read(row) for row in rows]
    chunks = chain.from_iterable(reading.values[CHUNKS] or () for reading in readings)
    are_read = not any(CHUNKS in reading.errors for reading in readings)
    return are_read and any(isinstance(fields_of(each).get("id"), (str, int)) for each in chunks)


def _between(cells: Sequence[str]) -> str | None:
    """Return the bars between chunks in half of the cells or more; a comma if each is one chunk.

    None if that cannot be told.
    """
    bar = max(re.findall(_BARS, " ".join(cells)), key=len, default=None)
    split = [cell for cell in cells if bar and bar in cell]
    parts = chain.from_iterable(cell.split(bar) for cell in split)
    if split and 2 * len(split) >= len(cells) and all(map(is_prose, parts)):
        return bar
    marked = [cell for cell in cells if _MARKS.search(cell)]
    return "," if 2 * len(marked) < len(cells) else None


def _columns(rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> dict[str, str]:
    """The user's columns, and the only ones that their words speak of for the other fields."""
    columns = {field: path for field, path in chosen.items() if isinstance(path, str)}
    spoken = _spoken(rows, [*columns.values()])
    answers = spoken.pop("answer")
    is_gold = spoken["response"] and not spoken["reference"]
    home = spoken["reference" if is_gold else "response"]
    for texts in answers.keys() - spoken["response"].keys():
        home[texts] = answers[texts]
    spoken[CHUNKS] = spoken[CHUNKS] or _lists(rows)
    for field, found in spoken.items():
        if field not in chosen and len(found) == 1:
            columns[field] = next(iter(found.values()))
    return columns


_Places = dict[tuple[str, ...], str]
"""Paths by what they hold in the first rows."""


def _spoken(rows: Sequence[Mapping[str, Any]], taken: Sequence[str]) -> dict[str, _Places]:
    """Return the places by the field of which their words speak."""
    spoken: dict[str, _Places] = {field: {} for field in ("reference", *places.WORDS)}
    for path in _paths(rows):
        field = field_of(path)
        if field is None or path in taken:
            continue
        homes = [*spoken[field].values(), *spoken[CHUNKS].values()]
        if field == "answer":  # no part of a response is the gold answer
            homes += spoken["response"].values()
        if any(path.startswith((f"{home}.", f"{home}[")) for home in homes):
            continue
        texts = _texts(rows, path, field)
        if texts:
            spoken[field].setdefault(texts, path)
    return spoken


def _lists(rows: Sequence[Mapping[str, Any]]) -> _Places:
    """Return the lists of chunks, numbered columns too, but under names of something else."""
    found: _Places = {}
    numbered = [path for path in _paths(rows) if "," in path and field_of(path) is None]
    for path in (*inner_paths(rows[0], by_number=True), *numbered):
        is_other = OTHER_LISTS.intersection(words_in(path))
        texts = () if is_other else _texts(rows, path, CHUNKS)
        if texts and not is_one_text(value_at(rows[0], path)):
            found.setdefault(texts, path)
    return found


def _paths(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths in the first rows, in order. Numbered columns are one."""
    columns: dict[str, dict[str, None]] = {}
    for row in rows:
        for path in without_gold(inner_paths(row)):
            stem = path if "." in path else re.sub(r"\d+", "#", path)
            columns.setdefault({"negative": "positive"}.get(path, stem), {})[path] = None
    return [*map(",".join, columns.values())]


def _texts(rows: Sequence[Mapping[str, Any]], path: str, field: str) -> tuple[str, ...]:
    """What a path holds in the rows, as a field's texts; nothing if it is no place of such."""
    texts: list[str] = []
    for row in rows:
        with suppress(InputError, RecursionError):
            texts.append(_text(value_at(row, path), field))
    is_constant = len(texts) > 2 and len({*texts}) == 1
    return () if is_constant or not any(texts) else tuple(texts)


def _text(value: Any, field: str) -> str:
    """Return what a value holds as a field. Raises `InputError` if it can be none."""
    if field != CHUNKS:
        return text_of(value, "reference" if field == "answer" else field) or ""
    if is_one_text(value):
        text: str = value
        texts = [part.strip() for part in re.split(r"[|,;\n]", value)]
    else:
        texts = [*map(text_in, chunks_of(value))]
        text = "\n".join(texts)
    return text if any(map(is_prose, texts)) else ""
