"""The assertion's ``config``: what each setting means, and which settings there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from noisesense.errors import InputError, describe
from noisesense.scoring.definitions import DefinitionName, Mode, check_definition, check_mode
from noisesense.scoring.scoring import Empty, Undetermined, check_empty, check_undetermined

__all__ = ["CHUNKS", "QUERY", "REFERENCE", "Settings", "read_config", "read_settings"]

QUERY = ("query", "user_input", "question")
REFERENCE = ("reference", "ground_truth", "groundTruth", "expected")
CHUNKS = ("contextChunks", "retrieved_contexts", "contexts", "context")
_KNOWN = (
    *("mode", "definition", "maxNoise", "threshold", "empty", "undetermined", "name"),
    *("verdicts", "recording", "judge", "grading", "noiseContext"),
    *(*QUERY, *REFERENCE, *CHUNKS),
)


@dataclass(frozen=True)
class Settings:
    """How the score is computed and what passes."""

    mode: Mode
    definition: DefinitionName
    max_noise: float
    empty: Empty
    undetermined: Undetermined
    name: str


def read_config(context: Any) -> dict[str, Any]:
    """The ``config`` of this assertion; empty if it has none. Raises `InputError`."""
    if not isinstance(context, dict):
        hint = "call get_assert(output, context) with what Promptfoo gives"
        raise InputError("Promptfoo's context object", type(context).__name__, hint=hint)
    config = cast("dict[str, Any]", context).get("config")
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise InputError("an object", describe(config), where="config")
    config = cast("dict[str, Any]", config)
    for key in config:
        if key not in _KNOWN:
            raise InputError(
                "only known settings", f"the setting {key!r}", where="config", hint=_meant(key)
            )
    return config


def read_settings(config: dict[str, Any]) -> Settings:
    """The settings with their defaults. Raises `InputError`."""
    try:
        return _settings(config)
    except InputError as error:
        raise error.within("config") from None


def _settings(config: dict[str, Any]) -> Settings:
    definition = check_definition(config.get("definition", "ragas")).name
    # The interface this definition comes from passes an answer that claims nothing.
    empty = "zero" if definition == "promptfoo" else "undefined"
    name = config.get("name", "noise_sensitivity")
    if not isinstance(name, str) or not name.strip():
        raise InputError("a non-empty text", describe(name), where="name")
    return Settings(
        mode=check_mode(config.get("mode", "relevant")),
        definition=definition,
        max_noise=_max_noise(config),
        empty=check_empty(config.get("empty", empty)),
        undetermined=check_undetermined(config.get("undetermined", "none")),
        name=name,
    )


def _max_noise(config: dict[str, Any]) -> float:
    if "maxNoise" in config and "threshold" in config:
        hint = "threshold is the old name of maxNoise"
        raise InputError("maxNoise or threshold", "both", hint=hint)
    name = "threshold" if "threshold" in config else "maxNoise"
    value = config.get(name, 0.2)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        hint = "the highest noise sensitivity that passes; lower is better"
        raise InputError("a number from 0 to 1", describe(value), where=name, hint=hint)
    return value


def _meant(key: object) -> str:
    # Loaded only to explain a mistake.
    from difflib import get_close_matches

    near = get_close_matches(str(key), _KNOWN, 1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_KNOWN)}"
