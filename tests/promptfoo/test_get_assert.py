"""`get_assert` called as Promptfoo's wrapper calls it: what it reads and what it returns."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS, good_line
from support.promptfoo_suite import claims

# One correct claim; one incorrect that chunk 1 entails, which entails no reference claim.
GOOD = {
    "query": GOOD_SAMPLE["user_input"],
    "reference": GOOD_SAMPLE["reference"],
    "contextChunks": GOOD_SAMPLE["retrieved_contexts"],
}
RESPONSE = GOOD_SAMPLE["response"]
FIGURES = {"noise_sensitivity_relevant": 0.0, "noise_sensitivity_irrelevant": 0.5}


def assess(
    config: Any = None, output: Any = RESPONSE, metadata: Any = None, **given: Any
) -> dict[str, Any]:
    """The assertion's result, which must be what Promptfoo's wrapper can write and read."""
    context: dict[str, Any] = {
        "prompt": "p",
        "vars": given,
        "test": {"vars": given},
        "provider": {"config": {"apiKey": "sk-canary"}},
        "providerResponse": {"output": output, "metadata": metadata or {}},
    }
    if config is not None:
        context["config"] = config
    result = get_assert(output, context)
    written = json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
    assert json.loads(written) == result
    kinds = [type(result[name]) for name in ("pass", "score", "reason")]
    assert kinds == [bool, float, str]
    assert None not in result.values()
    assert None not in result.get("namedScores", {}).values()
    assert b"canary" not in written
    return result


def test_both_modes_at_once_and_the_one_of_the_config_decides() -> None:
    for config, passes, robustness in (
        (None, True, 1.0),
        ({"mode": "irrelevant"}, False, 0.5),
        ({"mode": "irrelevant", "maxNoise": 0.5}, True, 0.5),
        ({"mode": "irrelevant", "maxNoise": 0.49}, False, 0.5),
        ({"mode": "irrelevant", "threshold": 0.5}, True, 0.5),
    ):
        result = assess(config, **GOOD, verdicts=GOOD_VERDICTS)
        assert result["pass"] == passes
        assert result["score"] == robustness
        assert ("Not limited by this assertion: irrelevant, 0.5." in result["reason"]) == (
            not config
        )
        assert result["namedScores"] == FIGURES
        assert "tokensUsed" not in result
    # Promptfoo averages equal names.
    result = assess({"definition": "promptfoo"}, **GOOD, verdicts=GOOD_VERDICTS)
    assert result["pass"] is False
    assert result["score"] == 0.5
    assert result["namedScores"] == {f"{name}_promptfoo": 0.5 for name in FIGURES}


@pytest.mark.parametrize("config", [{"empty": "zero"}, {"definition": "promptfoo"}])
def test_no_claims_pass_where_that_is_the_convention(config: Any) -> None:
    result = assess(config, verdicts=claims(0, 0))
    assert result["pass"] is True
    assert result["score"] == 1.0
    assert set(result["namedScores"].values()) == {0.0}
    assert "0 by convention" in result["reason"]


def partly_open() -> dict[str, Any]:
    """Of four claims one certainly counts, another perhaps, and two certainly do not."""
    verdicts = claims(2, 2)
    verdicts["response_claims"][3].update(entailed_by=[], undetermined=[1])
    return verdicts


@pytest.mark.parametrize(
    ("limit", "gate"),
    [(0, "fail"), (0.24, "fail"), (0.25, "undecided"), (0.49, "undecided"), (0.5, "pass")],
)
def test_what_passes_goes_by_the_bounds_whatever_is_chosen(limit: float, gate: str) -> None:
    verdicts = partly_open()
    for choice, named in {"none": None, "low": 0.25, "high": 0.5}.items():
        config = {"mode": "irrelevant", "maxNoise": limit, "undetermined": choice}
        result = assess(config, verdicts=verdicts)
        metadata = result["metadata"]
        assert metadata["gate"] == gate
        assert metadata["status"] == "undetermined"
        assert result["pass"] is (gate == "pass")
        assert result["score"] == (0.5 if choice != "none" or gate == "pass" else 0.0)
        assert result["namedScores"].get("noise_sensitivity_irrelevant") == named


HALLUCINATING = {
    "response_claims": [
        {"text": str(number), "correct": number == 0, "entailed_by": []} for number in range(4)
    ],
    "reference_claims": [{"text": "a", "entailed_by": [0]}],
    "chunks": [{"text": "b"}],
}


PLAIN = {key: GOOD_VERDICTS[key] for key in ("response_claims", "reference_claims")}
PLAIN_JSON = {"verdicts": json.dumps(PLAIN), "contextChunks": json.dumps(GOOD["contextChunks"])}
OTHER = {"verdicts": claims(4, 0)}
SOURCES: dict[str, dict[str, Any]] = {
    "config, as JSON": {"config": {"verdicts": json.dumps(PLAIN)}, **GOOD},
    "vars, as JSON": {**GOOD, **PLAIN_JSON},
    "vars before metadata": {"verdicts": PLAIN, **GOOD, "metadata": OTHER},
    "config before vars": {"config": {"verdicts": PLAIN}, **GOOD, "verdicts": claims(4, 0)},
    "null is nothing": {"config": {"verdicts": None}, "verdicts": PLAIN, **GOOD},
}


@pytest.mark.parametrize("source", SOURCES)
def test_verdicts_are_read_from_each_source_the_config_first(source: str) -> None:
    result = assess(**SOURCES[source])
    assert result["namedScores"] == FIGURES
    assert result["metadata"]["chunkRelevance"] == [True, False]


def test_a_recording_is_found_by_the_samples_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, or beside or above the file that Promptfoo runs; labels of the asker win."""
    path = tmp_path / "recording.jsonl"
    script = tmp_path / "asserts"
    path.write_bytes(good_line())
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(sys, "path", [str(script), *sys.path])
    for name, where in (
        ("verdicts", str(path)),
        ("recording", f"file://{path}"),
        ("verdicts", "recording.jsonl"),
    ):
        assert assess({name: where}, **GOOD)["namedScores"] == FIGURES
        assert "namedScores" not in assess({name: where}, "Another answer.", **GOOD)
    chunks = [{"text": text, "relevant": True} for text in GOOD["contextChunks"]]
    result = assess({"verdicts": str(path)}, **{**GOOD, "contextChunks": chunks})
    assert result["namedScores"]["noise_sensitivity_relevant"] == 0.5


