"""The rows of tables: read by the names of their columns, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, starmap
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import as_name
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.reading.chunks import IDS
from noisesense_adapters.reading.paths import Column, UnclearError, picked
from noisesense_adapters.reading.places import FIELDS, FILE
from noisesense_adapters.reading.propose import Proposal, is_graded, propose
from noisesense_adapters.reading.row import CHUNKS, EXPECTED, GROUP, Reader, Reading
from noisesense_adapters.reading.texts import DifferentError
from noisesense_adapters.reading.values import as_object, is_empty, is_list

MAPPED = (*FIELDS, IDS, "chunk_labels", EXPECTED, "verdicts", "id", "cluster", GROUP)
"""The fields that columns can be mapped to.

``retrieved_context_ids`` are the names of the contexts' documents.
``relevant_contexts`` are the contexts that should be retrieved: a chunk is labeled relevant if it
is one of them, holds one or stands in one, and irrelevant if not. ``group`` is what rows with one
chunk each have in common: they become one.
"""

_HINT = "name the column: --map {field}=COLUMN, in Python columns="
_FIRST_ROWS = 20
_MOST_WITHOUT = 10_000

_Read = tuple[Raw, "Reading | InputError"]


class UnsettledError(InputError):
    """Names do not settle where a field stands. ``proposal`` is what could be meant."""

    proposal: Proposal


class Table:
    """Reads the rows of a table.

    Args:
        columns: the user's columns.
        separator: between chunks in a cell that holds no list.
        verdicts: whether to read verdicts.
    """

    def __init__(
        self, columns: Mapping[str, Column], separator: str | None, *, verdicts: bool
    ) -> None:
        self.columns = dict(columns)
        self._separator = separator
        self._verdicts = verdicts
        places = {**FILE, "id": "id", "cluster": "cluster"}
        if not verdicts:
            del places["verdicts"]
            self.columns.pop("verdicts", None)
        chosen = dict(self.columns)
        self._group = chosen.pop(GROUP, None)
        self._reader = Reader(
            places,
            chosen,
            hint=_HINT,
            separator=separator,
            one_chunk=self._group is not None,
        )

    def rows(self, raws: Iterator[Raw], path: Path, *, guess: bool) -> Iterator[Row | BadRow]:
        """Return the rows.

        Raises:
            UnsettledError: names do not settle where a field stands.
            InputError: the user's columns are wrong in all of the first rows, or the separator
                is in no cell.
        """
        first = list(islice(raws, _FIRST_ROWS))
        readings = [self._read(raw) for raw in first]
        error = _unsettled(readings)
        if error is not None:
            proposed = self._proposed(first, raws, path, error, guess=guess)
            if proposed is not None:
                return proposed
        if self._separator is not None and not self._reader.has_split:
            ahead = list(islice(raws, _MOST_WITHOUT))
            raws = chain(ahead, raws)
            self._check_separator(map(self._read, ahead), path)
        if self.columns:
            _check_not_all_bad(first, readings)
        known = zip(first, readings, strict=True)
        read = chain(known, ((raw, self._read(raw)) for raw in raws))
        if self._group is None:
            return starmap(_row, read)
        _check_not_all_bad(first, [*map(self._key, first)])
        return self._merged(read)

    def _proposed(
        self,
        first: Sequence[Raw],
        raws: Iterable[Raw],
        path: Path,
        error: InputError,
        *,
        guess: bool,
    ) -> Iterator[Row | BadRow] | None:
        """Return the rows by the proposed columns, if guessed; else raise `UnsettledError`.

        None where names are clear and nothing else can be proposed: the rows are bad.
        """
        rows = [as_object(raw.data) for raw in first if as_object(raw.data)]
        if not rows:
            raise error.within(str(path))
        settled = self._reader.read(rows[0]).places
        proposal = propose(rows, self.columns, settled, self._separator)
        if guess and proposal.is_whole:
            columns = {**self.columns, **proposal.columns}
            table = Table(columns, proposal.separator, verdicts=self._verdicts)
            return table.rows(chain(first, raws), path, guess=False)
        if not proposal.is_whole and not isinstance(error, UnclearError):
            return None
        hint = error.hint if "did you mean" in error.hint else proposal.hint(error)
        if is_graded(rows):
            hint = "Promptfoo's table grades its answers: promptfoo eval -o out.json has them"
        where = f"{path}, {error.where}"
        unsettled = UnsettledError(error.expected, error.got, where=where, hint=hint)
        unsettled.proposal = proposal
        raise unsettled

    def _read(self, raw: Raw) -> Reading | InputError:
        """Return what a row holds, or why it cannot be read at all."""
        try:
            return self._reader.read(object_of(raw))
        except InputError as error:
            return error
        except RecursionError:
            return InputError("a sample", "one that is nested too deep")

    def _check_separator(self, ahead: Iterable[object], path: Path) -> None:
        """Raise `InputError` if the separator is in none of the rows ahead."""
        for _ in ahead:
            if self._reader.has_split:
                return
        expected = f"{self._separator!r} in some cell of contexts"
        hint = "what is between two contexts?"
        where = f"{path}, split_contexts"
        raise InputError(expected, "none in the first rows", where=where, hint=hint)

    def _merged(self, read: Iterable[_Read]) -> Iterator[Row | BadRow]:
        """Yield the rows of which those that follow each other and share a value are one."""
        for key, members in groupby(read, key=lambda pair: self._key(pair[0])):
            group = list(members)
            raw = group[0][0]
            reading: Reading | InputError = (
                key if isinstance(key, InputError) else _of_group(group, key)
            )
            yield _row(raw, reading)

    def _key(self, raw: Raw) -> str | InputError:
        """Return the value that a row shares with others, or why it has none.

        An error equals only itself, so that each row without a value stays alone.
        """
        try:
            value = picked(object_of(raw), cast("Column", self._group), GROUP)
        except InputError as error:
            return error
        if is_empty(value) or not str(value).strip():  # such rows have nothing in common
            return InputError("a value in every row", describe(value), where=GROUP)
        return str(value)


def _unsettled(readings: Sequence[Reading | InputError]) -> InputError | None:
    """Why nothing may be judged yet: two places differ in some row, or no row has all texts.

    A row in which nothing was retrieved settles nothing: any empty cell reads so.
    """
    unclear: list[InputError] = []
    broken = 0
    for reading in readings:
        if isinstance(reading, InputError):
            broken += 1
            continue
        for error in reading.errors.values():
            if isinstance(error, DifferentError):
                return error
        problem = reading.error(*FIELDS)
        if problem is not None:
            unclear.append(problem)
        elif reading.values[CHUNKS]:
            return None
    return unclear[0] if len(unclear) > broken else None


def _check_not_all_bad(
    first: Sequence[Raw], readings: Sequence[Reading | InputError | str]
) -> None:
    """Raise the first row's error if all rows are bad: the user's columns are wrong."""
    errors = [row.error(*row.errors) if isinstance(row, Reading) else row for row in readings]
    if errors and all(isinstance(error, InputError) for error in errors):
        raise cast("InputError", errors[0]).within(first[0].place)


def _row(raw: Raw, reading: Reading | InputError) -> Row | BadRow:
    """Return the row of a reading; a `BadRow` if it cannot be read."""
    place = raw.place
    if isinstance(reading, InputError):
        name = None if is_empty(as_object(raw.data).get("id")) else str(raw.data["id"])
        return BadRow(place, name or place, reading.within(place))
    name = _name(reading, "id")
    try:
        reading.check(*reading.errors)
        sample = reading.sample
        cluster = _name(reading, "cluster")
        return Row(place, name or sample.key, cluster, sample, reading.verdicts)
    except InputError as error:
        return BadRow(place, name or place, error.within(place))


def _name(reading: Reading, field: str) -> str | None:
    value = reading.values.get(field)
    return None if is_empty(value) else str(as_name(value))


def _of_group(group: Sequence[_Read], key: str) -> Reading | InputError:
    """Return one reading with the chunks of all, or why they cannot be one."""
    readings: list[Reading] = []
    chunks: list[Any] = []
    for _, reading in group:
        if isinstance(reading, InputError):
            return reading
        if CHUNKS in reading.errors:
            return reading if len(group) == 1 else reading.errors[CHUNKS]
        readings.append(reading)
        chunks += reading.values[CHUNKS]
    values: dict[str, Any] = {"id": key, CHUNKS: chunks}
    errors: dict[str, InputError] = {}
    for field in ("response", "reference", "user_input", "verdicts", "cluster"):
        said = _said(readings, field)
        if len({*map(str, said)}) > 1:
            hint = "--map group= takes the column that only rows of one sample share"
            got = f"{len({*map(str, said)})} different"
            return InputError("the same in all rows of a group", got, where=field, hint=hint)
        values[field] = next(iter(said), readings[0].values.get(field))
        if not said and field in readings[0].errors:
            errors[field] = readings[0].errors[field]
    return Reading(values, readings[0].places, errors)


def _said(readings: Iterable[Reading], field: str) -> list[Any]:
    """Return what rows hold in a field, without empty cells: spreadsheets merge equal ones."""
    cells = [reading.values.get(field) for reading in readings]
    return [cell for cell in cells if not is_empty(cell)]


def object_of(raw: Raw) -> dict[str, Any]:
    """The row as an object. Raises `InputError`: the row's own, or if it is something else."""
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        hint = "a document with all rows needs the ending .json" if is_list(data) else ""
        raise InputError("an object", describe(data), hint=hint)
    return cast("dict[str, Any]", data)
