"""`get_assert` called as Promptfoo's wrapper calls it: what it reads and what it returns."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from noisesense import NoiseSenseError
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
    assert isinstance(result["pass"], bool)
    assert isinstance(result["score"], float)
    assert isinstance(result["reason"], str)
    assert None not in result.values()
    assert None not in result.get("namedScores", {}).values()
    assert b"canary" not in written
    return result


def test_both_modes_at_once_and_the_default_mode_decides() -> None:
    result = assess(**GOOD, verdicts=GOOD_VERDICTS)

    assert result["namedScores"] == {
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    }
    assert (result["pass"], result["score"]) == (True, 1.0)
    assert "tokensUsed" not in result


@pytest.mark.parametrize(
    ("config", "passes", "robustness"),
    [
        ({"mode": "irrelevant"}, False, 0.5),
        ({"mode": "irrelevant", "maxNoise": 0.5}, True, 0.5),
        ({"mode": "irrelevant", "maxNoise": 0.49}, False, 0.5),
        ({"mode": "irrelevant", "maxNoise": 1}, True, 0.5),
        ({"mode": "irrelevant", "threshold": 0.5}, True, 0.5),
        ({"maxNoise": 0}, True, 1.0),
        ({"definition": "validmind", "maxNoise": 0.5}, True, 0.5),
        ({"definition": "promptfoo"}, False, 0.5),
        ({}, True, 1.0),
    ],
)
def test_what_passes(config: Any, passes: bool, robustness: float) -> None:
    result = assess(config, **GOOD, verdicts=GOOD_VERDICTS)

    assert (result["pass"], result["score"]) == (passes, robustness)


@pytest.mark.parametrize("noisy", range(11))
def test_robustness_is_counted_not_subtracted(noisy: int) -> None:
    """1 - 0.9 is 0.09999999999999998, which would fail ``threshold: 0.1``."""
    result = assess({"mode": "irrelevant"}, verdicts=claims(10 - noisy, noisy))

    assert result["score"] == (10 - noisy) / 10
    assert result["pass"] is (noisy <= 2)


def test_another_definition_is_part_of_the_name() -> None:
    """Promptfoo averages equal names."""
    config = {"definition": "promptfoo", "name": "noise"}

    assert assess(config, **GOOD, verdicts=GOOD_VERDICTS)["namedScores"] == {
        "noise_relevant_promptfoo": 0.5,
        "noise_irrelevant_promptfoo": 0.5,
    }


UNDEFINED: dict[str, tuple[Any, Any, str]] = {
    "no claims": ({}, claims(0, 0), "the response has no claims"),
    "no such mode": (
        {"definition": "validmind", "mode": "irrelevant"},
        claims(1, 1),
        "the definition has no irrelevant mode",
    ),
}


@pytest.mark.parametrize("case", UNDEFINED)
def test_undefined_neither_passes_nor_counts(case: str) -> None:
    config, verdicts, why = UNDEFINED[case]
    result = assess(config, verdicts=verdicts)

    assert (result["pass"], result["score"]) == (False, 0.0)
    assert result["metadata"]["status"] == result["metadata"]["gate"] == "undefined"
    assert f"is undefined: {why}" in result["reason"]
    assert "this says nothing of the answer" in result["reason"]
    assert f"noise_sensitivity_{config.get('mode', 'relevant')}" not in result["namedScores"]


@pytest.mark.parametrize(
    "config",
    [
        {"empty": "zero"},
        {"definition": "promptfoo"},
        {"definition": "promptfoo", "mode": "irrelevant"},
    ],
)
def test_no_claims_pass_where_that_is_the_convention(config: Any) -> None:
    result = assess(config, verdicts=claims(0, 0))

    assert (result["pass"], result["score"]) == (True, 1.0)
    assert set(result["namedScores"].values()) == {0.0}
    assert "0 by convention" in result["reason"]


def partly_open() -> dict[str, Any]:
    """Of four claims one certainly counts in the irrelevant mode, and another perhaps."""
    verdicts = claims(2, 2)
    verdicts["response_claims"][3].update(entailed_by=[], undetermined=[1])
    return verdicts


def test_undetermined_claims_are_told_with_bounds() -> None:
    result = assess({"mode": "irrelevant", "maxNoise": 0.25}, verdicts=partly_open())

    assert (result["pass"], result["score"]) == (False, 0.0)
    # Chunk 1, which alone is open, is irrelevant: of the relevant mode all is known.
    assert result["namedScores"] == {"noise_sensitivity_relevant": 0.0}
    assert result["metadata"]["status"] == "undetermined"
    assert result["metadata"]["gate"] == "undecided"
    assert result["metadata"]["bounds"]["irrelevant"] == [0.25, 0.5]
    assert result["metadata"]["noiseSensitivity"] == {"relevant": 0.0, "irrelevant": None}
    assert "is undetermined: it lies between 0.25 and 0.5" in result["reason"]
    assert "Whether it is at most 0.25 is undecided." in result["reason"]
    assert "is undetermined" in result["metadata"]["claims"][3]
    assert result["metadata"]["claimAnalyses"][3]["isCorrect"] is False
    assert "sourceChunk" not in result["metadata"]["claimAnalyses"][3]


@pytest.mark.parametrize(
    ("limit", "gate"),
    [(0, "fail"), (0.24, "fail"), (0.25, "undecided"), (0.49, "undecided"), (0.5, "pass")],
)
@pytest.mark.parametrize("choice", ["none", "low", "high"])
def test_what_passes_goes_by_the_bounds_whatever_is_chosen(
    choice: str, limit: float, gate: str
) -> None:
    """At least 2 of the 4 claims certainly do not count: the score where there is one."""
    config = {"mode": "irrelevant", "maxNoise": limit, "undetermined": choice}
    result = assess(config, verdicts=partly_open())

    assert result["metadata"]["gate"] == gate
    assert result["pass"] is (gate == "pass")
    assert result["score"] == (0.5 if choice != "none" or gate == "pass" else 0.0)
    named = {"none": None, "low": 0.25, "high": 0.5}[choice]
    assert result["namedScores"].get("noise_sensitivity_irrelevant") == named
    assert result["metadata"]["status"] == "undetermined"
    assert "lies between 0.25 and 0.5" in result["reason"]


NOTHING_KNOWN = {
    "response_claims": [{"text": "a", "correct": None, "entailed_by": [0]}],
    "chunks": [{"text": "b", "relevant": True}],
}


CONFIG = {"maxNoise": 0.2}
PYTHON = {"type": "python", "value": "file://noise.py", "config": CONFIG}
INVERTED = {**PYTHON, "type": "not-python"}
TESTS: dict[str, tuple[Any, bool]] = {
    "none": (None, False),
    "python": ([PYTHON], False),
    "others beside it": (
        [{"type": "not-contains", "value": "x"}, {**INVERTED, "config": {"mode": "x"}}, PYTHON],
        False,
    ),
    "not-python": ([INVERTED], True),
    "not-python in a set": ([{"type": "assert-set", "assert": [INVERTED]}], True),
    "both, with the same config": ([PYTHON, INVERTED], True),
    "not the test's own config": ([{**INVERTED, "config": None}], True),
}
"""The test's assertions, and whether the one of `CONFIG` may be turned around."""


