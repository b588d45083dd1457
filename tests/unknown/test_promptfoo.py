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


def test_promptfoo_shows_and_passes_what_every_completion_does(
    evaluation: Evaluation, chosen: list[Case]
) -> None:
    wrong = ""
    for case in chosen:
        graded = evaluation.only(case.id)
        relevant, irrelevant = graded.figures
        passed = graded.result["pass"]
        wrong += wrong_with(case, MODE, number=relevant, passed=passed, words=graded.reason)
        wrong += wrong_with(case, "irrelevant", number=irrelevant)
        row = evaluation.rows[case.id]
        assert row["success"] is passed
        named = row["gradingResult"].get("namedScores") or {}
        figures = dict(zip(MODES, graded.figures, strict=True))
        known = {f"noise_sensitivity_{m}": each for m, each in figures.items() if each is not None}
        assert named == known
    assert wrong == ""


def test_no_robustness_is_above_the_truth(evaluation: Evaluation, chosen: list[Case]) -> None:
    """There is none where nothing is known or passed."""
    for case in chosen:
        expected = case.expected(MODE)
        robust = evaluation.only(case.id).result["score"]
        assert robust <= 1 - expected.truth + 1e-12
        if expected.value is not None:
            assert robust == pytest.approx(1 - expected.value)
        elif not expected.passes:
            assert robust == 0