def test_a_context_in_one_text_is_one_chunk() -> None:
    """It entails no claim of the reference; the unmerged assertion takes it as relevant."""
    verdicts = {**claims(0, 1), "chunks": ["A text.\n\nNoise."]}
    verdicts["response_claims"][0]["entailed_by"] = [0]
    verdicts["reference_claims"] = [{"text": "b", "entailed_by": []}]
    for definition, relevance in {"ragas": [False], "promptfoo": [True]}.items():
        config = {"definition": definition, "noiseContext": "Noise."}
        result = assess(config, context="A text.", verdicts=verdicts)
        assert result["metadata"]["chunkRelevance"] == relevance
    # A text of a list that Promptfoo has split is not all there was.
    one = {"contextChunks": GOOD["contextChunks"][0]}
    for place, config in {"config": one, "vars": {}}.items():
        reason = assess(config, **{**GOOD, **one}, verdicts=PLAIN)["reason"]
        assert f"{place}.contextChunks: expected a list of chunks, got one text" in reason


@pytest.mark.parametrize(
    ("limits", "verdicts", "passes", "says"),
    [
        # One of four claims is correct, three are in neither the reference nor a chunk.
        (
            {"minCorrect": 0.25, "maxHallucinated": 0.75},
            HALLUCINATING,
            True,
            "nor a chunk: 3 of 4.",
        ),
        ({"minCorrect": 0.26}, HALLUCINATING, False, "1 of 4 claims are correct"),
        ({"maxHallucinated": 0.7}, HALLUCINATING, False, "3 of 4 claims are in neither"),
        ({"minCorrect": 0}, claims(0, 0), False, "nothing was measured"),
        ({"minCorrect": 2}, HALLUCINATING, False, "min_correct: expected a number from 0 to 1"),
    ],
)
def test_limits_of_correct_and_hallucinated_shares_decide_besides(
    limits: Any, verdicts: Any, passes: bool, says: str
) -> None:
    result = assess(limits, verdicts=verdicts)
    assert result["pass"] is passes
    assert result["score"] == float(passes)
    assert says in result["reason"]


def test_an_open_share_is_unknown_and_does_not_pass() -> None:
    """Of two claims one is correct, and the other perhaps: no noise, whichever it is."""
    verdicts = claims(2, 0)
    verdicts["response_claims"][1].update(correct=None, entailed_by=[])
    assert assess({}, verdicts=verdicts)["pass"] is True
    result = assess({"minCorrect": 0.6}, verdicts=verdicts)
    assert result["pass"] is False
    assert result["metadata"]["status"] == "undetermined"
