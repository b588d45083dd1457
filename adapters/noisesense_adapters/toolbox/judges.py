"""What the metrics check of ``judge=`` and the arguments beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisesense import Judge
from noisesense.errors import InputError

__all__ = ["check_alone", "check_judge"]


def check_judge(judge: object, options: Mapping[str, Any] | None, **others: object) -> None:
    """A judge alone, or options that `LLMJudge` takes.

    Args:
        judge: as given to the metric.
        options: its ``judge_options``.
        others: its further arguments that are for a model.

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


def check_alone(**others: object) -> None:
    """Raise `InputError` for what is given beside a judge."""
    for name, value in others.items():
        if value is not None:
            raise InputError(
                "a judge alone", f"{name} too", where="judge", hint=f"{name} is for no judge"
            )
