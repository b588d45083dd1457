"""The arguments of `LLMJudge` that a framework's metric passes on."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from noisesense.errors import InputError, describe
from noisesense.llm_judge.judge import LLMJudge

__all__ = ["check_judge_options"]

# The metric gives these itself, from arguments of its own.
_OWN = ("llm", "store")


def check_judge_options(options: Mapping[str, Any], where: str = "judge_options") -> None:
    """Only names that `LLMJudge` takes, before anything is asked. Its values it checks itself.

    Raises:
        InputError: not a mapping, or a name it does not take; the hint has what was meant.
    """
    if not isinstance(options, Mapping):
        raise InputError("a mapping of options", describe(options), where=where)
    known = [name for name in inspect.signature(LLMJudge).parameters if name not in _OWN]
    for name in options:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            if name in _OWN:
                hint = "it is an argument of the metric itself"
            raise InputError("options of LLMJudge", f"{name!r}", where=where, hint=hint)
