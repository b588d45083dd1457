"""The rows of tables: read by the names of their columns, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import as_name
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.reading.chunks import IDS
from noisesense_adapters.reading.paths import Column, MissingError, picked
from noisesense_adapters.reading.places import FIELDS, FILE
from noisesense_adapters.reading.propose import Proposal, propose
from noisesense_adapters.reading.row import CHUNKS, EXPECTED, Reader, Reading
from noisesense_adapters.reading.texts import DifferentError
from noisesense_adapters.reading.values import as_object, is_empty

GROUP = "group"
MAPPED = (*FIELDS, IDS, "chunk_labels", EXPECTED, "verdicts", "id", "cluster", GROUP)
"""The fields that columns can be mapped to.

``retrieved_context_ids`` are the names of the contexts' documents.
``relevant_contexts`` are the contexts that should be retrieved: a chunk is labeled relevant if it
is one of them, holds one or stands in one, and irrelevant if not. ``group`` is what rows with one
chunk each have in common: they become one.
"""

_HINT = "name the column: --map {field}=COLUMN, in Python columns="
_FIRST_ROWS = 20


class UnsettledError(InputError):
    """Names do not settle where a field stands. ``proposal`` is what could be meant."""

    proposal: Proposal

    @classmethod
    def of(cls, error: InputError, proposal: Proposal) -> UnsettledError:
        """The error of a row, with the options that the proposal would be taken by."""
        hint = error.hint
        if proposal.is_whole:
            hint = f"is it {' '.join(proposal.options)}? --guess takes that, in Python guess=True"
        unsettled = cls(error.expected, error.got, where=error.where, hint=hint)
        unsettled.proposal = proposal
        return unsettled


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
        self._group = self.columns.get(GROUP)
        chosen = {name: column for name, column in self.columns.items() if name != GROUP}
        if isinstance(self._group, str) and isinstance(chosen.get(CHUNKS), str):
            chosen[CHUNKS] = f"{chosen[CHUNKS]},"  # a cell is a chunk
        self._reader = Reader(places, chosen, hint=_HINT, separator=separator)

    def rows(self, raws: Iterator[Raw], path: Path, *, guess: bool) -> Iterator[Row | BadRow]:
        """The rows.

        Raises:
            UnsettledError: names do not settle where a field stands.
            InputError: the user's columns are wrong in all of the first rows.
        """
        first = list(islice(raws, _FIRST_ROWS))
        objects = [as_object(raw.data) for raw in first if isinstance(raw.data, dict)]
        readings = [self._reader.read(row) for row in objects]
        error = self._unsettled(readings)
        if error is not None:
            placed = error.within(str(path))
            places = {} if not readings else readings[0].places
            proposal = propose(objects, self.columns, places)
            if not (guess and proposal.is_whole):
                raise UnsettledError.of(placed, proposal)
            table = Table(
                {**self.columns, **proposal.columns},
                proposal.separator,
                verdicts=self._verdicts,
            )
            return table.rows(chain(first, raws), path, guess=False)
        return self._all(first, readings, raws)

    def _unsettled(self, readings: Sequence[Reading]) -> InputError | None:
        """Why nothing may be judged yet: two places differ, or no row has a field."""
        every: list[InputError] = []
        for reading in readings:
            errors = list(reading.errors.values())
            for error in errors:
                if isinstance(error, DifferentError):
                    return error
            if not errors:
                return None
            every.append(_first_error(reading))
        return every[0] if every else None

    def _all(
        self, first: Sequence[Raw], readings: Sequence[Reading], raws: Iterable[Raw]
    ) -> Iterator[Row | BadRow]:
        ready = iter(readings)
        known = [(raw, next(ready) if isinstance(raw.data, dict) else None) for raw in first]
        read = chain(known, ((raw, None) for raw in raws))
        if self._group is None:
            for raw, reading in read:
                yield self._row(raw, reading)
            return
        for key, members in groupby(read, key=lambda pair: self._key(pair[0])):
            group = list(members)
            place = group[0][0].place
            if isinstance(key, InputError):
                yield BadRow(place, place, key.within(place))
                continue
            try:
                parts = [reading or self._reading(raw) for raw, reading in group]
                yield _row(place, _merged(parts, key))
            except InputError as error:
                yield BadRow(place, key, error.within(place))

    def _key(self, raw: Raw) -> str | InputError:
        """The value that a row shares with others, or why it has none."""
        try:
            value = picked(object_of(raw), cast("Column", self._group), GROUP)
        except InputError as error:
            return error
        if is_empty(value) or not str(value).strip():  # such rows have nothing in common
            return InputError("a value in every row", describe(value), where=GROUP)
        return str(value)

    def _reading(self, raw: Raw) -> Reading:
        return self._reader.read(object_of(raw))

    def _row(self, raw: Raw, reading: Reading | None) -> Row | BadRow:
        """Read a row; a `BadRow` if it cannot be read."""
        row_id = raw.place
        try:
            reading = reading or self._reading(raw)
            row_id = _name(reading, "id") or row_id
            return _row(raw.place, reading)
        except InputError as error:
            return BadRow(raw.place, row_id, error.within(raw.place))
        except RecursionError:
            got = "one that is nested too deep"
            return BadRow(raw.place, row_id, InputError("a sample", got, where=raw.place))


def _first_error(reading: Reading) -> InputError:
    try:
        reading.check(*reading.errors)
    except InputError as error:
        return error
    raise AssertionError


def _row(place: str, reading: Reading) -> Row:
    """The row of a reading. Raises `InputError`."""
    reading.check(*reading.errors)
    sample = reading.sample
    name = _name(reading, "id") or sample.key
    return Row(place, name, _name(reading, "cluster"), sample, reading.verdicts)


def _name(reading: Reading, field: str) -> str | None:
    value = reading.values.get(field)
    return None if is_empty(value) else str(as_name(value))


def _merged(readings: Sequence[Reading], key: str) -> Reading:
    """One reading with the chunks of all. Raises `InputError` if they differ in a text."""
    values: dict[str, Any] = {"id": key, CHUNKS: []}
    errors: dict[str, InputError] = {}
    for reading in readings:
        values[CHUNKS] += reading.values[CHUNKS] or []
        for field, error in reading.errors.items():
            is_blank = isinstance(error, MissingError) and field != CHUNKS
            if not is_blank or len(readings) == 1:
                errors.setdefault(field, error)
    for field in ("response", "reference", "user_input", "verdicts", "cluster"):
        cells = [reading.values.get(field) for reading in readings]
        said = [cell for cell in cells if not is_empty(cell)]
        if len({*map(str, said)}) > 1:
            hint = "--map group= takes the column that only rows of one sample share"
            got = f"{len({*map(str, said)})} different"
            raise InputError("the same in all rows of a group", got, where=field, hint=hint)
        values[field] = said[0] if said else cells[0]
    return replace(readings[0], values=values, errors=errors)


def object_of(raw: Raw) -> dict[str, Any]:
    """The row as an object. Raises `InputError`: the row's own, or if it is something else."""
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        raise InputError("an object", describe(data))
    return cast("dict[str, Any]", data)
