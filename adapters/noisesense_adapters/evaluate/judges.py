"""The judge of a metric: a given one, or one over a model."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Hashable, Mapping
from inspect import signature
from typing import Any, cast

from noisesense import Judge, RecordedJudge
from noisesense.errors import InputError, kind_of
from noisesense.judging.protocol import StructuredLLM

_MODEL = r"\w\w[\w-]*:[^\\/]"
"""How ``provider:model`` begins, and no path."""


def given_judge(
    judge: Any, *, judge_options: Mapping[str, Any] | None = None, **of_model: object
) -> Judge | None:
    """Return the user's judge, if there is one; else None, and the host makes one over a model.

    Args:
        judge: an object, the path of a recording, or None.
        judge_options: options of the `LLMJudge` that is made if there is no judge.
        of_model: other arguments that are only for a model; None where one was not given.

    Raises:
        InputError: not a judge, another argument beside a judge, an unknown option (without a
            judge), or a recording that cannot be read.
    """
    if judge is None:
        _check_options(judge_options or {})
        return None
    for name, value in {**of_model, "judge_options": judge_options}.items():
        if value is not None:
            hint = f"a judge does not use {name}"
            raise InputError("a judge alone", f"{name} too", where="judge", hint=hint)
    if isinstance(judge, str) and re.match(_MODEL, judge) and not os.path.lexists(judge):
        hint = f"of a model by name: judge=model_judge({judge!r}), of noisesense_adapters.factory"
        raise InputError("a recording's path, or a judge", repr(judge), where="judge", hint=hint)
    if isinstance(judge, (str, os.PathLike)):
        return RecordedJudge(cast("str | os.PathLike[str]", judge))
    if isinstance(judge, type) or not isinstance(judge, Judge):
        expected = "a recording's path, or an object with `async def judge(sample)`"
        raise InputError(expected, kind_of(judge), where="judge")
    return judge


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise `InputError` for a name that `LLMJudge` does not take. It checks the values itself."""
    from noisesense.judging.llm import LLMJudge

    unknown = options.keys() - signature(LLMJudge).parameters.keys()
    if unknown:
        got = ", ".join(sorted(unknown))
        raise InputError("options of LLMJudge", got, where="judge_options")


_judges: dict[Hashable, tuple[object, Judge]] = {}
_judges_lock = threading.Lock()
_JUDGES_KEPT = 16


def judge_over(
    model: object,
    bridge: Callable[[], StructuredLLM],
    key: Hashable,
    *,
    store: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Judge:
    """Return the `LLMJudge` over a host's model; the same one for the same model and arguments.

    Metrics with the same model (the same object, or the same name) get the same judge, so that
    `noisesense.judging.sharing.judge_once` can share its verdicts. The 16 used last are kept.

    Args:
        model: the host's object, or a name.
        bridge: makes the `StructuredLLM` over it, if there is no judge yet.
        key: the host, and all else that tells two bridges over one model apart.
        store: a `VerdictStore`, or the path of one.
        options: further arguments of `LLMJudge`.

    Raises:
        InputError: a value that `LLMJudge` does not take, or a store that cannot be opened.
        TypeError: an option of an unknown name; `given_judge` refuses those before.
    """
    # Not needed for given verdicts.
    from noisesense.judging.llm import LLMJudge
    from noisesense.judging.store import VerdictStore

    arguments = dict(options or {})
    owner = model if isinstance(model, str) else id(model)
    known = (owner, key, store, tuple(sorted(arguments.items())))
    with _judges_lock:
        judge = _judges.pop(known, (None, None))[1]
        if judge is None:
            if isinstance(store, (str, os.PathLike)):
                store = VerdictStore(cast("str", store))
            judge = LLMJudge(bridge(), store=store, **arguments)
        # The model is held, too, so that no other object gets its id.
        _judges[known] = (model, judge)
        if len(_judges) > _JUDGES_KEPT:
            del _judges[next(iter(_judges))]
        return judge
