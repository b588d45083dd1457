"""The rows of tables: read by the names of their columns, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, groupby, islice, starmap
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import as_name
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.reading.chunks import IDS
from noisesense_adapters.reading.paths import Column, MissingError, UnclearError
from noisesense_adapters.reading.places import FIELDS, FILE
from noisesense_adapters.reading.propose import Proposal, propose
from noisesense_adapters.reading.row import CHUNKS, GROUP, Reader, Reading
from noisesense_adapters.reading.texts import DifferentError
from noisesense_adapters.reading.values import as_object, is_empty, is_list

MAPPED = (*FIELDS, IDS, "chunk_labels", "verdicts", "id", "cluster", GROUP)
"""The fields that columns can be mapped to.

``retrieved_context_ids`` are the names of the contexts' documents. ``group`` is what rows with
one chunk each have in common: they become one.
"""

_HINT = "name the column: --map {field}=COLUMN, in Python columns="
_FIRST_ROWS = 20

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
        self._columns = dict(columns)
        self._separator = separator
        self._verdicts = verdicts
        places = {**FILE, "id": "id", "cluster": "cluster"}
        if not verdicts:
            del places["verdicts"]
            self._columns.pop("verdicts", None)
        self._reader = Reader(
            places,
            self._columns,
            hint=_HINT,
            separator=separator,
            one_chunk=GROUP in columns,
        )

    def rows(self, raws: Iterator[Raw], path: Path, *, guess: bool) -> Iterator[Row | BadRow]:
        """Return the rows.

        Raises:
            UnsettledError: names do not settle where a field stands.
            InputError: the separator is in none of the first rows.
        """
        first = list(islice(raws, _FIRST_ROWS))
        readings = [self._read(raw) for raw in first]
        error = self._mistaken(readings) or _unsettled(readings)
        if error is not None:
            objects = [as_object(raw.data) for raw in first]
            proposal = propose(objects, self._columns, self._separator)
            if guess and proposal.is_whole:
                columns = {**self._columns, **proposal.columns}
                table = Table(columns, proposal.separator, verdicts=self._verdicts)
                return table.rows(chain(first, raws), path, guess=False)
            if proposal.is_whole or isinstance(error, UnclearError):
                raise _asking(error, proposal, path)
        self._check_split(path)
        known = zip(first, readings, strict=True)
        read = chain(known, ((raw, self._read(raw)) for raw in raws))
        return _merged(read) if GROUP in self._columns else starmap(_row, read)

    def _mistaken(self, readings: Sequence[Reading | InputError]) -> InputError | None:
        """Return the error of a user's column that none of the rows has."""
        objects = [reading for reading in readings if isinstance(reading, Reading)]
        for field in self._columns:
            errors = [_missing(reading, field) for reading in objects]
            if errors and None not in errors:
                return errors[0]
        return None

    def _check_split(self, path: Path) -> None:
        """Raise `InputError` if the separator was in no cell: each would be one chunk."""
        if self._separator is not None and not self._reader.has_split:
            expected = f"{self._separator!r} in some cell of contexts"
            hint = "what is between two contexts?"
            where = f"{path}, split_contexts"
            raise InputError(expected, "none in the first rows", where=where, hint=hint)

    def _read(self, raw: Raw) -> Reading | InputError:
        """Return what a row holds, or why it cannot be read at all."""
        try:
            return self._reader.read(object_of(raw))
        except InputError as error:
            return error
        except RecursionError:
            return InputError("a sample", "one that is nested too deep")


def _missing(reading: Reading, field: str) -> MissingError | None:
    """Return the error that nothing stands at the field's column; None if something does."""
    for error in reading.errors.values():
        if isinstance(error, MissingError) and error.where == field:
            return error
    return None


def _merged(read: Iterable[_Read]) -> Iterator[Row | BadRow]:
    """Yield the rows of which those that follow each other and share a value are one."""
    for key, members in groupby(read, key=_key):
        raws, readings = zip(*members, strict=True)
        merged = reduce(_joined, readings)
        if isinstance(merged, Reading) and isinstance(key, str):
            merged.values["id"] = key
        yield _row(raws[0], merged)


def _key(read: _Read) -> object:
    """Return what a row shares with others; where it has nothing, what equals only itself."""
    reading = read[1]
    value = reading.values.get(GROUP) if isinstance(reading, Reading) else None
    if not is_empty(value) and str(value).strip():
        return str(value)
    if isinstance(reading, Reading):
        error = InputError("a value in every row", describe(value), where=GROUP)
        reading.errors.setdefault(GROUP, error)
    return object()


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


def _asking(error: InputError, proposal: Proposal, path: Path) -> UnsettledError:
    """Return the error that asks which columns are meant."""
    hint = error.hint
    if proposal.is_whole and "did you mean" not in hint:
        hint = proposal.hint
    where = f"{path}, {error.where}"
    unsettled = UnsettledError(error.expected, error.got, where=where, hint=hint)
    unsettled.proposal = proposal
    return unsettled


def _row(raw: Raw, reading: Reading | InputError) -> Row | BadRow:
    """Return the row of a reading; a `BadRow` if it cannot be read."""
    if isinstance(reading, InputError):
        return BadRow.of(raw, reading)
    name = _name(reading, "id")
    try:
        reading.check(*reading.errors)
        sample = reading.sample
        cluster = _name(reading, "cluster")
        return Row(raw.place, name or sample.key, cluster, sample, reading.verdicts)
    except InputError as error:
        return BadRow.of(raw, error, name)


def _name(reading: Reading, field: str) -> str | None:
    value = reading.values.get(field)
    return None if is_empty(value) else str(as_name(value))


def _joined(reading: Reading | InputError, other: Reading | InputError) -> Reading | InputError:
    """Return one reading with the chunks of two rows of a sample, or why they cannot be one."""
    if isinstance(reading, InputError):
        return reading
    if isinstance(other, InputError):
        return other
    if CHUNKS in other.errors:
        return other
    for field in ("response", "reference", "user_input", "verdicts", "cluster"):
        if str(reading.values.get(field)) != str(other.values.get(field)):
            hint = "--map group= takes the column that only rows of one sample share"
            return InputError("the same in all rows of a group", "another", where=field, hint=hint)
    chunks = [*(reading.values[CHUNKS] or ()), *other.values[CHUNKS]]
    return Reading({**reading.values, CHUNKS: chunks}, reading.places, reading.errors)


def object_of(raw: Raw) -> dict[str, Any]:
    """The row as an object. Raises `InputError`: the row's own, or if it is something else."""
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        hint = "a document with all rows needs the ending .json" if is_list(data) else ""
        raise InputError("an object", describe(data), hint=hint)
    return cast("dict[str, Any]", data)
