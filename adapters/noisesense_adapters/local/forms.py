"""How each family of models is asked, and where its answer stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from noisesense.errors import InputError, describe


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
