"""``noisesense schema`` and ``promptfoo-init``: what they write is what it says it is.

That Promptfoo runs the example is tested beside the assertion itself.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from noisesense.fixtures import reference_examples
from support.command_here import assert_error, run_here

Capsys = pytest.CaptureFixture[str]
FILES = {"promptfooconfig.yaml", "verdicts.jsonl", "noise_sensitivity.py"}


def test_the_examples_fit_the_schemas(capsys: Capsys) -> None:
    def printed(*arguments: str) -> jsonschema.Draft202012Validator:
        schema = json.loads(run_here(capsys, "schema", *arguments).out)
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    verdicts, sample, line = map(printed, ("verdicts", "sample", "recording"))
    assert printed().schema == verdicts.schema
    for example in reference_examples():
        known = example.verdicts.model_dump(mode="json")
        texts = example.sample.model_dump(mode="json")
        verdicts.validate(known)
        sample.validate(texts)
        line.validate({"sample": texts, "verdicts": known})
    assert not verdicts.is_valid({"response_claims": [{"text": "x", "correct": "yes"}]})
    assert_error(run_here(capsys, "schema", "claims"), ("schema: expected ",))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_example_says_how_it_is_run(tmp_path: Path, capsys: Capsys) -> None:
    folder = tmp_path / "my example"
    done = run_here(capsys, "promptfoo-init", folder)
    assert done.status == 0
    assert done.err == ""
    assert names(folder) == FILES
    said = (f"cd '{folder}'", f"export PROMPTFOO_PYTHON={sys.executable}", "npx promptfoo eval")
    assert [part for part in said if part not in done.out] == []


def test_overwrites_only_when_told(tmp_path: Path, capsys: Capsys) -> None:
    name = "verdicts.jsonl"
    (tmp_path / name).write_text("mine")
    refused = run_here(capsys, "promptfoo-init", tmp_path)
    assert refused.status == 2
    assert refused.out == ""
    assert names(tmp_path) == {name}
    assert refused.err.startswith(f"error: {tmp_path}: expected a folder without {name}")
    assert (tmp_path / name).read_text() == "mine"
    assert run_here(capsys, "promptfoo-init", tmp_path, "--force").status == 0
    assert (tmp_path / name).read_text() != "mine"
    nowhere = run_here(capsys, "promptfoo-init", tmp_path / name / "folder")
    assert nowhere.status == 2
    assert nowhere.err.count("\n") == 1
