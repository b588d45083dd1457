"""What `NLIModel` does without a model: windows, forms, columns.

With models of transformers it is tested in ``own_environment/``."""

from __future__ import annotations

import pytest

from noisesense import InputError
from noisesense_adapters.local import NLIModel
from noisesense_adapters.local.model import column_of, form_of, windows
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


def test_labels_decide_the_column() -> None:
    assert column_of({0: "contradiction", 1: "neutral", 2: "ENTAILMENT"}) == 2
    assert column_of({0: "score"}) == 0
    for wrong in ({0: "LABEL_0", 1: "LABEL_1"}, {0: "entailment", 1: "supported"}):
        with pytest.raises(InputError, match=r"one label for entailment, got .*id2label"):
            column_of(wrong)


def test_minichecks_are_known_by_their_names() -> None:
    t5 = form_of("lytang/MiniCheck-Flan-T5-Large", {"model_type": "t5"})
    assert (t5.words, t5.window) == ((3, 209), 650)
    assert form_of("MiniCheck-RoBERTa-Large", {"model_type": "roberta"}).yes == 1
    assert form_of("other", {}).template is None


def test_arguments() -> None:
    with pytest.raises(InputError, match="batch_size"):
        NLIModel("folder", batch_size=0)
