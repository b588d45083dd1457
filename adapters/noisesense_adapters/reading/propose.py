"""Propose which columns of a file hold what, where their names do not settle it.

Nothing is judged by a proposal: it is shown, as a command with the first value of each field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from shlex import quote
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe
from noisesense_adapters.reading import places
from noisesense_adapters.reading.chunks import chunks_of, fields_of
from noisesense_adapters.reading.paths import MissingError, inner_paths, parse, value_at
from noisesense_adapters.reading.row import CHUNKS, GROUP, Reader, without_gold
from noisesense_adapters.reading.texts import text_of
from noisesense_adapters.reading.values import is_one_text

_BARS = re.compile(r" ?\|+ ?")
"""What stands between chunks, and hardly in them."""
_MARKS = re.compile(r"[\n\t;§•¶#<>*]|--")
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
        if not isinstance(error, MissingError):
            return error.hint
        missing = [f"--map {field}=COLUMN" for field in places.FIELDS if field not in self.columns]
        named = " ".join([*missing, options]).rstrip()
        return f"name the column: {named}, in Python columns="

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
    are_told = True
    if cells and separator is None:
        separator, are_told = _set_for_texts(columns, rows, cells)
        options = [] if separator is None else ["--split-contexts", separator]
    options = [*_options(columns, chosen), *options]
    values, is_readable = _values(rows[0] if rows else {}, columns, separator)
    has_all = {"response", "reference", CHUNKS} <= columns.keys() | chosen.keys()
    is_whole = has_all and is_readable and are_told
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
) -> tuple[str | None, bool]:
    """Set what makes chunks of cells of text: a group, or a list of one.

    Returns:
        What stands between their chunks, and whether it can be told how chunks stand in them.
    """
    group = _group(rows, columns.get("user_input", ""), columns.get("response", ""))
    if group is None:
        return None, False
    if group:
        columns.setdefault(GROUP, group)
        return None, True
    bars = _bars(cells)
    if bars is not None:
        return bars, True
    columns[CHUNKS] += ","
    marked = [cell for cell in cells if _MARKS.search(cell)]
    return None, 2 * len(marked) < len(cells)


def _bars(cells: Sequence[str]) -> str | None:
    """Return the longest bars, if they are in half of the cells or more."""
    bars: list[list[str]] = [_BARS.findall(cell) for cell in cells]
    longest = max((bar.strip() for found in bars for bar in found), default="")
    split = [found for found in bars if longest in map(str.strip, found)]
    if 2 * len(split) < len(cells):
        return None
    return min((bar for found in split for bar in found if bar.strip() == longest), key=len)


def _columns(
    rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any], settled: Mapping[str, str]
) -> dict[str, str]:
    """The user's columns, and the only ones that their words speak of for the other fields."""
    columns = {field: path for field, path in chosen.items() if isinstance(path, str)}
    spoken = _spoken(rows, [*columns.values()])
    answer = spoken.pop("answer")
    if spoken["response"] and not spoken["reference"]:
        spoken["reference"] = _beside(answer, spoken["response"])
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


def _beside(answers: _Places, responses: _Places) -> _Places:
    """Return the answers that are no part of a response, and say something else."""
    homes = tuple(f"{path}." for path in responses.values())
    places: _Places = {}
    for texts, path in answers.items():
        if texts not in responses and not path.startswith(homes):
            places[texts] = path
    return places


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
            shortest = spoken[field].setdefault(texts, path)
            if len(parse(path)[0]) < len(parse(shortest)[0]):
                spoken[field][texts] = path
    return spoken


def _lists(rows: Sequence[Mapping[str, Any]]) -> _Places:
    """Return the lists of chunks, whatever their names are."""
    found: _Places = {}
    for path in islice(inner_paths(rows[0], by_number=True), _MOST_PATHS):
        if _speaks_of_others(path):
            continue
        texts = _texts(rows, path, CHUNKS)
        if texts and all(text[:1] in ("", "[") for text in texts):
            found.setdefault(texts, path)
    return found


def _speaks_of_others(path: str) -> bool:
    """Tell whether the words of a path speak of other lists: messages, or gold contexts."""
    said = {word for step in parse(path)[0] for word in _words_in(step.name)}
    gold = said & _GOLD
    are_gold = bool(gold - _REFERENCES) or bool(gold and said & _WORDS[CHUNKS])
    return are_gold or not said.isdisjoint(_OTHER_LISTS)


def _paths(rows: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    """Return the paths in the first rows, in order. Numbered columns are one."""
    paths: dict[str, None] = {}
    for row in rows:
        for path in without_gold(inner_paths(row)):
            stem = re.sub(r"(?<!\d)\d+$", "*", path)
            paths[path if "." in path or len(stem) < 2 else stem] = None
    both = dict.fromkeys(["positive,negative"] if {"positive", "negative"} <= paths.keys() else [])
    return both | paths


def _field_of(path: str) -> str | None:
    """Return the field of which the words of a path speak, the last ones first."""
    if path == "positive,negative":
        return CHUNKS
    names = ".".join(step.name for step in parse(path)[0]).split(".")
    steps = [_words_in(name) for name in names]
    if steps[-1] and steps[-1][-1] in places.NO_TEXTS.split():
        return None
    gold = [number for number, step in enumerate(steps) if not _GOLD.isdisjoint(step)]
    if not gold:
        return _spoken_first(steps)
    # What stands around a gold answer is only its home.
    spoken = _spoken_first(steps[gold[-1] :])
    return "reference" if spoken in (None, "response", "answer") else None


def _spoken_first(steps: Sequence[Sequence[str]]) -> str | None:
    """Return the field of which the last name speaks that speaks of any.

    Of a name the last word counts, but an answer that is said to be predicted is a response.
    """
    for step in reversed(steps):
        fields = [field for word in reversed(step) for field in _WORDS if word in _WORDS[field]]
        if fields:
            return min(fields, key="answer".__eq__)
    return None


_GOLD = {*places.GOLD.split()}
_REFERENCES = {"reference", "references"}  # some retrievers call chunks so
_OTHER_LISTS = {*places.OTHER_LISTS.split()}
_WORDS = {field: {*known.split()} for field, known in places.WORDS.items()}


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


def _group(rows: Sequence[Mapping[str, Any]], question: str, response: str) -> str | None:
    """Return the question's column where a row has one chunk of several, "" where it has all.

    None where questions come back, or are missing, so that it cannot be told.
    """
    if not any(question in row for row in rows):
        return ""
    texts = [(str(row.get(question) or ""), str(row.get(response))) for row in rows]
    samples = [sample for sample, _ in groupby(texts)]
    questions = {asked for asked, _ in samples if asked}
    if len(questions) < len(samples):
        return None
    return question if len(samples) < len(rows) else ""
