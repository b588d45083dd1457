"""Inputs for hypothesis: the corpus with bytes changed, and JSON of the words that are read."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

from fuzz.targets import corpus

_BYTES_ONLY = {"parquet", "store"}
_LINES = {"recording", "results", "jsonl"}
_ODD = [
    *(None, True, False, 0, 1, -1, 2**63, 10**400, 0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "\0", "\x1b[31m", "\ud83c", "9" * 5000, "[" * 3000, "é", [], {}, [[]], [None]),
]


def _words(seeds: list[bytes]) -> list[str]:
    found = {word.decode() for seed in seeds for word in re.findall(rb'"(\w{1,40})"', seed)}
    return sorted(found) or ["a"]


def inputs_of(name: str) -> st.SearchStrategy[bytes]:
    """Bytes that a target may read."""
    seeds = corpus(name) or [b""]
    changed = st.builds(_changed, st.sampled_from(seeds), _changes())
    if name in _BYTES_ONLY:
        return changed | st.binary(max_size=200)
    values = st.recursive(
        st.sampled_from(_ODD) | st.text(max_size=8) | st.integers() | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(_words(seeds)) | st.text(max_size=4), inner, max_size=6
            )
        ),
        max_leaves=25,
    )
    sound = [value for seed in seeds for value in _values(seed)]
    edited = st.builds(_edited, st.sampled_from(sound), st.lists(st.integers(0, 30)), values)
    line = (edited | values).map(_dumped)
    if name in _LINES:
        return changed | st.lists(line, min_size=1, max_size=3).map(b"\n".join)
    return changed | line


def _values(seed: bytes) -> list[Any]:
    """The JSON in it: of a document, or of each line."""
    found: list[Any] = []
    for text in [seed, *seed.splitlines()]:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found or [{}]


def _edited(value: Any, path: list[int], new: Any) -> Any:
    """The value with what is at the end of the path replaced."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _edited(copy[key], path[1:], new)
    return copy


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _changes() -> st.SearchStrategy[list[tuple[int, int, bytes]]]:
    return st.lists(
        st.tuples(st.integers(0, 2**17), st.integers(0, 5), st.binary(max_size=5)), max_size=6
    )


def _changed(seed: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """At some positions, some bytes are replaced by others."""
    content = bytearray(seed)
    for at, length, new in changes:
        at %= len(content) + 1
        content[at : at + length] = new
    return bytes(content)
