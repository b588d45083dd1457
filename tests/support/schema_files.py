"""Writes the published schemas from the models: ``python -m support.schema_files`` in tests/.

They are files, not made on the fly, so that they are the same whatever pydantic is installed. A
test compares them with the models.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any, cast, get_args

from noisesense.verdicts import recording
from noisesense.verdicts.recording import SCHEMA_VERSION, RecordingLine, SchemaName
from noisesense.verdicts.sample import Chunk, Model, Sample
from noisesense.verdicts.verdicts import ReferenceClaim, ResponseClaim, Verdicts

_MODELS: dict[str, type[Model]] = {
    "verdicts": Verdicts,
    "sample": Sample,
    "recording": RecordingLine,
}
_PARTS: tuple[type[Model], ...] = (*_MODELS.values(), Chunk, ReferenceClaim, ResponseClaim)
_CHUNK = {"$ref": "#/$defs/Chunk"}


def generated(name: SchemaName) -> dict[str, Any]:
    """The schema as the models say it."""
    schema = _MODELS[name].model_json_schema()
    parts = {model.__name__: model for model in _PARTS}
    for title, definition in schema.get("$defs", {}).items():
        _describe(definition, parts[title])
    _describe(schema, _MODELS[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:noisesense:schema:{name}:{SCHEMA_VERSION}",
        **_with_plain_chunks(schema),
    }


def _with_plain_chunks(node: Any) -> Any:
    """A chunk may be a plain string. Saying so to pydantic breaks its versions up to 2.11.3."""
    if isinstance(node, dict):
        fields = cast("dict[str, Any]", node)
        if fields == _CHUNK:
            return {"anyOf": [{"type": "string"}, _CHUNK]}
        return {key: _with_plain_chunks(value) for key, value in fields.items()}
    if isinstance(node, list):
        return [_with_plain_chunks(value) for value in cast("list[object]", node)]
    return node


def _describe(schema: dict[str, Any], model: type[Model]) -> None:
    """The docstring's first line and its attributes, each where an editor shows it."""
    doc = inspect.cleandoc(model.__doc__ or "")  # Python 3.13 does so itself
    schema["description"] = _prose(doc.partition("\n\n")[0])
    _, _, attributes = doc.partition("Attributes:\n")
    attributes = attributes.partition("\n\n")[0]
    for name, text in re.findall(r"^ {4}(\w+): (.*?)(?=^ {4}\w|\Z)", attributes, re.M | re.S):
        schema["properties"][name]["description"] = _prose(text)
    for field in schema["properties"].values():
        field.pop("title", None)


def _prose(text: str) -> str:
    words = " ".join(text.split())
    return words.replace("``None``", "null").replace("`", "").rstrip()


def main() -> None:
    """Write all files."""
    folder = Path(recording.__file__).parent / "schemas"
    for name in get_args(SchemaName):
        text = json.dumps(generated(name), indent=2, ensure_ascii=False)
        (folder / f"{name}.v{SCHEMA_VERSION}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
