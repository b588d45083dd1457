"""Models that estimate how likely a text entails a claim, and the windows of a long text."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, JudgeError, check_whole, describe
from noisesense.judging.sentences import sentence_spans
from noisesense_adapters.extras import needs_extra

_NO_LIMIT = 2048
"""The limit of tokens for a model without one, such as T5, to bound the memory."""


class Form(NamedTuple):
    """The input and output of a family of models.

    Attributes:
        template: one text with ``{premise}``, ``{claim}`` and ``{eos}`` (the tokenizer's end
            mark); None for the tokenizer's pair of texts.
        yes: the column for "entailed"; None to find it by its label, or with ``words``.
        words: the tokens of "no" and "yes" as the first word of a reply; None for a classifier.
        window: tokens of a long text in one input; None for as many as the model takes.
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
    """The form of a model, by its name and its config."""
    if "minicheck" in name.lower():
        return _MINICHECK_T5 if config.get("model_type") == "t5" else _MINICHECK
    return Form()


_YES = ("entail", "support", "consistent", "faithful", "grounded")


def column_of(labels: Mapping[int, str]) -> int:
    """The column of entailment. Raises `InputError` if the labels do not say it."""
    if len(labels) == 1:
        return 0
    columns = [column for column, label in labels.items() if label.lower().startswith(_YES)]
    if len(columns) == 1:
        return columns[0]
    got = describe(list(labels.values()))
    hint = "name the labels in config.json (id2label)"
    raise InputError("one label for entailment", got, where="labels", hint=hint)


