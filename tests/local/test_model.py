"""`NLIModel` in ONNX Runtime: windows, columns, failures. Expected values are sums by hand.

Through transformers the same is tested in ``own_environment/``."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from noisesense import InputError, JudgeError
from noisesense_adapters.local import NLIModel
from noisesense_adapters.local.model import Count, windows
from support.tiny_nli import WEIGHTS, probability, tokens, write_model

PAIRS = [
    ("The red tower.", "The tower is red"),
    ("The old tower is tall.", "A tall tower"),
    ("The sea", "The tower was old"),
    ("A red, red sea.", "red"),
]


def count(texts: object) -> list[int]:
    assert isinstance(texts, list)
    return [len(tokens(text)) for text in texts]


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_pairs(tmp_path: Path, batch_size: int) -> None:
    model = NLIModel(write_model(tmp_path / "sums"), batch_size=batch_size)
    assert model.name == "sums"
    found = model.entails(*map(list, zip(*PAIRS, strict=True)))
    # "," is a token that the hand-written words do not have: the last pair has one mark more.
    expected = [probability(*pair) for pair in PAIRS[:3]]
    expected.append(probability("A red ? red sea .", "red"))
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_long_text_is_split_at_sentences_and_the_likeliest_window_counts(tmp_path: Path) -> None:
    model = NLIModel(write_model(tmp_path, positions=16))
    claim = "red"  # 16 less 3 marks, this token and 4 kept free: 8 tokens of text
    text = "The sea is old. The tower was red. A tall tower is by the sea."
    (found,) = model.entails([text], [claim])
    # Of 5, 5 and 8 tokens: none share a window.
    parts = ["The sea is old.", "The tower was red.", "A tall tower is by the sea."]
    each = [probability(part, claim) for part in parts]
    assert found == pytest.approx(max(each), abs=1e-6)
    assert each[1] == max(each)
    assert found != pytest.approx(probability(text, claim), abs=1e-3)


def test_a_claim_is_never_cut(tmp_path: Path) -> None:
    model = NLIModel(write_model(tmp_path, positions=16))
    fits, too_long, empty = model.entails(["The sea."] * 2 + [""], ["red", "red " * 12, "red"])
    assert fits == pytest.approx(probability("The sea.", "red"), abs=1e-6)
    assert math.isnan(too_long)
    assert empty == pytest.approx(probability("", "red"), abs=1e-6)


def test_windows() -> None:
    text = "One two three. Four five. Six seven eight nine ten eleven twelve. Thirteen."
    (size,) = count([text])
    assert windows(text, size, count) == [text]
    assert windows(text, 0, count) == []
    found = windows(text, 6, count)
    assert all(size <= 6 for size in count(found))
    assert " ".join(found).split() == text.split()
    assert found[0] == "One two three."
    letters: Count = lambda texts: [len(text) for text in texts]  # noqa: E731
    assert windows("x" * 40, 1, letters) == ["x"] * 40
    assert windows("", 3, letters) == [""]
    # East Asian sentences have no spaces between them.
    assert windows("塔是红色的。海是蓝色的。", 6, letters) == ["塔是红色的。", "海是蓝色的。"]


def test_labels_decide_the_column(tmp_path: Path) -> None:
    pair = ["A red tower."], ["old"]
    model = NLIModel(write_model(tmp_path, ["entailment", "not_entailment"]))
    other = NLIModel(tmp_path, entailment="not_entailment")
    assert model.entails(*pair)[0] + other.entails(*pair)[0] == pytest.approx(1.0)
    assert model.identity != other.identity
    assert NLIModel(tmp_path, entailment=1).identity == other.identity
    with pytest.raises(InputError, match="the label 'yes'"):
        NLIModel(tmp_path, entailment="yes")
    with pytest.raises(InputError, match="one label for entailment, got") as raised:
        NLIModel(write_model(tmp_path / "b", ["LABEL_0", "LABEL_1"]))
    assert "id2label" in str(raised.value)
    with pytest.raises(InputError, match="one label for entailment, got"):
        NLIModel(write_model(tmp_path / "d", ["entailment", "supported"]))
    (single,) = NLIModel(write_model(tmp_path / "c", ["score"])).entails(*pair)
    # One column is a logit: red adds 2 to it, old nothing.
    assert single == pytest.approx(1 / (1 + math.exp(-2.0)), abs=1e-6)


def test_not_a_number_is_no_answer(tmp_path: Path) -> None:
    weights = {**WEIGHTS, "sea": (math.nan, 0.0, 0.0), "old": (0.0, 0.0, math.inf)}
    model = NLIModel(write_model(tmp_path, weights=weights))
    found = model.entails(["The sea.", "Old.", "Red."], ["tall"] * 3)
    assert [math.isfinite(each) for each in found] == [False, False, True]
    # One window without an answer: the likeliest of the others need not be the likeliest.
    text = "The tower was red. The sea is tall is tall. A red tower."
    assert math.isnan(model.entails([text], ["tall"])[0])


class Failing:
    """A runtime that is out of memory where a batch is large, or holds one input."""

    eos, limit, labels, revision = "", 100, {0: "entailment"}, ""

    def __init__(self, most: int, bad: str = "?") -> None:
        self.most, self.bad = most, bad

    def count(self, texts: list[str]) -> list[int]:
        return [len(text) for text in texts]

    def encode(self, texts: list[str], pairs: list[str]) -> list[dict[str, str]]:
        return [{"input_ids": f"{a}{b}"} for a, b in zip(texts, pairs, strict=True)]

    def logits(self, inputs: list[dict[str, str]]) -> list[list[float]]:
        if len(inputs) > self.most or any(self.bad in each["input_ids"] for each in inputs):
            raise RuntimeError("out of memory, with the text in it")
        return [[0.0] for _ in inputs]


def test_a_batch_that_fails_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = NLIModel(write_model(tmp_path))
    monkeypatch.setattr(model, "_runtime", Failing(2))
    monkeypatch.setattr(model, "_yes", 0)
    assert model.entails(["a"] * 7, ["b"] * 7) == [0.5] * 7
    found = model.entails(["a", "?", "a"], ["b"] * 3)
    assert (found[0], math.isnan(found[1]), found[2]) == (0.5, True, 0.5)
    with pytest.raises(JudgeError, match=r"failed \(RuntimeError\)") as raised:
        model.entails(["?"], ["b"])
    assert "text" not in str(raised.value)


@pytest.mark.parametrize("broken", ["config.json", "tokenizer.json", "model.onnx"])
def test_what_is_no_model(tmp_path: Path, broken: str) -> None:
    folder = write_model(tmp_path)
    (folder / broken).write_text("{", "utf-8")
    with pytest.raises(InputError, match="a model that ONNX Runtime can load"):
        NLIModel(folder)


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    one = NLIModel(write_model(tmp_path / "one"))
    assert NLIModel(write_model(tmp_path / "two")).identity == one.identity
    other = {**WEIGHTS, "red": (0.0, 0.0, 2.5)}
    assert NLIModel(write_model(tmp_path / "three", weights=other)).identity != one.identity


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch_size"):
        NLIModel(tmp_path, batch_size=0)
