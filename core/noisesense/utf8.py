"""Texts that cannot be written as UTF-8."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text with "?" for each half of a surrogate pair, as a broken tokenizer leaves them."""
    return text.encode("utf-8", "replace").decode("utf-8")
