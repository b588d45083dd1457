"""``noisesense schema``: what it prints is a JSON Schema, and our own data fits it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from noisesense.fixtures import reference_examples
from support.command_here import run_here

Capsys = pytest.CaptureFixture[str]


def printed(capsys: Capsys, *arguments: str) -> dict[str, Any]:
    done = run_here(capsys, "schema", *arguments)
    assert done.status == 0, done.err
    schema: dict[str, Any] = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_verdicts_are_the_default_and_the_examples_fit(capsys: Capsys) -> None:
    schema = printed(capsys)
    assert schema == printed(capsys, "verdicts")
    validator = jsonschema.Draft202012Validator(schema)
    for example in reference_examples():
        validator.validate(example.verdicts.model_dump(mode="json"))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"response_claims": [{"text": "x", "correct": "yes"}]})


def test_samples_and_recordings(capsys: Capsys) -> None:
    sample = jsonschema.Draft202012Validator(printed(capsys, "sample"))
    line = jsonschema.Draft202012Validator(printed(capsys, "recording"))
    for example in reference_examples():
        texts = example.sample.model_dump(mode="json")
        sample.validate(texts)
        plain = [chunk["text"] for chunk in texts["retrieved_contexts"]]
        sample.validate({**texts, "retrieved_contexts": plain})
        line.validate({"sample": texts, "verdicts": example.verdicts.model_dump(mode="json")})


def test_an_unknown_schema(capsys: Capsys) -> None:
    done = run_here(capsys, "schema", "claims")
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("error: schema: expected ")
    assert done.err.endswith("'recording', got 'claims'\n")
