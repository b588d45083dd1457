"""Models that say how likely a text entails a claim: how each family is asked, and its windows."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from noisesense.errors import JudgeError, check_whole
from noisesense_adapters.local.forms import column_of, form_of
from noisesense_adapters.local.runtime import load
from noisesense_adapters.toolbox.sentences import sentence_spans


class NLIModel:
    """A model that says how likely a text entails a claim, on this machine.

    Known by their names are MiniCheck's (``lytang/MiniCheck-Flan-T5-Large``, ``-RoBERTa-Large``,
    ``-DeBERTa-v3-Large``) and, by its config, HHEM 2 (``vectara/hallucination_evaluation_model``).
    Any other is a sequence classifier over pairs (premise, hypothesis) with a label for
    "entailment", or with a single column.

    A text longer than the model takes is split into windows of whole sentences; the probability is
    that of the likeliest window, as the models' authors have it. What only two windows together
    would entail is missed. No code of a model's repository is run.

    Args:
        model: a folder, or a name on the Hugging Face Hub. A folder with ``model.onnx`` and no
            weights of transformers runs in ONNX Runtime.
        device: e.g. ``"cuda:1"``; by default a GPU if there is one.
        batch_size: inputs at once.
        entailment: the label, or its column, if its name does not tell.
        max_tokens: of one input, if not as many as the model takes.

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
        max_tokens: int | None = None,
    ) -> None:
        check_whole(batch_size, 1, "batch_size")
        if max_tokens is not None:
            check_whole(max_tokens, 8, "max_tokens")
        folder = Path(model)
        self.name = _name_of(folder) if folder.is_dir() else os.fspath(model)
        self._runtime, self._form = load(os.fspath(model), partial(form_of, self.name), device)
        self._yes = self._form.yes
        if self._form.head != "first-word" and (self._yes is None or entailment is not None):
            self._yes = column_of(self._runtime.labels, entailment)
        limits = [self._form.limit or self._runtime.limit, max_tokens]
        self._limit = min((each for each in limits if each), default=512)
        self.batch_size = batch_size
        revision = self._runtime.revision or weights_digest(folder)
        settings = [revision, self._form, self._yes, self._limit]
        self.identity = json.dumps(["NLIModel", *settings], default=str)

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float]:
        """How likely each premise entails the claim at its place; NaN where the model fails.

        A claim that leaves no room for any text is not cut: it gets NaN.

        Raises:
            JudgeError: the model failed on every one.
        """
        if not claims:
            return []
        inputs: list[tuple[int, str, str]] = []
        for at, windows in enumerate(self._windows(premises, claims)):
            inputs += [(at, window, claims[at]) for window in windows]
        encoded = self._encoded([each[1:] for each in inputs])
        # Inputs of one length need no padding.
        order = sorted(range(len(inputs)), key=lambda i: -len(encoded[i]["input_ids"]))
        found: dict[int, float] = {}
        failures: list[Exception] = []
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            rows = self._logits([encoded[i] for i in batch], failures)
            found.update(zip(batch, map(self._probability, rows), strict=True))
        if failures and all(map(math.isnan, found.values())):
            problem = type(failures[-1]).__name__
            hint = "a smaller batch_size, or another device"
            raise JudgeError(f"the model {self.name} failed ({problem}). Hint: {hint}")
        by_pair: dict[int, list[float]] = defaultdict(list)
        for i, (at, *_) in enumerate(inputs):
            by_pair[at].append(found[i])
        # One window without an answer could have been the likeliest.
        return [
            math.nan if not (of := by_pair[at]) or any(map(math.isnan, of)) else max(of)
            for at in range(len(claims))
        ]

    def _windows(self, premises: Sequence[str], claims: Sequence[str]) -> Iterable[list[str]]:
        texts = list(dict.fromkeys(chain(premises, claims)))
        size = dict(zip(texts, self._runtime.count(texts), strict=True))
        (empty,) = self._encoded([("", "")])
        for premise, claim in zip(premises, claims, strict=True):
            # A few tokens more may come where texts meet.
            room = self._limit - len(empty["input_ids"]) - size[claim] - 4
            room = min(room, self._form.window or room)
            yield windows(premise, room, size[premise], self._runtime.count)

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        if not pairs:
            return []
        template = self._form.template
        if template is None:
            return self._runtime.encode(*map(list, zip(*pairs, strict=True)))
        texts = [
            template.format(premise=premise, claim=claim, eos=self._runtime.eos)
            for premise, claim in pairs
        ]
        return self._runtime.encode(texts, None)

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
        if isinstance(self._yes, tuple):
            logits, column = [logits[each] for each in self._yes], 1
        else:
            column = self._yes or 0
        if len(logits) == 1:
            return 1 / (1 + math.exp(-logits[0])) if logits[0] > -700 else 0.0
        most = max(logits)
        weights = [math.exp(each - most) for each in logits]
        return weights[column] / math.fsum(weights)


Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each of several texts."""


def windows(text: str, room: int, size: int, count: Count) -> list[str]:
    """Parts of at most ``room`` tokens that hold all sentences in turn; none if nothing fits.

    A sentence that is too long by itself is split between words, or else between letters.

    Args:
        text: of ``size`` tokens.
        room: how many tokens fit.
        size: see there.
        count: tokens of each of several texts.
    """
    if room < 1:
        return []
    if size <= room or not text.strip():
        return [text]
    pieces = list(sentence_spans(text)) or [(0, len(text))]
    sizes: list[int] = count([text[start:end] for start, end in pieces])
    parts: list[tuple[int, int]] = []
    used = room + 1
    for (start, end), tokens in zip(pieces, sizes, strict=True):
        if tokens > room:
            parts += _halves(text, start, end, room, count)
            used = room + 1
        elif used + tokens + 1 > room:
            parts.append((start, end))
            used = tokens
        else:
            parts[-1] = (parts[-1][0], end)
            used += tokens + 1  # what stands between them
    return [text[start:end] for start, end in parts]


def _halves(text: str, start: int, end: int, room: int, count: Count) -> list[tuple[int, int]]:
    if end - start < 2 or count([text[start:end]])[0] <= room:
        return [(start, end)]
    middle = (start + end) // 2
    space = text.rfind(" ", start + 1, middle + 1)
    middle = space if space > (start + middle) // 2 else middle
    return [
        *_halves(text, start, middle, room, count),
        *_halves(text, middle, end, room, count),
    ]


def _name_of(folder: Path) -> str:
    """The folder's, or in the Hub's cache the model's."""
    place = folder.resolve()
    if place.parent.name == "snapshots":
        return place.parent.parent.name.removeprefix("models--").replace("--", "/")
    return place.name


_SAMPLED = 64


def weights_digest(folder: Path) -> str:
    """Of the config and of some blocks of the weights: other weights are another model."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*")):
        if path.suffix not in (".json", ".safetensors", ".bin", ".onnx", ".model", ".data"):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            for at in range(0, size, max(size // _SAMPLED, 65536)):
                file.seek(at)
                digest.update(file.read(65536))
    return digest.hexdigest()[:32]
