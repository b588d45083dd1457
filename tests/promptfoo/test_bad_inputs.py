"""What can be wrong with the assertion's config: one clear reason that names it."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense_adapters.promptfoo import get_assert
from support.bad_inputs import GOOD_SAMPLE, GOOD_VERDICTS


@pytest.fixture(autouse=True)
def _no_judge_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


BAD_CONFIG: dict[str, tuple[Any, tuple[str, ...]]] = {
    "not an object": ("relevant", ("config", "an object", "'relevant'")),
    "an unknown setting": ({"zzz": 1}, ("config", "'zzz'", "known are mode, maxNoise")),
    "maxNoise NaN": ({"maxNoise": float("nan")}, ("config, maxNoise", "from 0 to 1", "nan")),
    "both": ({"maxNoise": 0.1, "threshold": 0.1}, ("config", "maxNoise or threshold", "both")),
    "both modes": ({"mode": "both"}, ("mode", "'both'", "one for each")),
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
