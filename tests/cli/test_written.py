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
from support.command_here import run_here

Capsys = pytest.CaptureFixture[str]
FILES = {"promptfooconfig.yaml", "verdicts.jsonl", "noise_sensitivity.py"}


def printed(capsys: Capsys, *arguments: str) -> jsonschema.Draft202012Validator:
    done = run_here(capsys, "schema", *arguments)
    assert done.status == 0, done.err
    schema = json.loads(done.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_examples_fit_the_schemas(capsys: Capsys) -> None:
    verdicts, sample, line = (
        printed(capsys),
        printed(capsys, "sample"),
        printed(capsys, "recording"),
    )
    for example in reference_examples():
        known = example.verdicts.model_dump(mode="json")
        verdicts.validate(known)
        texts = example.sample.model_dump(mode="json")
        sample.validate(texts)
        plain = [chunk["text"] for chunk in texts["retrieved_contexts"]]
        sample.validate({**texts, "retrieved_contexts": plain})
        line.validate({"sample": texts, "verdicts": known})
    with pytest.raises(jsonschema.ValidationError):
        verdicts.validate({"response_claims": [{"text": "x", "correct": "yes"}]})
    done = run_here(capsys, "schema", "claims")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: schema: expected ")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_example_says_how_it_is_run(tmp_path: Path, capsys: Capsys) -> None:
    folder = tmp_path / "my example"
    done = run_here(capsys, "promptfoo-init", folder)
    assert (done.status, done.err, names(folder)) == (0, "", FILES)
    wrote, _, rest = done.out.partition("\n\n")
    assert {*wrote.splitlines()} == {f"wrote {folder / name}" for name in FILES}
    assert [line.strip() for line in rest.splitlines()[2:]] == [
        f"cd '{folder}'",
        f"export PROMPTFOO_PYTHON={sys.executable}",
        "npx promptfoo eval",
    ]


def test_overwrites_only_when_told(tmp_path: Path, capsys: Capsys) -> None:
    name = "verdicts.jsonl"
    (tmp_path / name).write_text("mine")
    refused = run_here(capsys, "promptfoo-init", tmp_path)
    assert (refused.status, refused.out, names(tmp_path)) == (2, "", {name})
    assert refused.err.startswith(f"error: {tmp_path}: expected a folder without {name}")
    assert (tmp_path / name).read_text() == "mine"
    assert run_here(capsys, "promptfoo-init", tmp_path, "--force").status == 0
    assert (tmp_path / name).read_text() != "mine"
    nowhere = run_here(capsys, "promptfoo-init", tmp_path / name / "folder")
    assert (nowhere.status, nowhere.err.count("\n")) == (2, 1)
