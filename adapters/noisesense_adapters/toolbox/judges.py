"""Where a metric's verdicts come from: given as data, from a judge, or from a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, cast

from noisesense import Judge, RecordedJudge, Sample, Verdicts
from noisesense.errors import InputError, located
from noisesense.judging.protocol import Judgement, StructuredLLM
from noisesense.judging.sharing import judge_for
from noisesense.scoring.definitions import DefinitionName, chunk_modes, modes_of


def check_judge(judge: object, options: Mapping[str, Any] | None, **others: object) -> None:
    """A judge alone, or options that `LLMJudge` takes.

    Args:
        judge: as given to the metric.
        options: its ``judge_options``.
        others: its other arguments that only a model uses.

    Raises:
        InputError: no judge, something beside it, or an unknown option.
    """
    if judge is not None:
        if not isinstance(judge, Judge):
            raise InputError(
                "an object with `async def judge(sample)`",
                type(judge).__name__,
                where="judge",
                hint="for a recording: judge=RecordedJudge(path)",
            )
        check_alone(**others, judge_options=options)
    if options:
        from noisesense.judging.llm import check_judge_options

        check_judge_options(options)


def given_judge(judge: Any, **others: Any) -> Judge | None:
    """The judge that a user gave: an object, or the path of a recording; None for none.

    Raises:
        InputError: something else, or one of ``others`` beside it.
    """
    if judge is None:
        return None
    check_alone(**others)
    if isinstance(judge, (str, os.PathLike)):
        return RecordedJudge(cast("str | os.PathLike[str]", judge))
    if not isinstance(judge, Judge):
        expected = "a recording's path, or an object with `async def judge(sample)`"
        raise InputError(expected, type(judge).__name__, where="judge")
    return judge


def untested(judges: Iterable[str]) -> list[str]:
    """What nobody tested of these judges, each an `noisesense.LLMJudge.name`, as warnings."""
    names = list(judges)
    if any("check=list" in name or "check=each" in name for name in names):
        how = "--check auto first asks it a few statements of known answer"
        return [f"Nobody tested this judge: {how}."]
    if any("check=auto" in name for name in names):
        return [
            "The judge passed a test of 18 plain statements. How well it takes answers apart was "
            "not tested: read the claims of some samples, or label them (noisesense trust)."
        ]
    return []


def check_alone(**others: object) -> None:
    """Raise `InputError` for what is given beside a judge."""
    for name, value in others.items():
        if value is not None:
            raise InputError(
                "a judge alone", f"{name} too", where="judge", hint=f"a judge does not use {name}"
            )


def judge_over(
    model: object,
    bridge: Callable[[], StructuredLLM],
    key: Hashable,
    *,
    store: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Judge:
    """The `LLMJudge` over a host's model: the same one for the same model and arguments.

    Args:
        model: the host's own object, or a name.
        bridge: makes the `StructuredLLM` over it, if there is no judge yet.
        key: the host, and whatever else tells two bridges over one model apart.
        store: a `VerdictStore`, or the path of one.
        options: further arguments of `LLMJudge`.

    Raises:
        InputError: an option that `LLMJudge` does not take.
    """
    arguments = dict(options or {})

    def make() -> Judge:
        # Loaded only where a model judges.
        from noisesense.judging.llm import LLMJudge
        from noisesense.judging.store import VerdictStore

        is_path = isinstance(store, (str, os.PathLike))
        return LLMJudge(bridge(), store=VerdictStore(store) if is_path else store, **arguments)

    return judge_for(model, (key, store, tuple(sorted(arguments.items()))), make)


def unasked(sample: Sample, definition: DefinitionName) -> Judgement | None:
    """What needs no judge: nothing was retrieved, and the definition counts only what comes from a
    chunk. The response is then one claim of which nothing is known, and the score is undefined.
    """
    if sample.retrieved_contexts or chunk_modes(definition) != modes_of(definition):
        return None
    claim: dict[str, Any] = {"text": sample.response, "correct": None, "entailed_by": []}
    return Judgement(Verdicts.model_validate({"response_claims": [claim], "chunks": []}))


def read_verdicts(data: Any, sample: Sample | None, where: str) -> Verdicts:
    """Verdicts in the published form, beside the sample; a text is read as JSON.

    Raises:
        InputError: they are malformed, or do not fit the sample. It names ``where``.
    """
    with located(where):
        read = Verdicts.model_validate_json if isinstance(data, str) else Verdicts.model_validate
        verdicts = read(data)
        return verdicts if sample is None else verdicts.beside(sample)
