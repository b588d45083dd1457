"""Models that say how likely a text entails a claim, and the windows of a long text."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from noisesense.errors import JudgeError, check_whole
from noisesense_adapters.local.runtime import column_of, form_of, load
from noisesense_adapters.toolbox.sentences import sentence_spans

_NO_LIMIT = 2048
"""Tokens of one input where the model has no limit of its own, as T5: they bound the memory."""


class NLIModel:
    """A model that says how likely a text entails a claim, on this machine.

    Known by their names are MiniCheck's (``lytang/MiniCheck-Flan-T5-Large``, ``-RoBERTa-Large``,
    ``-DeBERTa-v3-Large``). Any other is a sequence classifier over pairs (premise, hypothesis)
    with a label for "entailment", or with a single column.

    A text longer than the model takes is split into windows of whole sentences; the probability is
    that of the likeliest window, as the models' authors have it. What only two windows together
    would entail is missed. No code of a model's repository is run.

    Args:
        model: a folder, or a name on the Hugging Face Hub. A folder with ``model.onnx`` and no
            weights of transformers runs in ONNX Runtime.
        device: e.g. ``"cuda:1"``; by default a GPU if there is one.
        batch_size: inputs at once.
        entailment: the label, or its column, if its name does not tell.

    Raises:
        InputError: no such model, one without a trained head, or no label for entailment.
        MissingExtraError: the packages are not installed.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        device: str | None = None,
        batch_size: int = 16,
        entailment: int | str | None = None,
    ) -> None:
        check_whole(batch_size, 1, "batch_size")
        folder = Path(model)
        self.name = folder.resolve().name if folder.is_dir() else os.fspath(model)
        self._runtime, self._form = load(os.fspath(model), partial(form_of, self.name), device)
        self._yes = self._form.yes
        if not self._form.words and (self._yes is None or entailment is not None):
            self._yes = column_of(self._runtime.labels, entailment)
        self._limit = self._runtime.limit or _NO_LIMIT
        self.batch_size = batch_size
        settings = [self._runtime.revision or _weights(folder), self._form, self._yes]
        self.identity = json.dumps(["NLIModel", *settings, self._limit])

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float]:
        """How likely each premise entails the claim at its place; NaN where the model fails.

        A claim that leaves no room for any text is not cut: it gets NaN.

        Raises:
            JudgeError: the model failed on every one.
        """
        if not claims:
            return []
        pairs = list(zip(self._windows(premises, claims), claims, strict=True))
        inputs = [(window, claim) for of, claim in pairs for window in of]
        found = iter(self._probabilities(self._encoded(inputs) if inputs else []))
        by_pair = [[next(found) for _ in of] for of, _ in pairs]
        # One window without an answer could have been the likeliest.
        return [math.nan if not of or any(map(math.isnan, of)) else max(of) for of in by_pair]

    def _windows(self, premises: Sequence[str], claims: Sequence[str]) -> list[list[str]]:
        texts = list(dict.fromkeys(chain(premises, claims)))
        size = dict(zip(texts, self._runtime.count(texts), strict=True))
        (empty,) = self._encoded([("", "")])
        # A few tokens more may come where texts meet.
        room = self._limit - len(empty["input_ids"]) - 4
        most = self._form.window or room
        return [
            windows(premise, min(room - size[claim], most), self._runtime.count)
            for premise, claim in zip(premises, claims, strict=True)
        ]

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        template = self._form.template
        if template is None:
            return self._runtime.encode(*map(list, zip(*pairs, strict=True)))
        eos = self._runtime.eos
        texts = [template.format(premise=text, claim=claim, eos=eos) for text, claim in pairs]
        return self._runtime.encode(texts, None)

    def _probabilities(self, inputs: Sequence[Any]) -> list[float]:
        """Inputs of one length need no padding, so they go together."""
        order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]["input_ids"]))
        found = [math.nan] * len(inputs)
        failures: list[Exception] = []
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            rows = self._logits([inputs[i] for i in batch], failures)
            for i, logits in zip(batch, rows, strict=True):
                found[i] = self._probability(logits)
        if failures and all(map(math.isnan, found)):
            problem = type(failures[-1]).__name__
            hint = "a smaller batch_size, or another device"
            raise JudgeError(f"the model {self.name} failed ({problem}). Hint: {hint}")
        return found

    def _logits(self, inputs: list[Any], failures: list[Exception]) -> list[list[float]]:
        """Of a batch that fails, its halves."""
        try:
            return self._runtime.logits(inputs)
        except (RuntimeError, IndexError) as error:
            if len(inputs) == 1:
                failures.append(error)
                return [[math.nan]]
        half = len(inputs) // 2
        return self._logits(inputs[:half], failures) + self._logits(inputs[half:], failures)

    def _probability(self, logits: list[float]) -> float:
        if not all(map(math.isfinite, logits)):
            return math.nan
        column = self._yes or 0
        if self._form.words:
            logits, column = [logits[each] for each in self._form.words], 1
        if len(logits) == 1:
            logits, column = [0.0, logits[0]], 1  # a sigmoid
        most = max(logits)
        weights = [math.exp(each - most) for each in logits]
        return weights[column] / math.fsum(weights)


Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each of several texts."""


def windows(text: str, room: int, count: Count) -> list[str]:
    """Parts of at most ``room`` tokens that hold all sentences in turn; none if nothing fits.

    A sentence that is too long by itself is split between words, or else between letters.
    """
    if room < 1:
        return []
    if not text.strip() or count([text])[0] <= room:
        return [text]
    parts: list[tuple[int, int]] = []
    used = room
    spans = [*sentence_spans(text)] or [(0, len(text))]
    for start, end in chain.from_iterable(_fitting(text, *span, room, count) for span in spans):
        (tokens,) = count([text[start:end]])
        used += tokens + 1  # what stands between them
        if used > room:
            parts.append((start, end))
            used = tokens
        else:
            parts[-1] = (parts[-1][0], end)
    return [text[start:end] for start, end in parts]


def _fitting(text: str, start: int, end: int, room: int, count: Count) -> list[tuple[int, int]]:
    if end - start < 2 or count([text[start:end]])[0] <= room:
        return [(start, end)]
    middle = (start + end) // 2
    space = text.rfind(" ", start + 1, middle + 1)
    middle = space if space > (start + middle) // 2 else middle
    return [
        *_fitting(text, start, middle, room, count),
        *_fitting(text, middle, end, room, count),
    ]


def _weights(folder: Path) -> str:
    """Of the config and the weights: others are another model, to a store and in a comparison."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".json", ".safetensors", ".bin", ".onnx", ".model", ".data"):
            digest.update(path.name.encode())
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()[:32]
