"""What the judge did not say, in the real ``promptfoo eval``: never a pass, never a named score.

Each test of the config has one assertion, with open cells among its verdicts. Models that withhold
are asked in this process; `tests/unknown` has them in Promptfoo.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import NoiseSenseError
from noisesense.fixtures import reference_examples
from noisesense_adapters.promptfoo import get_assert
from support import misbehavior as bad
from support.mind import Mind, data_of, items_of, reply_of
from support.misbehavior import Script, always, when
from support.promptfoo_cli import Evaluation, evaluate
from support.server import ScriptedServer

# Two claims; one is correct, the other is not, and irrelevant chunk 1 entails it: 0 and 0.5.
(EXAMPLE,) = (each for each in reference_examples() if each.id == "capital-of-france")
CHUNKS = {chunk.text for chunk in EXAMPLE.sample.retrieved_contexts} - {EXAMPLE.sample.reference}


def _asks_about_a_chunk(prompt: str) -> bool:
    data = data_of(prompt)
    return data.get("premise") in CHUNKS


def _asks_for_verdicts(prompt: str) -> bool:
    return "claims" in data_of(prompt)


def _only_yes(text: str) -> str:
    return reply_of([cell for cell in items_of(text) if cell["entailed"]])


def _only_no(text: str) -> str:
    return reply_of([cell for cell in items_of(text) if not cell["entailed"]])


WAYS: dict[str, tuple[Script, str, str]] = {
    "garbage about chunks": (when(_asks_about_a_chunk, bad.INVALID_JSON), "undetermined", ""),
    "refusals about chunks": (when(_asks_about_a_chunk, bad.REFUSAL), "undetermined", ""),
    "another schema about chunks": (
        when(_asks_about_a_chunk, bad.SCHEMA_VIOLATION), "undetermined", ""
    ),
    "empty about chunks": (when(_asks_about_a_chunk, bad.EMPTY), "undetermined", ""),
    "no verdict about chunks": (
        when(_asks_about_a_chunk, bad.says("{}")), "undetermined", ""
    ),
    "only yes": (
        when(_asks_for_verdicts, bad.mutated("only yes", _only_yes)), "undetermined", ""
    ),
    "only no about chunks": (
        when(_asks_about_a_chunk, bad.mutated("only no", _only_no)), "undetermined", ""
    ),
    "garbage about all verdicts": (
        when(_asks_for_verdicts, bad.INVALID_JSON), "undetermined", ""
    ),
    "garbage only": (always(bad.INVALID_JSON), "undetermined", "could not be computed"),
    "refusals only": (always(bad.REFUSAL), "undetermined", "could not be computed"),
    "errors about chunks": (when(_asks_about_a_chunk, bad.SERVER_ERROR), "error", "HTTP 500"),
    "errors only": (always(bad.SERVER_ERROR), "error", "HTTP 500"),
}  # fmt: skip
"""How a judge withholds: what its server does, the status, and what else the reason says."""


def _open(correct: int, noisy: int, unknown: int) -> dict[str, Any]:
    """Verdicts: of the incorrect claims some come from irrelevant chunk 1, some perhaps."""
    kinds = ["correct"] * correct + ["noisy"] * noisy + ["unknown"] * unknown
    return {
        "response_claims": [
            {
                "text": f"claim {i}",
                "correct": kind == "correct",
                "entailed_by": [1] if kind == "noisy" else [],
                "undetermined": [1] if kind == "unknown" else [],
            }
            for i, kind in enumerate(kinds)
        ],
        "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
    }


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


def _test(name: str, kind: str, config: Any, *, given: Any = None) -> dict[str, Any]:
    sample = EXAMPLE.sample
    chunks = [{"text": c.text, "relevant": c.relevant} for c in sample.retrieved_contexts]
    texts = {
        "query": sample.user_input,
        "reference": sample.reference,
        "contextChunks": chunks,
    }
    assertion = {"type": kind, "value": "file://noise.py", "config": config}
    return {
        "description": f"{name}, {kind}",
        "vars": {"answer": sample.response, **(texts if given is None else {"verdicts": given})},
        "assert": [assertion],
    }


def _judge(server: ScriptedServer) -> dict[str, Any]:
    return {"model": "scripted", "baseUrl": server.base_url, "maxRetries": 0, "maxReasks": 0}


def _tests() -> list[dict[str, Any]]:
    tests: list[dict[str, Any]] = []
    for kind in ("python", "not-python"):
        tests += [
            _test(name, kind, {"mode": "irrelevant"}, given=given) for name, given in GIVEN.items()
        ]
        tests.append(_test("bad config", kind, {"maxnoise": 1}, given=GIVEN["nothing known"]))
    tests += [
        _test(f"undetermined {choice}", "python",
              {"mode": "irrelevant", "undetermined": choice}, given=GIVEN["undecided"])
        for choice in ("low", "high")
    ]  # fmt: skip
    for name in ("nothing known", "no claims", "undecided"):
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
    shim = "from noisesense_adapters.promptfoo import get_assert\n"
    (folder / "noise.py").write_text(shim, encoding="utf-8")
    config = {"prompts": ["{{answer}}"], "providers": ["echo"], "tests": _tests()}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    return evaluate(commands, folder)


def _assess(way: str, kind: str) -> dict[str, Any]:
    """By one judge in this process, in the context that Promptfoo gives."""
    mind = Mind([(EXAMPLE.sample, EXAMPLE.verdicts)])
    with ScriptedServer(mind, script=WAYS[way][0]) as server:
        test = _test(way, kind, {"judge": _judge(server), "mode": "irrelevant"})
        context = {"vars": test["vars"], "config": test["assert"][0]["config"], "test": test}
        return get_assert(EXAMPLE.sample.response, context)


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_that_withholds_never_passes(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    _, status, says = WAYS[way]
    result = _assess(way, "python")

    assert (result["pass"], result["score"]) == (False, 0)
    assert result["metadata"]["status"] == status
    assert "undetermined" in result["reason"]
    assert says in result["reason"]
    # Of the relevant mode all is known in some ways, since what is wrong has no relevant chunk.
    assert result.get("namedScores", {}) in ({}, {"noise_sensitivity_relevant": 0})
    with pytest.raises(NoiseSenseError, match="undetermined") as caught:
        _assess(way, "not-python")
    assert says in str(caught.value)


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
    passes, value, named, gate, status, _ = OUTCOMES[name]
    graded, row = withheld.only(f"{name}, python"), withheld.rows[f"{name}, python"]

    assert (row["success"], graded.result["pass"]) == (passes, passes)
    assert graded.result["score"] == value
    assert row["namedScores"].get("noise_sensitivity_irrelevant") == named
    metadata = graded.result["metadata"]
    assert (metadata["gate"], metadata["status"]) == (gate, status)
    assert [word for word in (status,) if word != "scored" and word not in graded.reason] == []


def test_undecided_says_between_which_values(withheld: Evaluation) -> None:
    graded = withheld.only("undecided, python")

    assert graded.result["metadata"]["bounds"]["irrelevant"] == [1 / 11, 3 / 11]
    assert "is undetermined: it lies between 0.09091 and 0.2727" in graded.reason
    assert "Whether it is at most 0.2 is undecided." in graded.reason
    assert "this says nothing of the answer" in graded.reason
    told = graded.result["metadata"]["claims"]
    assert ["undetermined" in claim for claim in told[-2:]] == [True] * 2


@pytest.mark.parametrize("name", OUTCOMES)
def test_not_python_passes_only_what_is_certainly_above(withheld: Evaluation, name: str) -> None:
    row = withheld.rows[f"{name}, not-python"]
    status, passes = OUTCOMES[name][4:]

    if withheld.is_0_118 and status == "scored":  # which inverts no result that is an object
        passes = OUTCOMES[name][0]
    assert row["success"] is passes
    assert status == "scored" or status in row["error"]


def test_not_python_makes_no_pass_of_a_wrong_config(withheld: Evaluation) -> None:
    for kind in ("python", "not-python"):
        row = withheld.rows[f"bad config, {kind}"]
        assert (row["success"], row["namedScores"]) == (False, {})
        assert "did you mean 'maxNoise'?" in row["error"]


@pytest.mark.parametrize("name", ["nothing known", "no claims", "undecided"])
@pytest.mark.parametrize("place", ["in a set", "inline"])
def test_not_python_is_known_wherever_it_stands(
    withheld: Evaluation, place: str, name: str
) -> None:
    row = withheld.rows[f"{place}: {name}, not-python"]

    assert (row["success"], row["score"], row["namedScores"]) == (False, 0, {})


@pytest.mark.parametrize(("choice", "noise"), [("low", 1 / 11), ("high", 3 / 11)])
def test_a_choice_gives_a_named_score_and_no_pass(
    withheld: Evaluation, choice: str, noise: float
) -> None:
    """The score, which Promptfoo's own thresholds look at, is the one that is certain."""
    graded = withheld.only(f"undetermined {choice}, python")

    assert (graded.result["pass"], graded.result["score"]) == (False, 8 / 11)
    assert graded.result["namedScores"]["noise_sensitivity_irrelevant"] == noise
    assert graded.result["metadata"]["status"] == "undetermined"
    assert "it lies between 0.09091 and 0.2727" in graded.reason
    assert "is undecided" in graded.reason
