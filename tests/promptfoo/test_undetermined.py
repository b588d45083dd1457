"""What the judge did not say, in the real ``promptfoo eval``: never a pass, never a named score.

Each test of the config has one assertion, with open cells among its verdicts. `tests/unknown` has
models that withhold them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.promptfoo_cli import Evaluation, evaluate
from support.promptfoo_suite import SHIM, claims


def _open(correct: int, noisy: int, unknown: int) -> dict[str, Any]:
    """Verdicts: of the incorrect claims some come from irrelevant chunk 1, some perhaps."""
    verdicts = claims(correct, noisy + unknown)
    for claim in verdicts["response_claims"][correct + noisy :]:
        claim.update(entailed_by=[], undetermined=[1])
    return verdicts


GIVEN: dict[str, dict[str, Any]] = {
    "determined, clean": _open(4, 0, 0),
    "determined, noisy": _open(3, 1, 0),
    "every completion passes": _open(9, 0, 1),
    "no completion passes": _open(1, 2, 1),
    "undecided": _open(8, 1, 2),
    "nothing known": _open(0, 0, 2),
    "no claims": _open(0, 0, 0),
}
"""By the irrelevant mode: 0, 1/4, [0, 1/10], [2/4, 3/4], [1/11, 3/11], [0, 1] and undefined."""
UNKNOWN = ("nothing known", "no claims", "undecided")


def _test(name: str, kind: str, config: Any, *, given: Any) -> dict[str, Any]:
    return {
        "description": f"{name}, {kind}",
        "vars": {"answer": "An answer.", "verdicts": given},
        "assert": [{"type": kind, "value": "file://noise.py", "config": config}],
    }


def _tests() -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = []
    for kind in ("python", "not-python"):
        tests += [
            _test(name, kind, {"mode": "irrelevant"}, given=given) for name, given in GIVEN.items()
        ]
        tests.append(_test("bad config", kind, {"maxnoise": 1}, given=GIVEN["nothing known"]))
    for name in UNKNOWN:
        test = _test(f"in a set: {name}", "not-python", {"mode": "irrelevant"}, given=GIVEN[name])
        test["assert"] = [{"type": "assert-set", "assert": test["assert"]}]
        tests.append(test)
        inline = _test(f"inline: {name}", "not-python", None, given=GIVEN[name])
        inline["assert"][0].pop("config")
        inline["assert"][0]["value"] = (
            "from noisesense_adapters.promptfoo import get_assert\n"
            "return get_assert(output, {**context, 'config': {'mode': 'irrelevant'}})\n"
        )
        tests.append(inline)
    return tests


@pytest.fixture(scope="session")
def withheld(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    folder = tmp_path_factory.mktemp("withheld")
    (folder / "noise.py").write_text(SHIM, encoding="utf-8")
    config = {"prompts": ["{{answer}}"], "providers": ["echo"], "tests": _tests()}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return evaluate(commands, folder)


OUTCOMES: dict[str, tuple[Any, ...]] = {
    # passes, score, named score of the irrelevant mode, gate, status; does not-python pass?
    "determined, clean": (True, 1, 0, "pass", "scored", False),
    "determined, noisy": (False, 0.75, 0.25, "fail", "scored", True),
    "every completion passes": (True, 0.9, None, "pass", "undetermined", False),
    "no completion passes": (False, 0, None, "fail", "undetermined", False),
    "undecided": (False, 0, None, "undecided", "undetermined", False),
    "nothing known": (False, 0, None, "undecided", "undetermined", False),
    "no claims": (False, 0, None, "undefined", "undefined", False),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_gate_goes_by_the_bounds(withheld: Evaluation, name: str) -> None:
    passes, value, named, gate, status, inverted = OUTCOMES[name]
    graded, row = withheld.only(f"{name}, python"), withheld.rows[f"{name}, python"]
    assert (row["success"], graded.result["pass"]) == (passes, passes)
    assert graded.result["score"] == value
    assert row["namedScores"].get("noise_sensitivity_irrelevant") == named
    metadata = graded.result["metadata"]
    assert (metadata["gate"], metadata["status"]) == (gate, status)
    assert status == "scored" or status in graded.reason
    assert gate != "undecided" or "this says nothing of the answer" in graded.reason

    row = withheld.rows[f"{name}, not-python"]
    if withheld.is_0_118 and status == "scored":  # which inverts no result that is an object
        inverted = passes
    assert row["success"] is inverted
    assert status == "scored" or status in row["error"]


def test_not_python_makes_no_pass_of_a_wrong_config(withheld: Evaluation) -> None:
    for kind in ("python", "not-python"):
        row = withheld.rows[f"bad config, {kind}"]
        assert (row["success"], row["namedScores"]) == (False, {})
        assert "did you mean 'maxNoise'?" in row["error"]

    for place in ("in a set", "inline"):  # it is known wherever it stands
        for name in UNKNOWN:
            row = withheld.rows[f"{place}: {name}, not-python"]
            assert (row["success"], row["score"], row["namedScores"]) == (False, 0, {})
