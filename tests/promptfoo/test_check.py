"""``noisesense promptfoo-check``: every fault is named, and the example has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError
from noisesense_adapters.promptfoo.check import check_config
from noisesense_adapters.promptfoo.init import write_example
from support.promptfoo_suite import SHIM

GIVEN = {"query": "q", "answer": "a", "reference": "r", "contextChunks": [{"text": "c"}] * 4}
JUDGE = {"judge": {"model": "m", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "JUDGE_KEY"}}


def _config(folder: Path, config: Any = JUDGE, options: Any = None, **given: Any) -> Path:
    (folder / "noise.py").write_text(SHIM, encoding="utf-8")
    test = {
        "description": "mine",
        "vars": {name: value for name, value in {**GIVEN, **given}.items() if value is not None},
        "options": options or {},
        "assert": [{"type": "python", "value": "file://noise.py", "config": config}],
    }
    path = folder / "config.json"
    document = {"prompts": ["{{answer}}"], "providers": ["echo", "echo"], "tests": [test]}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "k")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_the_example_is_sound(tmp_path: Path) -> None:
    write_example(tmp_path)
    checked = check_config(tmp_path / "promptfooconfig.yaml")
    assert checked == ([], 4, 0, True)


def test_calls_are_counted(tmp_path: Path) -> None:
    # Two providers, 4 chunks: 2 × (4 + 3).
    assert check_config(_config(tmp_path)) == ([], 2, 14, True)
    # The provider's chunks are not known yet.
    path = _config(tmp_path, {**JUDGE, "contextPath": "output.docs"}, contextChunks=None)
    assert check_config(path) == ([], 2, 0, False)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"contextChunks": [{"text": "{{ c | upper }}"}]}, "a text without templates"),
        ({"contextChunks": ["one", "two"]}, "of which Promptfoo makes a test each"),
        ({"reference": None}, "the correct answer as 'reference'"),
        ({"config": {**JUDGE, "maxNose": 0.3}}, "did you mean 'maxNoise'?"),
        ({"config": {**JUDGE, "maxNoise": 3}}, "maxNoise: expected a number from 0 to 1, got 3"),
        ({"config": {"verdicts": "nowhere.jsonl"}}, "No such file: nowhere.jsonl"),
        ({"config": {"judge": {"model": "m", "apiKeyEnv": "NOT_SET"}}}, "is not set"),
        ({"config": {}}, "verdicts, or a model to judge by"),
    ],
    ids=["template", "expansion", "field", "setting", "value", "recording", "key", "no judge"],
)
def test_each_fault_is_named(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    checked = check_config(_config(tmp_path, **changes))
    (problem,) = checked.problems
    assert problem.startswith("mine: ")
    assert says in problem


def test_a_config_without_our_assertion(tmp_path: Path) -> None:
    path = _config(tmp_path)
    (tmp_path / "noise.py").write_text("def get_assert(output, context): ...", encoding="utf-8")
    with pytest.raises(InputError, match="an assertion of ours, got none"):
        check_config(path)
    (tmp_path / "bad.yaml").write_text("tests: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.yaml: expected YAML, got an error at line"):
        check_config(tmp_path / "bad.yaml")
    with pytest.raises(InputError, match="a readable config"):
        check_config(tmp_path / "none.yaml")
