"""The rows of a ValidMind dataset as samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast

from noisesense.errors import InputError, describe, located
from noisesense_adapters.datasets.rows import BadRow, ColumnReader, Row, recognize
from noisesense_adapters.toolbox.given import Column, pick

pandas: Any = import_module("pandas")
_OPTIONAL = "user_input"


def dataset_rows(dataset: Any, columns: Mapping[str, Column]) -> list[Row | BadRow]:
    """Every row of the dataset, named by its index.

    ``user_input`` may be missing: no verdict depends on it. Raises `InputError` for anything but
    a dataset, without a readable row, or a column that is neither a name nor a function.
    """
    # Its public table leaves out the predictions of models.
    table = getattr(dataset, "_df", None)
    if table is None:
        hint = "vm.init_dataset(dataset=…)"
        raise InputError("a ValidMind dataset", type(dataset).__name__, where="dataset", hint=hint)
    for field, column in columns.items():
        if not isinstance(column, str) and not callable(column):
            expected = "a column's name, a dotted path or a function of the row"
            raise InputError(expected, describe(column), where=f"{field}_column")
    wanted = dict(columns)
    if wanted[_OPTIONAL] == _OPTIONAL and _OPTIONAL not in table.columns:
        del wanted[_OPTIONAL]
    rows = list(_read(dataset.input_id, table, wanted))
    if not rows:
        raise InputError("at least one row", "none", where=f"dataset {dataset.input_id!r}")
    first = rows[0]
    if isinstance(first, BadRow) and all(isinstance(row, BadRow) for row in rows):
        raise first.error
    return rows


def _read(name: str, table: Any, columns: Mapping[str, Column]) -> Iterator[Row | BadRow]:
    reader = recognize(columns, {})
    for label, cells in table.iterrows():
        place, label = f"dataset {name!r}, row {label}", str(label)
        try:
            yield _row(reader, cells, columns, place)._replace(id=label)
        except InputError as error:
            yield BadRow(place, label, error.within(place))


def _row(reader: ColumnReader, cells: Any, columns: Mapping[str, Column], place: str) -> Row:
    fields = cast("dict[str, Any]", cells.to_dict())
    values: dict[str, Any] = {}
    for field, column in columns.items():
        with located(f"{field}_column"):
            # A function gets the row as ValidMind gives it, a pandas Series.
            value = pick(cells if callable(column) else fields, column)
        values[field] = None if _is_missing(value) else value
    contexts: Any = values.get("retrieved_contexts")
    if isinstance(contexts, str) and not contexts.lstrip().startswith("["):
        raise InputError(
            "a list of texts",
            describe(contexts),
            where="retrieved_contexts_column",
            hint="one text is one context: retrieved_contexts_column=lambda row:"
            " [row['contexts']], or row['contexts'].split(…)",
        )
    return reader(values, place)


def _is_missing(value: Any) -> bool:
    """Is it the value of an empty cell in pandas?"""
    return bool(pandas.api.types.is_scalar(value) and pandas.isna(value))
