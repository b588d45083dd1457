"""The published JSON Schemas of the data form, versioned with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast, get_args

from noisesense.errors import InputError, describe

SCHEMA_VERSION = 1
"""Raised when a file that was valid would no longer be."""

SchemaName = Literal["verdicts", "sample", "recording"]


def json_schema(name: SchemaName = "verdicts") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of verdicts, of a sample or of a recording's line.

    What a schema cannot say (positions in range, no chunk both entailed and undetermined) is
    checked when the data is read.

    Raises:
        InputError: an unknown name.
    """
    return cast("dict[str, Any]", json.loads(schema_path(name).read_text(encoding="utf-8")))


def schema_path(name: SchemaName = "verdicts") -> Path:
    """The file that holds a schema, e.g. for an editor. Raises `InputError` as `json_schema`."""
    if name not in get_args(SchemaName):
        options = ", ".join(map(repr, get_args(SchemaName)))
        raise InputError(f"one of {options}", describe(name), where="schema")
    return Path(__file__).parent / "schemas" / f"{name}.v{SCHEMA_VERSION}.json"
