"""What runs a model: transformers on PyTorch, or ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from noisesense.errors import InputError, describe
from noisesense_adapters.toolbox.extras import needs_extra


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


def column_of(labels: Mapping[int, str], wanted: int | str | None) -> int:
    """The column of entailment. Raises `InputError`: it is never guessed."""
    if len(labels) == 1 and wanted is None:
        return 0
    found = [
        column
        for column, label in labels.items()
        if (label.lower().startswith(_YES) if wanted is None else wanted in (column, label))
    ]
    if len(found) == 1:
        return found[0]
    hint = "NLIModel(…, entailment=LABEL), or name the labels in config.json (id2label)"
    expected = "one label for entailment" if wanted is None else f"the label {describe(wanted)}"
    raise InputError(expected, describe(list(labels.values())), where="labels", hint=hint)


FormOf = Callable[[Mapping[str, Any]], Form]


def load(model: str, form_of: FormOf, device: str | None) -> tuple[Runtime, Form]:
    """The model, and how it is asked. Raises as `noisesense_adapters.local.NLIModel`."""
    folder = Path(model)
    found = [path for path in (folder / "model.onnx", folder / "onnx/model.onnx") if path.exists()]
    by, make = "transformers", partial(_Torch.load, model, form_of, device)
    hint = "a folder with config.json, weights and tokenizer, or a name on the Hub"
    if found and not [*folder.glob("*.safetensors"), *folder.glob("*.bin")]:
        by, make = "ONNX Runtime", partial(_Onnx.load, folder, found[0], form_of, device)
        hint = "a folder with config.json, tokenizer.json and model.onnx"
    try:
        return make()
    except (ImportError, InputError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a file that is no model leads to
        got = f"{type(error).__name__}: {[*str(error).strip().splitlines(), ''][0][:200]}"
        failure = InputError(f"a model that {by} can load", got, where=model, hint=hint)
    raise failure


class _Torch:
    """A model of transformers.

    Attributes:
        eos: the mark that ends a text.
        labels: of the columns.
        limit: tokens of one input; None where nothing says it.
        revision: the commit on the Hub; empty for a folder.
    """

    def __init__(self, model: Any, tokenizer: Any, is_t5: bool) -> None:
        self._model, self._tokenizer, self._is_t5 = model, tokenizer, is_t5
        self.eos: str = tokenizer.eos_token or tokenizer.sep_token or ""
        self.revision: str = getattr(model.config, "_commit_hash", None) or ""
        self.labels: dict[int, str] = dict(model.config.id2label)
        self.limit = _limit(tokenizer.model_max_length, model.config.to_dict())

    @classmethod
    def load(cls, name: str, form_of: FormOf, device: str | None) -> tuple[Runtime, Form]:
        with needs_extra("local", "torch", "transformers"):
            torch: Any = import_module("torch")  # without it transformers has other classes
            transformers: Any = import_module("transformers")
        form = form_of(transformers.PretrainedConfig.get_config_dict(name)[0])
        kind: Any = transformers.AutoModelForSequenceClassification
        if form.words:
            kind = transformers.AutoModelForSeq2SeqLM
        model, info = kind.from_pretrained(name, output_loading_info=True)
        if missing := sorted(info["missing_keys"]):
            hint = "a model that was trained to classify, not one to be fine-tuned"
            expected = "weights for every part of the model"
            raise InputError(expected, f"none for {missing[0]}", where=name, hint=hint)
        if device is None:
            has_mps = torch.backends.mps.is_available()
            device = "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        return cls(model.eval().to(device), tokenizer, bool(form.words)), form

    def count(self, texts: Sequence[str]) -> list[int]:
        encoded = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None) -> list[Any]:
        encoded = self._tokenizer(texts, pairs, verbose=False)
        return [
            dict(zip(encoded.keys(), each, strict=True))
            for each in zip(*encoded.values(), strict=True)
        ]

    def logits(self, inputs: Sequence[Any]) -> list[list[float]]:
        torch: Any = import_module("torch")
        device = self._model.device
        batch = self._tokenizer.pad(list(inputs), return_tensors="pt").to(device)
        if self._is_t5:
            start = self._model.config.decoder_start_token_id or 0
            shape = (len(inputs), 1)
            batch["decoder_input_ids"] = torch.full(shape, start, dtype=torch.long, device=device)
        with torch.inference_mode():
            found = self._model(**batch).logits.float()
        return cast("list[list[float]]", (found[:, 0] if self._is_t5 else found).cpu().tolist())


class _Onnx:
    """A model exported to ONNX, with its ``tokenizer.json``."""

    revision = ""

    def __init__(self, session: Any, tokenizer: Any, config: Mapping[str, Any], eos: str) -> None:
        self._session, self._tokenizer, self.eos = session, tokenizer, eos
        self._names = [each.name for each in session.get_inputs()]
        self._pad = config.get("pad_token_id") or 0
        labels = config.get("id2label") or {0: "LABEL_0", 1: "LABEL_1"}
        self.labels: dict[int, str] = {int(column): str(label) for column, label in labels.items()}
        self.limit = _limit(None, config)

    @classmethod
    def load(
        cls, folder: Path, path: Path, form_of: FormOf, device: str | None
    ) -> tuple[Runtime, Form]:
        with needs_extra("local-onnx", "onnxruntime", "tokenizers", "numpy"):
            import_module("numpy")
            onnxruntime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
        config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        form = form_of(config)
        if form.words:
            hint = "load its weights with transformers (the extra local)"
            raise InputError("a sequence classifier", "a T5", where=str(path), hint=hint)
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        wanted = ["CUDAExecutionProvider"] * (device not in (None, "cpu"))
        providers = [*wanted, "CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(str(path), providers=providers)
        return cls(session, tokenizer, config, _eos(folder)), form

    def count(self, texts: Sequence[str]) -> list[int]:
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [len(each.ids) for each in encoded]

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None) -> list[Any]:
        whole = list(texts) if pairs is None else list(zip(texts, pairs, strict=True))
        return [
            {
                "input_ids": each.ids,
                "attention_mask": [1] * len(each),
                "token_type_ids": each.type_ids,
            }
            for each in self._tokenizer.encode_batch(whole)
        ]

    def logits(self, inputs: Sequence[Any]) -> list[list[float]]:
        numpy: Any = import_module("numpy")
        width = max(len(each["input_ids"]) for each in inputs)
        feed: dict[str, Any] = {}
        for name in self._names:
            fill = self._pad if name == "input_ids" else 0
            rows = [[*each[name], *[fill] * (width - len(each[name]))] for each in inputs]
            feed[name] = numpy.array(rows, dtype=numpy.int64)
        try:
            found: Any = self._session.run(None, feed)[0]
        except Exception as error:  # noqa: BLE001 - its own kinds, one for each cause
            raise RuntimeError(type(error).__name__) from None
        return cast("list[list[float]]", found.astype(float).tolist())


Runtime = _Torch | _Onnx


def _limit(of_tokenizer: int | None, config: Mapping[str, Any]) -> int | None:
    """How many tokens the model takes; None if nothing says it."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in ("roberta", "xlm-roberta"):
        positions -= 2  # its positions begin at 2
    limits = [
        each for each in (of_tokenizer, positions) if isinstance(each, int) and 0 < each < 10**6
    ]
    return min(limits, default=None)


def _eos(folder: Path) -> str:
    """The mark that ends a text, from the tokenizer's config."""
    path = folder / "tokenizer_config.json"
    marks: Any = json.loads(path.read_text("utf-8")) if path.exists() else {}
    mark = marks.get("eos_token") or marks.get("sep_token") or ""
    return mark if isinstance(mark, str) else str(mark["content"])
