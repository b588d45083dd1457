"""`score_dataset`: from a file to results and their summary."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from noisesense import Judge, RecordedJudge, Summary, Tally, errors
from noisesense.jsonl import as_path
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.results import (
    Choices,
    choices,
    recorded_results,
    scored_by,
    unscored,
)
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.datasets.write import check_output, only_writer, results_file
from noisesense_adapters.toolbox.given import Column
from noisesense_adapters.toolbox.judges import unasked

GIVE_UP = 20
"""The run ends when the judge fails on its first so many samples."""

_AHEAD = 64
"""How many rows a slow one may hold up, for each that is judged at once."""

OnDone = Callable[[Result], object]


async def _judge_rows(
    rows: Iterator[Row | BadRow],
    judge: Judge,
    chosen: Choices,
    concurrency: int,
    on_done: OnDone,
    keep: OnDone,
) -> None:
    """Judge each row, at most ``concurrency`` at once; ``keep`` gets the results in order.

    A row that occurs twice is judged twice. A sample that fails does not end the run.

    Raises:
        JudgeError: the judge failed on the first `GIVE_UP` samples, or is unfit for any.
        StoreError: the judge's store cannot be read or written.
    """
    waiting = enumerate(rows)
    ready: dict[int, Result] = {}
    judged = failed = kept = 0

    async def work() -> None:
        nonlocal judged, failed, kept
        for position, row in waiting:
            while position - kept > _AHEAD * concurrency:
                await asyncio.sleep(0.01)
            try:
                result = await _judged(row, judge, chosen)
                judged += result.score is not None
            except errors.UnfitJudgeError:
                raise
            except errors.JudgeError as error:
                result = unscored(row, error.within(row.place))
                failed += 1
            on_done(result)
            ready[position] = result
            while kept in ready:
                keep(ready.pop(kept))
                kept += 1
            if failed == GIVE_UP and not judged:
                raise errors.JudgeError(
                    f"the judge failed on the first {failed} samples, so the run ends. "
                    f"The last: {result.error}"
                )

    await gather_all([work() for _ in range(concurrency)])


async def _judged(row: Row | BadRow, judge: Judge, chosen: Choices) -> Result:
    """The row's result. Raises `JudgeError` if the judge failed."""
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    judgement = None
    try:
        if row.sample is not None:
            definition = chosen["definition"] or "ragas"
            judgement = unasked(row.sample, definition) or await judge_once(
                judge, row.sample, metric="score", share=False
            )
        verdicts = row.verdicts if judgement is None else judgement.verdicts
        if verdicts is None:
            raise errors.InputError("texts to judge", "only verdicts")
        scored = scored_by(chosen, verdicts)
    except (errors.JudgeError, errors.StoreError, errors.MissingExtraError):
        raise
    except errors.NoiseSenseError as error:
        failed = unscored(row, error.within(row.place))
        return failed if judgement is None else replace(failed, usage=judgement.usage)
    # Without a sample the host's row says it all, such as one where nothing was retrieved.
    result = Result(row.id, scored, sample=row.sample, cluster=row.cluster)
    if judgement is None:
        return result
    name, unanswered = getattr(judge, "name", None), judgement.unanswered
    return replace(result, unanswered=unanswered, usage=judgement.usage, judge=name)


def score_dataset(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, Column] | None = None,
    verdicts: str | os.PathLike[str] | None = None,
    judge: Judge | None = None,
    definition: DefinitionName | None = None,
    empty: Empty | None = None,
    undetermined: Undetermined | None = None,
    out: str | os.PathLike[str] | None = None,
    concurrency: int = 16,
    on_done: OnDone | None = None,
    split_contexts: str | None = None,
    confidence: float = 0.95,
) -> Summary:
    """Score every sample of a dataset, write the results, and summarize them.

    The dataset is read row by row, so memory does not grow with it. A row that cannot be read,
    judged or scored becomes a result with an error, and the run goes on.

    A judge with a `VerdictStore` resumes: after an interrupt, or a run in which some samples
    failed, the same call asks only what the store has no answer to. One run at a time writes
    ``out``; while it does, it holds the lock ``OUT.lock``.

    Args:
        path: see `noisesense_adapters.datasets.read_rows`.
        columns: which column holds which field, as `read_rows` takes it.
        verdicts: a recording to take the verdicts from.
        judge: judges each sample. With neither, the verdicts in the file are used.
        definition: of noise sensitivity; by default the one the file's results name, or
            ``"ragas"``.
        empty: what a sample with nothing to measure gives; by default likewise, or
            ``"undefined"``.
        undetermined: what verdicts that the judge left open give; by default likewise, or
            ``"none"``: no value.
        out: a file for the results, ``.jsonl``. It appears whole or not at all, in the order of
            the dataset.
        concurrency: how many samples to judge at once.
        on_done: called with each result as it arrives.
        split_contexts: as `read_rows` takes it.
        confidence: of the summary's intervals.

    Raises:
        InputError: the dataset, the recording or an argument; another run is writing ``out``; a
            file cannot be written.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    if verdicts is not None and judge is not None:
        raise errors.InputError("verdicts or a judge", "both", where="score_dataset")
    errors.check_whole(concurrency, 1, "concurrency")
    chosen, tally = choices(definition, empty, undetermined), Tally()
    said: OnDone = on_done or (lambda _: None)
    target = None if out is None else check_output(as_path(out), as_path(path))
    with ExitStack() as stack:
        write: OnDone = lambda _: None  # noqa: E731
        if target is not None:
            stack.enter_context(only_writer(target))
            write = stack.enter_context(results_file(target))

        def keep(result: Result) -> None:
            tally.add(result)
            write(result)

        own = judge is None and verdicts is None
        texts = not own or target is not None
        rows = read_rows(path, columns, verdicts=own, texts=texts, split_contexts=split_contexts)
        if judge is not None:
            run_blocking(_judge_rows(rows, judge, chosen, concurrency, said, keep))
        else:
            recording = None if verdicts is None else RecordedJudge(verdicts)
            for result in recorded_results(rows, chosen, recording):
                said(result)
                keep(result)
    return tally.summary(confidence=confidence)


def score_rows(
    rows: Iterable[Row | BadRow],
    judge: Judge,
    *,
    definition: DefinitionName | None = None,
    empty: Empty | None = None,
    undetermined: Undetermined | None = None,
    concurrency: int = 16,
) -> list[Result]:
    """As `score_dataset` with a judge, but for rows that a framework holds; one result each.

    Raises:
        InputError: an argument.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    chosen, results = choices(definition, empty, undetermined), list[Result]()
    run_blocking(
        _judge_rows(iter(rows), judge, chosen, concurrency, lambda _: None, results.append)
    )
    return results
