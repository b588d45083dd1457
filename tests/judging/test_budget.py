"""Splitting: everything is asked about, nothing is cut off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisesense.judging.prompts import split_text


@given(st.text(st.sampled_from("ab .\n。"), max_size=200), st.integers(1, 40), st.data())
def test_parts_fit_the_size_overlap_and_cover_the_text(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size // 2))
    parts = split_text(text, size, overlap)
    assert all(len(part) <= size for part in parts)
    rebuilt = parts[0]
    for part in parts[1:]:
        assert part[:overlap] == rebuilt[len(rebuilt) - overlap :]
        rebuilt += part[overlap:]
    assert rebuilt == text
