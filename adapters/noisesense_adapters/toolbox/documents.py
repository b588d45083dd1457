"""JSON documents: read whole, with errors that name the place, and what may be in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from noisesense.errors import InputError


def read_json(path: Path) -> Any:
    """The document in a UTF-8 file. Raises `InputError`."""
    where = str(path)
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InputError("a readable file", got, where=where) from error
    except UnicodeDecodeError as error:
        got = f"the byte {error.object[error.start]:#04x} at position {error.start}"
        raise InputError("UTF-8 text", got, where=where, hint="save it as UTF-8") from None
    except json.JSONDecodeError as error:
        got = f"{error.msg} at line {error.lineno}, column {error.colno}"
        hint = "the file may be cut off; JSON lines need the ending .jsonl"
        raise InputError("a JSON document", got, where=where, hint=hint) from None
    except (RecursionError, ValueError) as error:  # absurdly deep, or a number of 5,000 digits
        raise InputError("a JSON document", str(error), where=where) from None


def as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []
