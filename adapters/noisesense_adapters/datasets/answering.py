"""`ablate`: the user's system answers a plan of other chunks, and its answers are judged."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from noisesense import Judge, Result
from noisesense.ablation import VARIANTS, Ablation
from noisesense.ablation.cases import Row, cases_of
from noisesense.ablation.effect import ablation_async
from noisesense.ablation.planning import matched, plan
from noisesense.errors import InputError, check_whole, describe
from noisesense.jsonl import as_path, read_lines
from noisesense.judging.calls import gather_all

Answer = Callable[[str, list[str]], "str | Awaitable[str]"]
"""The user's system: from a question and the texts of chunks to a response."""


async def ablate(
    results: Iterable[Result],
    answer: Answer,
    judge: Judge,
    *,
    variants: Sequence[str] = VARIANTS,
    leave_out: int = 0,
    max_concurrency: int = 4,
    answers: str | os.PathLike[str] | None = None,
) -> Ablation:
    """Plan an ablation, ask the user's system, and judge its answers.

    In one process: `noisesense.ablation.plan`, the system's answers to it, and `ablation`.

    Args:
        results: as `plan` takes them.
        answer: from a question and the texts of chunks to a response; a function or a coroutine
            function. A function runs in a thread.
        judge: as `ablation` takes it; with a store, its calls are not paid for twice.
        variants: as `plan` takes them.
        leave_out: likewise.
        max_concurrency: answers at once.
        answers: a JSON lines file that keeps each answer as soon as it is there. The same call
            then asks only for those that are missing or blank.

    Raises:
        InputError: as `plan` and `ablation`; an answer that is no text; ``answers`` that is a
            file of something else.
        JudgeError: every call of the judge failed.
        Exception: whatever ``answer`` raises. Answers that were finished are in the file.
    """
    check_whole(max_concurrency, 1, "max_concurrency")
    results = list(results)
    cases = cases_of(results, Counter())
    rows = [Row.model_validate(row) for row in plan(results, variants, leave_out)]
    path = as_path(answers or os.devnull)
    earlier = _earlier_answers(path)
    answered: list[Row] = []
    unanswered: list[Row] = []
    for row in rows:
        if row.place in earlier:
            answered.append(earlier[row.place])
        else:
            unanswered.append(row)
    list(matched(cases, answered))  # raises for other results' answers, before anything is asked
    queue = iter(unanswered)

    async def work() -> None:
        for row in queue:
            response = await _response(answer, row)
            answered.append(row.model_copy(update={"response": response}))
            _append(path, answered[-1])

    await gather_all(work() for _ in range(max_concurrency))
    return await ablation_async(results, answered, judge)


async def _response(answer: Answer, row: Row) -> str:
    """Return the response of the user's system.

    Raises:
        InputError: it is no text.
        Exception: whatever the system raises.
    """
    texts = [chunk.text for chunk in row.retrieved_contexts]
    response: Any = await asyncio.to_thread(answer, row.user_input, texts)
    if inspect.isawaitable(response):
        response = await response
    if not isinstance(response, str):
        raise InputError("a text", describe(response), where=f"the answer to {row.place}")
    return response


def _append(path: Path, row: Row) -> None:
    """Add a line. Its end comes first, since a killed run may have cut off the last one."""
    with path.open("a", encoding="ascii", newline="\n") as file:
        file.write(f"\n{json.dumps(row.to_dict())}")


def _earlier_answers(path: Path) -> dict[str, Row]:
    """Return the answers in the file by place, without unreadable or blank ones.

    Raises:
        InputError: the file holds something else.
    """
    rows: dict[str, Row] = {}
    if not path.exists():
        return rows
    for number, text in read_lines(path, str):
        if not text.startswith("{"):
            raise InputError("answers", describe(text), where=f"{path}, line {number}")
        with suppress(InputError):
            row = Row.model_validate_json(text)
            if row.response is not None and row.response.strip():
                rows[row.place] = row
    return rows
