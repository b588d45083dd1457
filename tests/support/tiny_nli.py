"""A classifier whose answers are sums that one can do by hand, in place of `NLIModel`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

WEIGHTS = {"red": (0.0, 0.0, 2.0), "sea": (0.5, 0.0, -1.0), "old": (1.5, 0.25, 0.0)}
"""What a word adds to the three logits; other words add nothing, and each mark a little."""
_WORDS = ["the", "a", "tower", "is", "was", "tall"]
_MARK = (0.125, 0.0, 0.0)


class TinyNLI:
    """Takes what `NLIModel` takes."""

    def __init__(self, model: str, *, device: str | None = None, batch_size: int = 16) -> None:
        self.name = Path(model).name
        self.identity = f"TinyNLI {device} {batch_size}"

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float]:
        return [probability(*pair) for pair in zip(premises, claims, strict=True)]


def tokens(text: str) -> list[str]:
    """Words and marks, each a token."""
    return text.lower().replace(".", " . ").replace("?", " ? ").split()


def probability(premise: str, claim: str) -> float:
    """Of entailment, with the three marks of a pair; an unknown word is one more."""
    known = dict.fromkeys(_WORDS, (0.0, 0.0, 0.0)) | WEIGHTS
    rows = [known.get(word, _MARK) for word in [*tokens(premise), *tokens(claim)]] + [_MARK] * 3
    logits = [math.fsum(row[i] for row in rows) for i in range(3)]
    return math.exp(logits[2]) / math.fsum(map(math.exp, logits))
