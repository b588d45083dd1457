"""What a store must tell apart, and what it must not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noisesense.judging.protocol import StructuredLLM

KEY = "canary-5f2e9c"
URL = f"https://user:{KEY}@host/v1"

_OPTIONS: list[dict[str, Any]] = [
    {},
    {"model": "other"},
    {"temperature": 0.7},
    {"max_tokens": 5},
    {"base_url": f"https://user:{KEY}@elsewhere/v1"},
    {"base_url": f"https://user:{KEY}@host/v2"},
    {"seed": 1},
    {"extra_body": {"top_k": 3}},
]


def told(llm: StructuredLLM) -> tuple[str, str]:
    """All by which a store knows a model."""
    return llm.name, llm.identity  # type: ignore[attr-defined]


def check_identities(make: Callable[..., StructuredLLM]) -> None:
    """Models that differ in one option each are all different, whatever the key."""
    models = [told(make(**options)) for options in _OPTIONS]
    assert len({*models}) == len(_OPTIONS)
    assert models == [told(make("another key", **options)) for options in _OPTIONS]
    assert KEY not in repr(models)
    assert "another key" not in repr(models)
