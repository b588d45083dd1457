"""The rows of tables: read by the names of their columns, or as the user says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.verdicts.form import as_name
from noisesense_adapters.datasets.files import Raw
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.reading.chunks import IDS, label_of
from noisesense_adapters.reading.paths import Column, UnclearError
from noisesense_adapters.reading.places import FIELDS, FILE
from noisesense_adapters.reading.propose import Proposal, propose
from noisesense_adapters.reading.row import CHUNKS, Reader, Reading
from noisesense_adapters.reading.texts import DifferentError
from noisesense_adapters.reading.values import as_object, is_list

MAPPED = (*FIELDS, IDS, "chunk_labels", "verdicts", "id", "cluster")
"""The fields that columns can be mapped to.

``retrieved_context_ids`` are the names of the contexts' documents.
"""

_HINT = "name the column: --map {field}=COLUMN, in Python columns="
_FIRST_ROWS = 20


class UnsettledError(InputError):
    """Names do not settle where a field stands. ``proposal`` is what could be meant."""

    proposal: Proposal

    @classmethod
    def of(cls, error: InputError, proposal: Proposal) -> UnsettledError:
        """Return the error with a proposal, whose hint it takes if the proposal is whole.

        A hint that names a column that may be meant stays.
        """
        hint = error.hint
        if proposal.is_whole and "did you mean" not in hint:
            hint = proposal.hint
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
        self._columns = dict(columns)
        self._separator = separator
        self._verdicts = verdicts
        places = {**FILE, "id": "id", "cluster": "cluster"}
        if not verdicts:
            del places["verdicts"]
            self._columns.pop("verdicts", None)
        self._reader = Reader(places, self._columns, hint=_HINT, separator=separator)

    def rows(
        self, raws: Iterator[Raw], path: Path, on_note: Callable[[str], object], *, guess: bool
    ) -> Iterator[Row | BadRow]:
        """Return the rows, those that cannot be read too; notes say which columns are guessed.

        Raises:
            UnsettledError: names do not settle where a field stands, also where a guess lacks one.
            InputError: the separator is in none of the first rows.
        """
        first = list(islice(raws, _FIRST_ROWS))
        readings = [self._read(raw) for raw in first]
        objects = [reading for reading in readings if isinstance(reading, Reading)]
        error = _unsettled(objects, len(first), (*self._columns, *FIELDS))
        if error is not None:
            proposal = self._proposal(first, readings)
            table = self._guessed(proposal, on_note) if guess else None
            if table is not None:
                return table.rows(chain(first, raws), path, on_note, guess=False)
            if proposal.is_whole or isinstance(error, UnclearError):
                raise UnsettledError.of(error.within(str(path)), proposal)
        self._check_split(path)
        known = map(_row, first, readings)
        return chain(known, (_row(raw, self._read(raw)) for raw in raws))

    def _guessed(self, proposal: Proposal, on_note: Callable[[str], object]) -> Table | None:
        """Return the reader of the columns that are proposed, after a note; None if some lack."""
        if not proposal.is_whole:
            return None
        for line in ("note: these columns were guessed", *proposal.values):
            on_note(line)
        columns = {**self._columns, **proposal.columns}
        return Table(columns, proposal.separator, verdicts=self._verdicts)

    def _proposal(self, raws: Sequence[Raw], readings: Sequence[object]) -> Proposal:
        """Return what the rows that can be read may mean."""
        pairs = zip(raws, readings, strict=True)
        data = [as_object(raw.data) for raw, read in pairs if isinstance(read, Reading)]
        return propose(data, self._columns, self._separator)

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


def _unsettled(readings: Sequence[Reading], rows: int, fields: Iterable[str]) -> InputError | None:
    """Why nothing may be judged yet: two places differ in some row, or no row has all texts.

    A row in which nothing was retrieved settles nothing: any empty cell reads so.
    """
    unclear: list[InputError] = []
    for reading in readings:
        for error in reading.errors.values():
            if isinstance(error, DifferentError):
                return error
        problem = reading.error(*fields)
        if problem is not None:
            unclear.append(problem)
        elif reading.values[CHUNKS]:
            return None
    return unclear[0] if len(unclear) > rows - len(readings) else None


def _row(raw: Raw, reading: Reading | InputError) -> Row | BadRow:
    """Return the row of a reading; a `BadRow` if it cannot be read."""
    if isinstance(reading, InputError):
        return BadRow.of(raw, reading)
    name, cluster = (_name(reading.values.get(field)) for field in ("id", "cluster"))
    try:
        reading.check(*reading.errors)
        return Row(
            raw.place, name or reading.sample.key, cluster, reading.sample, reading.verdicts
        )
    except InputError as error:
        return BadRow.of(raw, error, name)


def _name(value: object) -> str | None:
    """Return an id or a cluster; None for what tables write where there is none."""
    return None if label_of(value) is None else str(as_name(value))


def object_of(raw: Raw) -> dict[str, Any]:
    """Return a row's data. Raises the `InputError` in their place, or one if they are no dict."""
    data: object = raw.data
    if isinstance(data, InputError):
        raise data
    if not isinstance(data, dict):
        rows = (
            "a row is an object, as pandas' orient='records' has it; all rows in one line: .json"
        )
        hint = rows if is_list(data) else ""
        raise InputError("an object", describe(data), hint=hint)
    return cast("dict[str, Any]", data)
