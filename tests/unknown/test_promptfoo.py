"""Every way to withhold a verdict, through one ``promptfoo eval`` of the real Promptfoo."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noisesense.scoring.definitions import MODES
from support.promptfoo_cli import LATEST, Evaluation, evaluate, install, npm_cache
from support.promptfoo_suite import PROVIDER, SHIM
from support.server import ScriptedServer
from support.withholding import CASES, LIMIT, SOME, Case, mind, script, wrong_with

# Each is a Python process of its own: a sample that fails under every way, the others under some;
# of these a third each time.
MODE = "relevant"
FAILING = [case for case in CASES if case.table == "relevant"]
CHOSEN = FAILING + [case for case in CASES if case.table in ("clean", "at the limit")][1::9]
USUAL = [case for case in CHOSEN if case in SOME]
INVERTED = [FAILING[0], FAILING[3], FAILING[-1]]


def _test(case: Case, base_url: str, kind: str = "python") -> dict[str, Any]:
    config = {
        "mode": MODE,
        "maxNoise": LIMIT,
        "judge": {"model": "scripted", "baseUrl": base_url, "apiKeyEnv": "JUDGE_KEY"},
    }
    sample = case.sample
    return {
        "description": f"{kind}: {case.id}",
        "vars": {
            "query": sample.user_input,
            "answer": sample.response,
            "reference": sample.reference,
            "contextChunks": [{"text": chunk.text} for chunk in sample.retrieved_contexts],
        },
        "assert": [{"type": kind, "value": "file://noise.py", "config": config}],
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
        tests += [_test(case, server.base_url, "not-python") for case in INVERTED]
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
        graded, row = evaluation.only(f"python: {case.id}"), evaluation.rows[f"python: {case.id}"]
        named = row["gradingResult"].get("namedScores") or {}
        for mode, figure in zip(MODES, graded.figures, strict=True):
            gated = mode == MODE
            wrong += wrong_with(
                case,
                mode,
                number=figure,
                passed=graded.result["pass"] if gated else None,
                words=graded.reason if gated else None,
            )
            assert named.get(f"noise_sensitivity_{mode}") == figure
            if gated:
                expected = case.expected(mode)
                robust = graded.result["score"]
                assert row["success"] is graded.result["pass"]
                # Never more robust than the truth; not at all where nothing is known or passed.
                assert robust <= 1 - expected.truth + 1e-12
                if expected.value is not None:
                    assert robust == pytest.approx(1 - expected.value)
                elif not expected.passes:
                    assert robust == 0
        assert not set(named) - {f"noise_sensitivity_{mode}" for mode in MODES}
    assert wrong == ""


def test_not_python_turns_nothing_unknown_into_a_pass(evaluation: Evaluation) -> None:
    assert {case.expected(MODE).value for case in INVERTED} == {None, 0.5}
    for case in INVERTED:
        row, expected = evaluation.rows[f"not-python: {case.id}"], case.expected(MODE)
        if expected.value is None:
            assert not row["success"], case.id
            told = f"{row.get('error')} {row['gradingResult']['reason']}"
            assert wrong_with(case, MODE, words=told) == ""
        else:
            assert row["success"] is (expected.value > LIMIT)
