"""`NLIModel` on real models of transformers: tiny ones with random weights, saved and loaded."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from noisesense import InputError, JudgeError, Sample, VerdictStore, score
from noisesense_adapters.local import LocalJudge, NLIModel

WORDS = [
    *("the", "a", "red", "blue", "green", "tower", "is", "was", "built", "by", "sea", "in", "of"),
    *("old", "new", "tall", "painted", ".", "?", ":"),
]
LABELS = ["contradiction", "neutral", "entailment"]
PAIRS = [
    ("The red tower was built by the sea.", "The tower is red."),
    ("A blue tower.", "The tower is tall and old."),
    ("The sea is green. The tower was painted.", "The sea is blue."),
]


def tokenizer(folder: Path, pair: str, positions: int | None = None, **marks: str) -> int:
    """One word, one token; unknown ones share one. ``pair``: of the tokenizer's template; the
    marks in the order of their ids. Returns how many tokens there are."""
    vocabulary = {word: i for i, word in enumerate([*marks.values(), *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single=pair.partition(" $B")[0],
        pair=pair,
        special_tokens=[(mark, vocabulary[mark]) for mark in marks.values()],
    )
    options = {} if positions is None else {"model_max_length": positions}
    whole = PreTrainedTokenizerFast(tokenizer_object=inner, **marks, **options)
    whole.save_pretrained(folder)
    return len(vocabulary)


SMALL = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}


def bert(folder: Path, labels: list[str] = LABELS, positions: int = 32) -> Path:
    torch.manual_seed(1)
    marks = {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    size = tokenizer(folder, "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", positions, **marks)
    config = BertConfig(
        **SMALL,
        vocab_size=size,
        num_hidden_layers=2,
        max_position_embeddings=positions,
        initializer_range=1.0,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def t5(folder: Path) -> Path:
    torch.manual_seed(2)
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer(folder, "$A:0 </s>:0 $B:0 </s>:0", **marks)
    config = T5Config(
        **{"vocab_size": 256, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1},
        num_heads=2,
        decoder_start_token_id=0,
        initializer_factor=3.0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def logits_by_hand(folder: Path, *texts: str, kind: Any = BertForSequenceClassification) -> Any:
    """Of one text or pair, without padding, by transformers alone."""
    inputs = AutoTokenizer.from_pretrained(folder)(*texts, return_tensors="pt")
    with torch.inference_mode():
        return kind.from_pretrained(folder).eval()(**inputs).logits[0]


def of(model: NLIModel, premise: str, claim: str) -> float:
    (found,) = model.entails([premise], [claim])
    return found


def by_hand(folder: Path, premise: str, claim: str) -> float:
    """The probability of the third label."""
    return float(torch.softmax(logits_by_hand(folder, premise, claim), dim=-1)[2])


def test_pairs(tmp_path: Path) -> None:
    model = NLIModel(bert(tmp_path / "my-nli"), batch_size=2)
    assert model.name == "my-nli"
    found = model.entails(*map(list, zip(*PAIRS, strict=True)))
    assert found == pytest.approx(
        [by_hand(tmp_path / "my-nli", *pair) for pair in PAIRS], abs=1e-5
    )
    assert len({round(each, 3) for each in found}) == len(PAIRS)
    assert model.entails([], []) == []


def test_windows_of_sentences_and_their_maximum(tmp_path: Path) -> None:
    folder = bert(tmp_path, positions=24)
    claim = "The tower is red."  # 5 tokens; of 24, 3 are marks and 4 are kept free: 12 are left
    sentences = [
        "The sea is blue.",
        "A red tower was built.",
        "The old tower is tall and of the sea and red.",
        "A new sea.",
    ]  # 5, 6, 12 and 4 tokens: the first two share a window
    found = of(NLIModel(folder), " ".join(sentences), claim)
    windows = [" ".join(sentences[:2]), sentences[2], sentences[3]]
    each = [by_hand(folder, window, claim) for window in windows]
    assert found == pytest.approx(max(each), abs=1e-5)
    assert max(each) - sorted(each)[1] > 1e-3


def test_a_claim_without_room_for_any_text_has_no_answer(tmp_path: Path) -> None:
    model = NLIModel(bert(tmp_path, positions=24))
    long = "The tower " * 12
    short = "The tower."
    found = model.entails(["The sea.", "The sea."], [long, short])
    assert math.isnan(found[0])
    assert math.isfinite(found[1])


def test_labels_decide_the_column(tmp_path: Path) -> None:
    named = bert(tmp_path / "a", ["ENTAILMENT", "not_entailment"])
    expected = float(torch.softmax(logits_by_hand(named, *PAIRS[0]), dim=-1)[0])
    assert of(NLIModel(named), *PAIRS[0]) == pytest.approx(expected, abs=1e-5)
    with pytest.raises(
        InputError, match=r"one label for entailment, got \['LABEL_0', 'LABEL_1'\]"
    ):
        NLIModel(bert(tmp_path / "b", ["LABEL_0", "LABEL_1"]))
    single = bert(tmp_path / "c", ["LABEL_0"])
    sigmoid = float(torch.sigmoid(logits_by_hand(single, *PAIRS[0])[0]))
    assert of(NLIModel(single), *PAIRS[0]) == pytest.approx(sigmoid, abs=1e-5)


def test_minicheck_flan_t5(tmp_path: Path) -> None:
    folder = t5(tmp_path / "MiniCheck-Flan-T5-Large")
    premise, claim = PAIRS[0]
    found = of(NLIModel(folder), premise, claim)
    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    text = f"predict: {premise}</s>{claim}"
    inputs = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**inputs, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)).logits
    no = logits[0, 0, 3]
    yes = logits[0, 0, 209]
    assert found == pytest.approx(float(torch.sigmoid(yes - no)), abs=1e-5)
    assert 0.001 < found < 0.999


def test_minicheck_roberta(tmp_path: Path) -> None:
    folder = tmp_path / "MiniCheck-RoBERTa-Large"
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    size = tokenizer(folder, "<s>:0 $A:0 </s>:0 $B:0 </s>:0", **marks)
    torch.manual_seed(3)
    config = RobertaConfig(
        **SMALL, vocab_size=size, num_hidden_layers=1, max_position_embeddings=40, num_labels=2
    )
    RobertaForSequenceClassification(config).save_pretrained(folder)
    premise, claim = PAIRS[0]
    text = f"{premise}</s>{claim}"
    logits = logits_by_hand(folder, text, kind=RobertaForSequenceClassification)
    expected = float(torch.softmax(logits, dim=-1)[1])
    assert of(NLIModel(folder), premise, claim) == pytest.approx(expected, abs=1e-5)
    # Its positions begin at 2, and the tokenizer says no limit: a long text is split, not refused.
    assert math.isfinite(of(NLIModel(folder), "The sea is green. " * 30, claim))


def test_weights_that_are_not_numbers(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"][2, 0] = math.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert all(map(math.isnan, NLIModel(folder).entails(["The sea."], ["A sea."])))


def test_a_model_that_fails_says_so_and_not_what_it_read(tmp_path: Path) -> None:
    model = NLIModel(bert(tmp_path))

    def full(**_: object) -> object:
        raise RuntimeError("out of memory, with the text in it")

    model._model.forward = full
    with pytest.raises(JudgeError, match=r"failed \(RuntimeError\)") as raised:
        model.entails(["The sea."], ["A sea."])
    assert "text" not in str(raised.value)


def test_a_model_without_a_trained_head_is_refused(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    BertModel(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    with pytest.raises(InputError, match=r"weights for every part of the model, got none for cla"):
        NLIModel(folder)


def test_what_is_no_model(tmp_path: Path) -> None:
    folder = bert(tmp_path / "cut")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    for no_model in (tmp_path, folder):
        with pytest.raises(InputError, match="a model that transformers can load"):
            NLIModel(no_model)


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    one = NLIModel(bert(tmp_path / "one"))
    same = NLIModel(bert(tmp_path / "same"))
    assert one.identity == same.identity
    weights = load_file(tmp_path / "one" / "model.safetensors")
    weights["classifier.bias"][0] += 1
    save_file(weights, tmp_path / "one" / "model.safetensors", {"format": "pt"})
    assert NLIModel(tmp_path / "one").identity != one.identity


def test_a_sample_is_judged_and_kept(tmp_path: Path) -> None:
    sample = Sample(
        response="The tower is red. The sea is blue.",
        reference="The tower was built by the sea.",
        retrieved_contexts=["A red tower.", "The sea is green. " * 20],
    )
    folder = bert(tmp_path / "nli")
    with VerdictStore(tmp_path / "s.db") as store:
        judge = LocalJudge(folder, store=store, plan="full")
        verdicts = asyncio.run(judge.judge(sample))
        assert [claim.text for claim in verdicts.response_claims] == [
            "The tower is red.",
            "The sea is blue.",
        ]
        assert score(verdicts).status("relevant") == "determined"
        for claim in verdicts.response_claims:
            entailed = by_hand(folder, "A red tower.", claim.text) >= 0.5
            assert (0 in claim.entailed_by) == entailed
        assert asyncio.run(LocalJudge(folder, store=store, plan="full").judge(sample)) == verdicts
        assert sum(each.calls for each in store.stats()) == 3
