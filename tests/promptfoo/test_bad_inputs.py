"""The table of bad inputs through the assertion, and what can be wrong with its config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, GOOD_VERDICTS, BadInput, recording_of

# A variable nobody asks for is no mistake; labels are read as CSV columns hold them, and chunks
# may have further fields.
GOOD_HERE = (
    "sample: an unknown field",
    "sample: a label is not a bool",
    "sample: response is a number",
)
KINDS = ("sample", "verdicts", "score")
TABLE = [bad for bad in BAD_INPUTS if bad.kind in KINDS and bad.name not in GOOD_HERE]

# What is looked for here under Promptfoo's names.
NAMES = {
    "sample: response is missing": ("output", "a text", "None"),
    "sample: response is null": ("output", "a text", "None"),
    "sample: reference is missing": ("the reference at", "'vars.user_input'"),
    "sample: contexts are missing": ("the retrieved_contexts at", "'vars.user_input'"),
    "sample: contexts are null": ("the retrieved_contexts at", "'vars.user_input'"),
    "sample: a context is a number": ("'vars.retrieved_contexts', chunk", "a text, or an object"),
    "verdicts: entailed_by is null": ("response claim 1", "'entailed_by'"),
    "verdicts: claims are null": ("'response_claims'",),
    "verdicts: null": ("verdicts, or a model to judge by", "neither"),
}


def _assess(bad: BadInput, folder: Path) -> dict[str, Any]:
    sample = bad.ask
    config = {"verdicts": str(recording_of(bad, folder))}
    verdicts = {}
    if bad.kind == "sample":
        sample = bad.data
    elif bad.kind == "verdicts":
        config = {}
        verdicts = {"verdicts": bad.data}
    elif bad.kind == "score":
        config = {**config, **bad.data}
    given = {key: value for key, value in sample.items() if key != "response"}
    context = {"vars": {**given, **verdicts}, "config": config, "test": {}, "provider": {}}
    return get_assert(sample.get("response"), context)


@pytest.fixture(autouse=True)
def _no_judge_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("bad", TABLE, ids=lambda bad: bad.name)
def test_one_error_names_the_place(bad: BadInput, tmp_path: Path) -> None:
    result = _assess(bad, tmp_path)

    assert result["pass"] is False
    assert result["score"] == 0.0
    assert result["metadata"] == {"status": "error"}
    assert "namedScores" not in result
    reason = result["reason"]
    assert [name for name in NAMES.get(bad.name, bad.names) if name not in reason] == []
    assert "\n" not in reason


BAD_CONFIG: dict[str, tuple[Any, tuple[str, ...]]] = {
    "not an object": ("relevant", ("config", "an object", "'relevant'")),
    "a misspelt setting": ({"MaxNoise": 1}, ("config", "'MaxNoise'", "did you mean 'maxNoise'?")),
    "an unknown setting": ({"zzz": 1}, ("config", "'zzz'", "known are mode, maxNoise")),
    "maxNoise NaN": ({"maxNoise": float("nan")}, ("config, maxNoise", "from 0 to 1", "nan")),
    "both": ({"maxNoise": 0.1, "threshold": 0.1}, ("config", "maxNoise or threshold", "both")),
    "mode null": ({"mode": None}, ("config, mode", "'irrelevant'", "None")),
    "verdicts as a number": ({"verdicts": 3}, ("config.verdicts", "an object", "3")),
    "verdicts as broken JSON": ({"verdicts": '{"resp'}, ("config.verdicts", "readable file")),
    "a NUL in a recording's name": ({"recording": "a\0b"}, ("config.recording", "readable file")),
    "chunks as a number": (
        {"contextChunks": 5, "verdicts": GOOD_VERDICTS}, ("config.contextChunks", "5")
    ),
    "a label that is no label": (
        {"contextChunks": [{"text": "a", "relevant": "perhaps"}], "verdicts": GOOD_VERDICTS},
        ("chunk 0, relevant", "true or false", "'perhaps'"),
    ),
    "noiseContext as a list": (
        {"context": "a", "noiseContext": ["b"], "verdicts": GOOD_VERDICTS},
        ("config.noiseContext", "a text"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CONFIG)
def test_bad_config_is_named(case: str) -> None:
    config, names = BAD_CONFIG[case]
    given = {"query": "a", "reference": "b", "contexts": ["c"]}
    context = {"vars": given, "config": config}
    result = get_assert(GOOD_SAMPLE["response"], context)

    assert result["metadata"] == {"status": "error"}
    assert [name for name in names if name not in result["reason"]] == []


@pytest.mark.parametrize("context", [None, {}, {"vars": "a", "test": 3, "config": None}])
def test_a_context_with_nothing_in_it(context: Any) -> None:
    result = get_assert("An answer.", context)

    assert "expected the reference at" in result["reason"]
