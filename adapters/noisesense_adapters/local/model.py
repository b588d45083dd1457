"""Models that say how likely a text entails a claim, and the windows of a long text."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, JudgeError, check_whole, describe
from noisesense.judging.sentences import sentence_spans
from noisesense_adapters.toolbox.extras import needs_extra

_NO_LIMIT = 2048
"""Tokens of one input where the model has no limit of its own, as T5: they bound the memory."""


class Form(NamedTuple):
    """How a family of models is asked.

    Attributes:
        template: of one text with both in it, ``{eos}`` being the tokenizer's end mark; None: the
            tokenizer's own pair of texts.
        yes: the column that means "entailed"; None: the label says it.
        words: the two tokens of a reply's first word, "no" and "yes"; None: a classifier.
        window: so many tokens of a long text at once; None: as many as the model takes.
    """

    template: str | None = None
    yes: int | None = None
    words: tuple[int, int] | None = None
    window: int | None = None


# Source: github.com/Liyan06/MiniCheck, minicheck/inference.py (windows of 500 words, some 650
# tokens, and of 400 tokens).
_MINICHECK_T5 = Form("predict: {premise}{eos}{claim}", words=(3, 209), window=650)
_MINICHECK = Form("{premise}{eos}{claim}", 1, window=400)


def form_of(name: str, config: Mapping[str, Any]) -> Form:
    """By the model's name and its config."""
    if "minicheck" in name.lower():
        return _MINICHECK_T5 if config.get("model_type") == "t5" else _MINICHECK
    return Form()


_YES = ("entail", "support", "consistent", "faithful", "grounded")


def column_of(labels: Mapping[int, str]) -> int:
    """The column of entailment. Raises `InputError`: it is never guessed."""
    if len(labels) == 1:
        return 0
    found = [column for column, label in labels.items() if label.lower().startswith(_YES)]
    if len(found) == 1:
        return found[0]
    got, hint = describe(list(labels.values())), "name the labels in config.json (id2label)"
    raise InputError("one label for entailment", got, where="labels", hint=hint)


class NLIModel:
    """A model that says how likely a text entails a claim, on this machine.

    Known by their names are MiniCheck's (``lytang/MiniCheck-Flan-T5-Large``, ``-RoBERTa-Large``,
    ``-DeBERTa-v3-Large``). Any other is a sequence classifier over pairs (premise, hypothesis)
    with a label for "entailment", or with a single column.

    A text longer than the model takes is split into windows of whole sentences; the probability is
    that of the likeliest window, as the models' authors have it. What only two windows together
    would entail is missed. No code of a model's repository is run.

    Args:
        model: a folder, or a name on the Hugging Face Hub.
        device: e.g. ``"cuda:1"``; by default a GPU if there is one.
        batch_size: inputs at once.

    Raises:
        InputError: no such model, one without a trained head, or no label for entailment.
        MissingExtraError: the packages are not installed.
    """

    def __init__(
        self, model: str | os.PathLike[str], *, device: str | None = None, batch_size: int = 16
    ) -> None:
        check_whole(batch_size, 1, "batch_size")
        folder = Path(model)
        self.name = folder.resolve().name if folder.is_dir() else os.fspath(model)
        self._form, self._model, self._tokenizer = _load(os.fspath(model), self.name, device)
        config = self._model.config
        self._yes = self._form.yes
        if self._yes is None and not self._form.words:
            self._yes = column_of(config.id2label)
        self._limit = _limit(self._tokenizer.model_max_length, config.to_dict())
        self.batch_size = batch_size
        revision = getattr(config, "_commit_hash", None) or _weights(folder)
        self.identity = json.dumps(["NLIModel", revision, self._form, self._yes, self._limit])

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float]:
        """How likely each premise entails the claim at its place; NaN where the model says none.

        A claim that leaves no room for any text is not cut: it gets NaN.

        Raises:
            JudgeError: the model failed.
        """
        inputs: list[Any] = []
        places: list[range] = []
        for premise, claim in zip(premises, claims, strict=True):
            encoded = [self._encoded(window, claim) for window in self._windows(premise, claim)]
            places.append(range(len(inputs), len(inputs) + len(encoded)))
            inputs += encoded
        found = self._probabilities(inputs)
        # One window without an answer could have been the likeliest.
        return [
            math.nan
            if not of or any(math.isnan(found[i]) for i in of)
            else max(found[i] for i in of)
            for of in places
        ]

    def _windows(self, premise: str, claim: str) -> list[str]:
        # A few tokens more may come where texts meet.
        marks = len(self._encoded("", "")["input_ids"]) + 4
        room = self._limit - marks - self._count(claim)
        return windows(premise, min(room, self._form.window or room), self._count)

    def _count(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _encoded(self, premise: str, claim: str) -> Any:
        if self._form.template is None:
            return self._tokenizer(premise, claim, verbose=False)
        eos = self._tokenizer.eos_token or self._tokenizer.sep_token or ""
        text = self._form.template.format(premise=premise, claim=claim, eos=eos)
        return self._tokenizer(text, verbose=False)

    def _probabilities(self, inputs: Sequence[Any]) -> list[float]:
        """Inputs of one length need no padding, so they go together."""
        order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]["input_ids"]))
        found = [math.nan] * len(inputs)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            try:
                rows = self._logits([inputs[i] for i in batch])
            except (RuntimeError, IndexError) as error:
                problem = type(error).__name__
            else:
                for i, logits in zip(batch, rows, strict=True):
                    found[i] = self._probability(logits)
                continue
            hint = "a smaller batch_size, or another device"
            raise JudgeError(f"the model {self.name} failed ({problem}). Hint: {hint}")
        return found

    def _logits(self, inputs: list[Any]) -> list[list[float]]:
        torch: Any = import_module("torch")
        device = self._model.device
        batch = self._tokenizer.pad(inputs, return_tensors="pt").to(device)
        if self._form.words:
            start = self._model.config.decoder_start_token_id or 0
            shape = (len(inputs), 1)
            batch["decoder_input_ids"] = torch.full(shape, start, dtype=torch.long, device=device)
        with torch.inference_mode():
            found = self._model(**batch).logits.float()
        if self._form.words:
            found = found[:, 0, list(self._form.words)]
        return cast("list[list[float]]", found.cpu().tolist())

    def _probability(self, logits: list[float]) -> float:
        if not all(map(math.isfinite, logits)):
            return math.nan
        column = 1 if self._form.words else self._yes or 0
        if len(logits) == 1:
            logits, column = [0.0, logits[0]], 1  # a sigmoid
        most = max(logits)
        weights = [math.exp(each - most) for each in logits]
        return weights[column] / math.fsum(weights)


