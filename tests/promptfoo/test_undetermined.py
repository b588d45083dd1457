"""What the judge did not say, where Promptfoo turns a result around or averages it: never a pass.

In the real ``promptfoo eval``, with open cells among the verdicts. `tests/unknown` has models that
withhold them, and `AdapterTests` looks at the plain ``python`` assertion.
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


OUTCOMES: dict[str, tuple[dict[str, Any], str, bool]] = {
    # By the irrelevant mode; and does not-python pass?
    "0": (_open(4, 0, 0), "scored", False),
    "1/4": (_open(3, 1, 0), "scored", True),
    "0 to 1/10": (_open(9, 0, 1), "undetermined", False),
    "2/4 to 3/4": (_open(1, 2, 1), "undetermined", False),
    "1/11 to 3/11": (_open(8, 1, 2), "undetermined", False),
    "0 to 1": (_open(0, 0, 2), "undetermined", False),
    "no claims": (_open(0, 0, 0), "undefined", False),
}
UNKNOWN = ("1/11 to 3/11", "0 to 1", "no claims")
PLACES = ("in a set", "inline", "misspelt", "a set with a threshold", "a test with a threshold")
INLINE = """
from noisesense_adapters.promptfoo import get_assert
return get_assert(output, {**context, 'config': {'mode': 'irrelevant'}})
"""


def _tests() -> list[dict[str, Any]]:
    plain = {"type": "python", "value": "file://noise.py", "config": {"mode": "irrelevant"}}
    inverted = {**plain, "type": "not-python"}
    both = [{"type": "contains", "value": "answer"}, plain]  # a mean of 1 and 0 would reach 0.5
    asserted: dict[str, Any] = {
        "in a set": [{"type": "assert-set", "assert": [inverted]}],
        "inline": [{"type": "not-python", "value": INLINE}],
        "misspelt": [{**inverted, "config": {"maxnoise": 1}}],
        "a set with a threshold": [{"type": "assert-set", "threshold": 0.5, "assert": both}],
        "a test with a threshold": both,
    }
    tests = [
        {"description": name, "vars": {"verdicts": given}, "assert": [inverted]}
        for name, (given, _, _) in OUTCOMES.items()
    ]
    for place in PLACES:
        limit = {"threshold": 0.5} if place == "a test with a threshold" else {}
        for name in UNKNOWN:
            given = {"description": f"{place}: {name}", "vars": {"verdicts": OUTCOMES[name][0]}}
            tests.append({**given, **limit, "assert": asserted[place]})
    return tests


@pytest.fixture(scope="session")
def withheld(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    folder = tmp_path_factory.mktemp("withheld")
    (folder / "noise.py").write_text(SHIM, encoding="utf-8")
    config = {"prompts": ["An answer."], "providers": ["echo"], "tests": _tests()}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return evaluate(commands, folder)


@pytest.mark.parametrize("name", OUTCOMES)
def test_not_python_passes_what_is_known_to_fail(withheld: Evaluation, name: str) -> None:
    _, status, passes = OUTCOMES[name]
    row = withheld.rows[name]
    # 0.118 inverts no result that is an object.
    assert row["success"] is (passes != (withheld.is_0_118 and status == "scored"))
    assert status == "scored" or status in row["error"]


@pytest.mark.parametrize("place", PLACES)
def test_what_has_no_number_passes_in_no_set_inline_or_under_a_threshold(
    withheld: Evaluation, place: str
) -> None:
    for name in UNKNOWN:
        row = withheld.rows[f"{place}: {name}"]
        assert row["success"] is False
        assert "noise_sensitivity_irrelevant" not in row["namedScores"]
        word = "maxNoise" if place == "misspelt" else OUTCOMES[name][1]
        assert word in json.dumps(row)
