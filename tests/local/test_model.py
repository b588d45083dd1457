"""What `NLIModel` does without a model: windows, forms, columns.

With models of transformers it is tested in ``own_environment/``."""

from __future__ import annotations

from noisesense_adapters.local.model import _limit, windows
from support.tiny_nli import tokens


def count(text: str) -> int:
    return len(tokens(text))


def test_windows() -> None:
    text = "One two three. Four five. Six seven eight nine ten eleven twelve. Thirteen."
    size = count(text)
    assert windows(text, size, count) == [text]
    assert windows(text, 0, count) == []
    found = windows(text, 6, count)
    assert all(count(part) <= 6 for part in found)
    assert " ".join(found).split() == text.split()
    assert found[0] == "One two three."
    assert windows("x" * 40, 1, len) == ["x"] * 40
    assert windows("", 3, len) == [""]
    # East Asian sentences have no spaces between them.
    assert windows("塔是红色的。海是蓝色的。", 6, len) == ["塔是红色的。", "海是蓝色的。"]


def test_what_a_model_takes_where_its_tokenizer_does_not_say() -> None:
    """CamemBERT, as RoBERTa, has 514 positions for 512 tokens: a long chunk was an IndexError."""
    unlimited = 10**30
    for kind in ("roberta", "camembert"):
        config = {"model_type": kind, "max_position_embeddings": 514}
        assert _limit(unlimited, config) == 512
    assert _limit(unlimited, {"model_type": "bert", "max_position_embeddings": 512}) == 512
    assert _limit(256, {"model_type": "bert", "max_position_embeddings": 512}) == 256