@pytest.mark.parametrize("case", TESTS)
@pytest.mark.parametrize(
    ("verdicts", "word"),
    [(NOTHING_KNOWN, "undetermined"), (claims(0, 0), "undefined"), ({}, "response_claims")],
    ids=["undetermined", "undefined", "error"],
)
def test_what_may_be_inverted_is_raised(case: str, verdicts: Any, word: str) -> None:
    assertions, inverted = TESTS[case]
    test = {} if assertions is None else {"assert": assertions}
    context = {"vars": {"verdicts": verdicts}, "config": CONFIG, "test": test}

    if not inverted:
        assert get_assert(RESPONSE, context)["pass"] is False
        return
    with pytest.raises(NoiseSenseError, match=word):
        get_assert(RESPONSE, context)


def test_an_earlier_undetermined_chunk_leaves_the_source_open() -> None:
    verdicts = claims(0, 1)
    verdicts["response_claims"][0]["undetermined"] = [0]
    analysis = assess(verdicts=verdicts)["metadata"]["claimAnalyses"][0]

    assert "sourceChunk" not in analysis


PLAIN = {key: GOOD_VERDICTS[key] for key in ("response_claims", "reference_claims")}
SOURCES: dict[str, dict[str, Any]] = {
    "config": {"config": {"verdicts": PLAIN}, **GOOD},
    "config, all of it": {"config": {"verdicts": PLAIN, **GOOD}},
    "config, as JSON": {"config": {"verdicts": json.dumps(PLAIN)}, **GOOD},
    "config, a template": {"config": {"verdicts": "{{ mine }}"}, "mine": PLAIN, **GOOD},
    "vars": {"verdicts": PLAIN, **GOOD},
    "vars, as JSON": {
        **{"verdicts": json.dumps(PLAIN), **GOOD},
        "contextChunks": json.dumps(GOOD["contextChunks"]),
    },
    "vars, with ragas' names": {"verdicts": PLAIN, **GOOD_SAMPLE},
    "metadata": {"metadata": {"verdicts": PLAIN, "retrieved_contexts": GOOD["contextChunks"]}},
    "output, as config says": {
        "config": {"verdicts": "{{output.verdicts}}"},
        "output": {"response": RESPONSE, "verdicts": PLAIN, **GOOD},
    },
    "vars before metadata": {
        "verdicts": PLAIN, **GOOD, "metadata": {"verdicts": claims(4, 0), "context": "other"}
    },
    "config before vars": {"config": {"verdicts": PLAIN}, **GOOD, "verdicts": claims(4, 0)},
    "null is nothing": {"config": {"verdicts": None}, "verdicts": PLAIN, **GOOD},
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_verdicts_from_each_source(source: str) -> None:
    result = assess(**SOURCES[source])

    assert result["namedScores"] == {
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    }
    assert result["metadata"]["chunkRelevance"] == [True, False]


@pytest.mark.parametrize("name", ["verdicts", "recording"])
@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_recording_is_found_by_the_samples_texts(tmp_path: Path, name: str, prefix: str) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(good_line())
    result = assess({name: f"{prefix}{path}", "mode": "irrelevant"}, **GOOD)

    assert result["score"] == 0.5


def test_a_recording_lies_beside_the_file_that_promptfoo_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recording.jsonl").write_bytes(good_line())
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert assess({"verdicts": "recording.jsonl"}, **GOOD)["metadata"]["status"] == "scored"

    reason = assess({"verdicts": "nowhere.jsonl"}, **GOOD)["reason"]
    assert "config.verdicts: expected a readable file, got No such file: nowhere.jsonl." in reason
    assert f"looked in {Path.cwd()}, {tmp_path}." in reason


def test_labels_of_the_asker_win_over_recorded_ones(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(good_line())
    chunks = [{"text": text, "relevant": True} for text in GOOD["contextChunks"]]
    result = assess({"verdicts": str(path)}, **{**GOOD, "contextChunks": chunks})

    assert result["namedScores"]["noise_sensitivity_relevant"] == 0.5


@pytest.mark.parametrize(
    ("definition", "relevance"), [("ragas", [False]), ("paper", [False]), ("promptfoo", [True])]
)
def test_a_context_in_one_text_is_one_chunk(definition: str, relevance: list[bool]) -> None:
    """It entails no claim of the reference; the unmerged assertion takes it as relevant."""
    verdicts = {
        "response_claims": [{"text": "a", "correct": False, "entailed_by": [0]}],
        "reference_claims": [{"text": "b", "entailed_by": []}],
        "chunks": ["A text.\n\nNoise."],
    }
    config = {"definition": definition, "noiseContext": "Noise."}
    result = assess(config, context="A text.", verdicts=verdicts)

    assert result["metadata"]["chunkRelevance"] == relevance


@pytest.mark.parametrize("place", ["config", "vars"])
def test_a_text_of_a_list_that_promptfoo_has_split_is_not_all_there_was(place: str) -> None:
    chunk = {"contextChunks": GOOD["contextChunks"][0]}
    config = chunk if place == "config" else None
    result = assess(config, **{**GOOD, **chunk}, verdicts=PLAIN)

    assert f"{place}.contextChunks: expected a list of chunks, got one text" in result["reason"]
    assert "`- text: …`" in result["reason"]
    assert result["metadata"]["status"] == "error"


def test_half_a_surrogate_pair_does_not_break_the_reply() -> None:
    verdicts = claims(0, 1)
    verdicts["response_claims"][0]["text"] = "cut \ud83d"

    assert "cut ?" in assess({"mode": "irrelevant"}, verdicts=verdicts)["reason"]


def test_from_an_async_wrapper() -> None:
    async def wrapper() -> dict[str, Any]:
        return assess(**GOOD, verdicts=GOOD_VERDICTS)

    assert asyncio.run(wrapper())["pass"] is True
