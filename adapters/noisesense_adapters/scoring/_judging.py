"""Rows judged side by side, as few at once as keep the judge busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from noisesense import Judge, score
from noisesense.errors import (
    InputError,
    JudgeError,
    MissingExtraError,
    NoiseSenseError,
    StoreError,
)
from noisesense.llm_judge.concurrency import gather_all
from noisesense.results import Result
from noisesense.sharing import judge_once
from noisesense_adapters.io import BadRow, Row
from noisesense_adapters.scoring._journal import Journal
from noisesense_adapters.scoring._results import unscored

__all__ = ["GIVE_UP", "judge_rows"]

GIVE_UP = 20
"""So many samples that the judge fails on, and none that it judges: the run ends."""


async def judge_rows(
    rows: Iterator[Row | BadRow],
    judge: Judge,
    name: str | None,
    journal: Journal,
    *,
    concurrency: int,
    on_done: Callable[[Result | None], None],
) -> None:
    """Judge each row that the journal does not have, at most ``concurrency`` at once.

    Each result is in the journal before another row is read, so that what is interrupted loses
    what is being judged and nothing else. A sample that fails does not end the run.

    Args:
        on_done: is given each result; None for one of an earlier run.

    Raises:
        JudgeError: the judge failed on the first `GIVE_UP` samples.
        StoreError: the judge's store cannot be read or written.
    """
    waiting = enumerate(rows)
    judged = failed = 0

    async def work() -> None:
        nonlocal judged, failed
        for position, row in waiting:
            if isinstance(row, Row) and journal.take(position, row):
                judged += 1
                on_done(None)
                await asyncio.sleep(0)  # the others' calls go on meanwhile
                continue
            try:
                result = await _judged(row, judge, name, run=journal, position=position)
                judged += result.score is not None
            except JudgeError as error:
                result = unscored(row, error)
                failed += 1
            journal.add(position, result)
            on_done(result)
            if failed == GIVE_UP and not judged:
                raise JudgeError(
                    f"the judge failed on the first {failed} samples, so the run ends. "
                    f"The last: {result.error}"
                )

    await gather_all([work() for _ in range(concurrency)])


async def _judged(
    row: Row | BadRow, judge: Judge, name: str | None, *, run: object, position: int
) -> Result:
    """The row's result. Raises `JudgeError` if the judge failed.

    Each position asks as a metric of its own: equal rows are judged once.
    """
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    try:
        if row.sample is None:
            raise InputError("texts to judge", "only verdicts")
        found = await judge_once(judge, row.sample, metric=position, run=run)
    except (JudgeError, StoreError, MissingExtraError):
        raise
    except InputError as error:
        return unscored(row, error.within(row.place))
    except NoiseSenseError as error:
        return unscored(row, error)
    return Result(
        id=row.id,
        score=score(found.verdicts),
        sample=row.sample,
        cluster=row.cluster,
        unanswered=found.unanswered,
        usage=found.usage,
        judge=name,
    )
