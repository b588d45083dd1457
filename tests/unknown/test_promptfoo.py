"""Every way to withhold a verdict, through one ``promptfoo eval`` of the real Promptfoo.

What ``not-python`` makes of them: ``tests/promptfoo/test_undetermined.py``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from noisesense.scoring.definitions import MODES
from support.npm import npm_cache
from support.promptfoo_cli import LATEST, Evaluation, evaluate, install
from support.promptfoo_suite import PROVIDER, SHIM
from support.server import ScriptedServer
from support.withholding import CASES, LIMIT, SOME, Case, mind, script, wrong_with

# Each is a Python process of its own: a sample that fails under every way, the others under some;
# of these a third each time.
MODE = "relevant"
FAILING = [case for case in CASES if case.table == "relevant"]
CHOSEN = FAILING + [case for case in CASES if case.table in ("clean", "at the limit")][1::9]
USUAL = [case for case in CHOSEN if case in SOME]


def _test(case: Case, base_url: str) -> dict[str, Any]:
    judge = {"model": "scripted", "baseUrl": base_url, "apiKeyEnv": "JUDGE_KEY"}
    config = {"mode": MODE, "maxNoise": LIMIT, "judge": judge}
    sample = case.sample
    return {
        "description": case.id,
        "vars": {
            "query": sample.user_input,
            "answer": sample.response,
            "reference": sample.reference,
            "contextChunks": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
        },
        "assert": [{"type": "python", "value": "file://noise.py", "config": config}],
    }


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[Case]:
    broad = any(item.get_closest_marker("broad") for item in request.session.items)
    return CHOSEN if broad else USUAL


@pytest.fixture(scope="module")
def evaluation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, chosen: list[Case]
) -> Evaluation:
    commands = install(LATEST, npm_cache(request.config))
    folder = tmp_path_factory.mktemp("withheld")
    (folder / "noise.py").write_text(SHIM, encoding="utf-8")
    (folder / "provider.cjs").write_text(PROVIDER, encoding="utf-8")
    with ScriptedServer(mind(), script=script) as server:
        tests = [_test(case, server.base_url) for case in chosen]
        config = {
            "prompts": ["{{answer}}"],
            "providers": [{"id": "file://provider.cjs", "config": {}}],
            "defaultTest": {"options": {"disableVarExpansion": True}},
            "tests": tests,
        }
        (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
        return evaluate(commands, folder, env={"JUDGE_KEY": "k"}, seconds=600)


def test_what_is_shown(evaluation: Evaluation, chosen: list[Case]) -> None:
    wrong = ""
    for case in chosen:
        graded = evaluation.only(case.id)
        row = evaluation.rows[case.id]
        named = row["gradingResult"].get("namedScores") or {}
        for mode, figure in zip(MODES, graded.figures, strict=True):
            shown: Any = {"passed": graded.result["pass"], "words": graded.reason}
            wrong += wrong_with(case, mode, number=figure, **(shown if mode == MODE else {}))
            assert named.get(f"noise_sensitivity_{mode}") == figure
        assert not set(named) - {f"noise_sensitivity_{mode}" for mode in MODES}
        expected = case.expected(MODE)
        robust = graded.result["score"]
        assert row["success"] is graded.result["pass"]
        # Never more robust than the truth; not at all where nothing is known or passed.
        assert robust <= 1 - expected.truth + 1e-12
        if expected.value is not None:
            assert robust == pytest.approx(1 - expected.value)
        elif not expected.passes:
            assert robust == 0
    assert wrong == ""