def _load(model: str, name: str, device: str | None) -> tuple[Form, Any, Any]:
    """How it is asked, the model and its tokenizer. Raises as `NLIModel`."""
    with needs_extra("local", "torch", "transformers"):
        torch: Any = import_module("torch")  # without it transformers has other classes
        transformers: Any = import_module("transformers")
    try:
        form = form_of(name, transformers.PretrainedConfig.get_config_dict(model)[0])
        kind: Any = transformers.AutoModelForSequenceClassification
        if form.words:
            kind = transformers.AutoModelForSeq2SeqLM
        loaded, info = kind.from_pretrained(model, output_loading_info=True)
        if missing := sorted(info["missing_keys"]):
            hint = "a model that was trained to classify, not one to be fine-tuned"
            expected = "weights for every part of the model"
            raise InputError(expected, f"none for {missing[0]}", where=model, hint=hint)
        if device is None:
            has_mps = torch.backends.mps.is_available()
            device = "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        return form, loaded.eval().to(device), tokenizer
    except (ImportError, InputError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a file that is no model leads to
        got = f"{type(error).__name__}: {[*str(error).strip().splitlines(), ''][0][:200]}"
    hint = "a folder with config.json, weights and tokenizer, or a name on the Hub"
    raise InputError("a model that transformers can load", got, where=model, hint=hint)


def _limit(of_tokenizer: int, config: Mapping[str, Any]) -> int:
    """How many tokens the model takes."""
    positions = config.get("max_position_embeddings") or 0
    if config.get("model_type") in ("roberta", "xlm-roberta"):
        positions -= 2  # its positions begin at 2
    # A tokenizer that knows no limit says an enormous one.
    limits = [each for each in (positions, of_tokenizer) if 0 < each < 10**6]
    return min(limits, default=_NO_LIMIT)


Count = Callable[[str], int]
"""Tokens of a text."""


def windows(text: str, room: int, count: Count) -> list[str]:
    """Parts of at most ``room`` tokens that hold all sentences in turn; none if nothing fits.

    A sentence that is too long by itself is split between words, or else between letters.
    """
    if room < 1:
        return []
    if not text.strip() or count(text) <= room:
        return [text]
    parts: list[tuple[int, int]] = []
    used = room
    spans = [*sentence_spans(text)] or [(0, len(text))]
    for start, end in chain.from_iterable(_fitting(text, *span, room, count) for span in spans):
        tokens = count(text[start:end])
        used += tokens + 1  # what stands between them
        if used > room:
            parts.append((start, end))
            used = tokens
        else:
            parts[-1] = (parts[-1][0], end)
    return [text[start:end] for start, end in parts]


def _fitting(text: str, start: int, end: int, room: int, count: Count) -> list[tuple[int, int]]:
    if end - start < 2 or count(text[start:end]) <= room:
        return [(start, end)]
    middle = (start + end) // 2
    space = text.rfind(" ", start + 1, middle + 1)
    middle = space if space > (start + middle) // 2 else middle
    return [*_fitting(text, start, middle, room, count), *_fitting(text, middle, end, room, count)]


def _weights(folder: Path) -> str:
    """Of the config and the weights: others are another model, to a store and in a comparison."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".json", ".safetensors", ".bin", ".model"):
            digest.update(path.name.encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()[:32]
