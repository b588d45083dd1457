"""How each family of models is asked, and where its answer stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from noisesense.errors import InputError, describe

Head = Literal["columns", "first-position", "first-word"]


class Form(NamedTuple):
    """How a family of models is asked.

    Attributes:
        head: where the answer is: in columns, one for each label; in those of the first position;
            or in the first word of a reply.
        template: of one text with both in it, ``{eos}`` being the tokenizer's end mark; None: the
            tokenizer's own pair of texts.
        yes: the column that means "entailed", or the two words of a reply, "no" and "yes"; None:
            the label says it.
        window: so many tokens of a long text at once; None: as many as the model takes.
        limit: tokens of a whole input; None: the model's own.
        prefix: before the names of the saved weights.
        foundation: the model whose tokenizer and layout it has, if not its own.
    """

    head: Head = "columns"
    template: str | None = None
    yes: int | tuple[int, int] | None = None
    window: int | None = None
    limit: int | None = None
    prefix: str = ""
    foundation: str = ""


# Sources: github.com/Liyan06/MiniCheck, minicheck/inference.py (windows of 500 words, some 650
# tokens, and of 400 tokens); huggingface.co/vectara/hallucination_evaluation_model. T5 has no
# limit of its own: 2,048 tokens bound the memory.
_MINICHECK_T5 = Form("first-word", "predict: {premise}{eos}{claim}", (3, 209), 650, 2048)
_MINICHECK = Form("columns", "{premise}{eos}{claim}", 1, 400)
_HHEM = Form(
    "first-position",
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {premise}\n\nHypothesis: {claim}",
    1,
    limit=2048,
    prefix="t5.",
    foundation="google/flan-t5-base",
)


def form_of(name: str, config: Mapping[str, Any]) -> Form:
    """By the model's name and its config."""
    if config.get("model_type") == "HHEMv2":
        return _HHEM._replace(foundation=str(config.get("foundation") or _HHEM.foundation))
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