class NLIModel:
    """A local model that estimates how likely a text entails a claim.

    MiniCheck's models (``lytang/MiniCheck-Flan-T5-Large``, ``-RoBERTa-Large``,
    ``-DeBERTa-v3-Large``) are known by their names. Any other is a sequence classifier over pairs
    (premise, hypothesis) with a label for "entailment", or with a single column.

    A text that is too long is split into windows of whole sentences; the probability is the
    highest of all windows, as in the models' papers. A claim that follows only from two windows
    together is missed. No code from a model's repository is run.

    Args:
        model: a folder, or a name on the Hugging Face Hub.
        device: e.g. ``"cuda:1"``; by default a GPU if there is one.
        batch_size: the number of inputs at once.

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
        """The probability that each premise entails its claim; NaN without an answer.

        A claim that leaves no room for a text gets NaN.

        Raises:
            JudgeError: the model failed.
        """
        inputs: list[Any] = []
        counts: list[int] = []
        for premise, claim in zip(premises, claims, strict=True):
            encoded = [self._encoded(window, claim) for window in self._windows(premise, claim)]
            counts.append(len(encoded))
            inputs += encoded
        probabilities = iter(self._probabilities(inputs))
        highest: list[float] = []
        for count in counts:
            of_windows = list(islice(probabilities, count))
            highest.append(_highest(of_windows))
        return highest

    def _windows(self, premise: str, claim: str) -> list[str]:
        # Where texts meet, there may be a few more tokens.
        marks = len(self._encoded("", "")["input_ids"]) + 4
        room = self._limit - marks - self._count(claim)
        if self._form.window is not None:
            room = min(room, self._form.window)
        return windows(premise, room, self._count)

    def _count(self, text: str) -> int:
        encoded = self._tokenizer(text, add_special_tokens=False, verbose=False)
        return len(encoded["input_ids"])

    def _encoded(self, premise: str, claim: str) -> Any:
        if self._form.template is None:
            return self._tokenizer(premise, claim, verbose=False)
        eos = self._tokenizer.eos_token or self._tokenizer.sep_token or ""
        text = self._form.template.format(premise=premise, claim=claim, eos=eos)
        return self._tokenizer(text, verbose=False)

    def _probabilities(self, inputs: Sequence[Any]) -> list[float]:
        # By length, as inputs of one length need no padding.
        order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]["input_ids"]))
        probabilities = [math.nan] * len(inputs)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            rows = self._logits([inputs[i] for i in batch])
            for i, logits in zip(batch, rows, strict=True):
                probabilities[i] = self._probability(logits)
        return probabilities

    def _logits(self, inputs: list[Any]) -> list[list[float]]:
        try:
            return self._run(inputs)
        except (RuntimeError, IndexError) as error:
            problem = type(error).__name__
        # Not within the handler: the error may quote the texts.
        hint = "a smaller batch_size, or another device"
        raise JudgeError(f"the model {self.name} failed ({problem}). Hint: {hint}")

    def _run(self, inputs: list[Any]) -> list[list[float]]:
        torch: Any = import_module("torch")
        device = self._model.device
        batch = self._tokenizer.pad(inputs, return_tensors="pt").to(device)
        if self._form.words:
            start = self._model.config.decoder_start_token_id or 0
            shape = (len(inputs), 1)
            batch["decoder_input_ids"] = torch.full(shape, start, dtype=torch.long, device=device)
        with torch.inference_mode():
            logits = self._model(**batch).logits.float()
        if self._form.words:
            logits = logits[:, 0, list(self._form.words)]
        return cast("list[list[float]]", logits.cpu().tolist())

    def _probability(self, logits: list[float]) -> float:
        if not all(map(math.isfinite, logits)):
            return math.nan
        # Of a model that replies in words `_run` keeps the logits of "no" and "yes".
        column = 1 if self._yes is None else self._yes
        if len(logits) == 1:  # a sigmoid is a softmax with 0
            logits = [0.0, *logits]
            column = 1
        largest = max(logits)
        weights = [math.exp(logit - largest) for logit in logits]
        return weights[column] / math.fsum(weights)


def _highest(probabilities: list[float]) -> float:
    # A window without an answer could have the highest one.
    if not probabilities or any(map(math.isnan, probabilities)):
        return math.nan
    return max(probabilities)


def _load(model: str, name: str, device: str | None) -> tuple[Form, Any, Any]:
    """The form, the model and its tokenizer. Raises as `NLIModel`."""
    with needs_extra("local", "torch", "transformers"):
        torch: Any = import_module("torch")  # first, as transformers needs it
        transformers: Any = import_module("transformers")
    try:
        config, _ = transformers.PretrainedConfig.get_config_dict(model)
        form = form_of(name, config)
        kind: Any = transformers.AutoModelForSequenceClassification
        if form.words:
            kind = transformers.AutoModelForSeq2SeqLM
        loaded, info = kind.from_pretrained(model, output_loading_info=True)
        missing = sorted(info["missing_keys"])
        if missing:
            hint = "a model that was trained to classify, not one to be fine-tuned"
            expected = "weights for every part of the model"
            raise InputError(expected, f"none for {missing[0]}", where=model, hint=hint)
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        loaded = loaded.eval().to(device or _best_device(torch))
        return form, loaded, tokenizer
    except (ImportError, InputError):
        raise
    except Exception as error:  # noqa: BLE001 - transformers may raise anything
        first_line = str(error).strip().partition("\n")[0]
        got = f"{type(error).__name__}: {first_line[:200]}"
    hint = "a folder with config.json, weights and tokenizer, or a name on the Hub"
    raise InputError("a model that transformers can load", got, where=model, hint=hint)


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


_FROM_TWO = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet")
"""Models whose positions begin at 2: the last two of their positions are beyond the text."""


def _limit(of_tokenizer: int, config: Mapping[str, Any]) -> int:
    """The number of tokens that the model takes."""
    positions = config.get("max_position_embeddings") or 0
    if config.get("model_type") in _FROM_TWO:
        positions -= 2
    # A tokenizer without a limit has an enormous one.
    limits = [limit for limit in (positions, of_tokenizer) if 0 < limit < 10**6]
    return min(limits, default=_NO_LIMIT)


Count = Callable[[str], int]
"""Counts the tokens of a text."""


def windows(text: str, room: int, count: Count) -> list[str]:
    """Split a text into parts of at most ``room`` tokens; no parts if nothing fits.

    A sentence that is too long is split between words, or between letters.
    """
    if room < 1:
        return []
    if not text.strip() or count(text) <= room:
        return [text]
    parts: list[tuple[int, int]] = []
    used = room
    pieces: list[tuple[int, int]] = []
    for start, end in list(sentence_spans(text)) or [(0, len(text))]:
        pieces += _fitting(text, start, end, room, count)
    for start, end in pieces:
        tokens = count(text[start:end])
        used += tokens + 1  # one for the space between them
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
    if space > (start + middle) // 2:
        middle = space
    first = _fitting(text, start, middle, room, count)
    second = _fitting(text, middle, end, room, count)
    return first + second


def _weights(folder: Path) -> str:
    """A digest of the config and the weights, which identify the model."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".json", ".safetensors", ".bin", ".model"):
            digest.update(path.name.encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()[:32]
