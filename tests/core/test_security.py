"""The security page: its tests are there, and what it says of the code as a whole."""

from __future__ import annotations

import ast
import asyncio
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from noisesense import VerdictStore, read_results, summarize
from noisesense.fixtures import reference_examples
from noisesense.verdicts.recording import write_recording
from noisesense_adapters.datasets import score_dataset

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "core/noisesense/SECURITY.md"
PRODUCT = [path for folder in ("core", "adapters") for path in (ROOT / folder).rglob("*.py")]


def test_every_claim_of_the_page_names_tests_that_are_there() -> None:
    claims = [c for part in PAGE.read_text("utf-8").split("\n## ") for c in part.split("\n- ")[1:]]
    assert len(claims) > 20
    for claim in claims:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", claim)
        assert named, claim
        for file, name in named:
            text = (ROOT / file).read_text("utf-8")
            assert not name or re.search(rf"def {name}\(", text), f"{file}::{name}"


RUNS_CODE = {"eval", "exec", "compile", "__import__"}
LOADS_CODE = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "code", "runpy"}


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: path.name)
def test_no_module_calls_eval_or_imports_what_loads_code(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in RUNS_CODE, f"{path}:{node.lineno}"
        for name in imported_by(node):
            assert name.partition(".")[0] not in LOADS_CODE, f"{path}:{node.lineno}"


def imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def test_only_a_judge_goes_to_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    recording = tmp_path / "verdicts.jsonl"
    out = tmp_path / "results.jsonl"
    examples = reference_examples()
    write_recording(recording, [(each.sample, each.verdicts) for each in examples])
    score_dataset(recording, out=out)
    assert summarize(read_results(out)).samples == len(examples)
    with VerdictStore(tmp_path / "store.db") as store:
        assert asyncio.run(store.claim("a"))
