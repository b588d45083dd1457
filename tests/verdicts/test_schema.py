"""The published JSON Schemas: stable files that say what is accepted, as far as they can."""

from __future__ import annotations

import json
from typing import Any, get_args

import jsonschema
import pytest

from noisesense import SCHEMA_VERSION, InputError, json_schema
from noisesense.verdicts.recording import SchemaName, recording_fields
from support.bad_inputs import BAD_INPUTS, BadInput
from support.schema_files import generated
from support.tables import Shape, random_pairs

NAMES: tuple[SchemaName, ...] = get_args(SchemaName)
VALIDATORS = {name: jsonschema.Draft202012Validator(json_schema(name)) for name in NAMES}

# What a schema cannot say: how numbers in one place and lists in another fit together, and that
# 1.0 is not meant where 1 is. The reader says it.
INEXPRESSIBLE = {
    "verdicts: position out of range",
    "verdicts: undetermined out of range",
    "verdicts: reference position out of range",
    "verdicts: entailed and undetermined",
    "verdicts: fewer chunks than positions",
    "verdicts: too many chunks",
    "verdicts: chunks in another order",
    "verdicts: position is a float",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_published_file_is_a_schema_and_what_the_models_say(name: SchemaName) -> None:
    """After a change of the models: ``python -m support.schema_files`` in tests/."""
    schema = json_schema(name)
    assert schema == generated(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:noisesense:schema:{name}:{SCHEMA_VERSION}"
    # An editor shows a description for the whole and no word of Python.
    assert schema["description"]
    assert "Raises" not in json.dumps(schema)
    assert "`" not in json.dumps(schema)


def test_verdicts_and_recordings_that_are_written_are_valid() -> None:
    for sample, judged in random_pairs(50, seed=60_000, shape=Shape((0, 5), (1, 4), (1, 5), 0.3)):
        VALIDATORS["verdicts"].validate(judged.model_dump(mode="json"))
        VALIDATORS["recording"].validate(recording_fields(sample, judged))


@pytest.mark.parametrize(
    "bad", [b for b in BAD_INPUTS if b.kind in ("sample", "verdicts")], ids=lambda bad: bad.name
)
def test_bad_inputs_are_invalid_where_a_schema_can_say_so(bad: BadInput) -> None:
    validator = VALIDATORS["sample" if bad.kind == "sample" else "verdicts"]
    data: Any = json.loads(json.dumps(bad.data))
    assert validator.is_valid(data) == (bad.name in INEXPRESSIBLE)


def test_an_unknown_schema_is_an_error_and_each_caller_gets_a_copy() -> None:
    with pytest.raises(InputError, match="schema: expected 'verdicts', 'sample' or 'recording'"):
        json_schema("claims")  # type: ignore[arg-type]
    json_schema()["properties"].clear()
    assert json_schema()["properties"]
