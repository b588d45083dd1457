"""`score_dataset`: from a file to results and their summary."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from noisesense import Judge, RecordedJudge, Summary, Tally, errors, score
from noisesense.jsonl import as_path
from noisesense.judging.calls import gather_all
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.datasets.journal import Journal, check_paid, check_partial, only_writer
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.recorded import recorded_tally
from noisesense_adapters.datasets.results import (
    Choices,
    choices,
    recorded_results,
    results_of,
    unscored,
)
from noisesense_adapters.datasets.rows import BadRow, Column, Row
from noisesense_adapters.datasets.write import (
    check_output,
    holds_something,
    scratch_folder,
    write_file,
)
from noisesense_adapters.toolbox.running import run_blocking

GIVE_UP = 20
"""The run ends when the judge fails on its first so many samples."""

OnDone = Callable[[Result | None], object]


async def _judge_rows(
    rows: Iterator[Row | BadRow],
    judge: Judge,
    journal: Journal,
    concurrency: int,
    on_done: OnDone,
) -> None:
    """Judge each row that is not in the journal, at most ``concurrency`` at once.

    A row that occurs twice is judged twice. Each result is in the journal before another row is
    read, so an interrupt loses only what is being judged. A sample that fails does not end the
    run.

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
                await asyncio.sleep(0)  # let the others' calls go on
                continue
            try:
                result = await _judged(row, judge)
                judged += result.score is not None
            except errors.JudgeError as error:
                result = unscored(row, error.within(row.place))
                failed += 1
            journal.add(position, result)
            on_done(result)
            if failed == GIVE_UP and not judged:
                raise errors.JudgeError(
                    f"the judge failed on the first {failed} samples, so the run ends. "
                    f"The last: {result.error}"
                )

    await gather_all([work() for _ in range(concurrency)])


async def _judged(row: Row | BadRow, judge: Judge) -> Result:
    """The row's result. Raises `JudgeError` if the judge failed."""
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    try:
        if row.sample is None:
            if row.verdicts is None:
                raise errors.InputError("texts to judge", "only verdicts")
            # The host's row says it all, such as one where nothing was retrieved.
            return Result(id=row.id, score=score(row.verdicts), cluster=row.cluster)
        judgement = await judge_once(judge, row.sample, metric="score", share=False)
    except (errors.JudgeError, errors.StoreError, errors.MissingExtraError):
        raise
    except errors.NoiseSenseError as error:
        return unscored(row, error.within(row.place))
    return Result(
        id=row.id,
        score=score(judgement.verdicts),
        sample=row.sample,
        cluster=row.cluster,
        unanswered=judgement.unanswered,
        usage=judgement.usage,
        judge=_name_of(judge),
    )


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
    on_rows: Callable[[int], object] | None = None,
    split_contexts: str | None = None,
    confidence: float = 0.95,
    workers: int = 1,
) -> Summary:
    """Score every sample of a dataset, write the results, and summarize them.

    The dataset is read row by row, so memory does not grow with it. A row that cannot be read,
    judged or scored becomes a result with an error, and the run goes on.

    With a judge and ``out``, each result is saved to ``OUT.partial`` as soon as it is there. An
    interrupted run leaves that file, and the same call continues from it. One run at a time writes
    ``out``; while it does, it holds the lock ``OUT.lock``. A finished run leaves
    the results, and the same call retries only what failed. A result is reused if the judge's
    ``name``, the sample with its labels, the id and the cluster are the same. (A judge of your
    own without a ``name`` starts afresh each time.)

    Args:
        path: see `noisesense_adapters.datasets.read_rows`.
        columns: which column holds which field, as `read_rows` takes it.
        verdicts: a recording to take the verdicts from.
        judge: judges each sample. With neither, the verdicts in the file are used.
        definition: of noise sensitivity; by default the one the file's results name, or
            ``"ragas"``.
        empty: what a response without claims gives; by default likewise, or ``"undefined"``.
        undetermined: what verdicts that the judge left open give; by default likewise, or
            ``"none"``: no value.
        out: a file for the results, ``.jsonl`` or ``.parquet``. It appears whole or not at all,
            in the order of the dataset. Paid results of a named judge are not overwritten by
            those of another judge or of other samples.
        concurrency: how many samples to judge at once.
        on_done: called with each result as it arrives, and with None for one of an earlier run.
        on_rows: called with how many more samples were scored, where `on_done` need not be called
            with each: recorded verdicts are then scored many at once, several times as fast (this
            needs the extra ``table``). By default that is done if there is no `on_done`.
        split_contexts: as `read_rows` takes it.
        confidence: of the summary's intervals.
        workers: how many processes count recorded verdicts in JSON lines, for files of some
            100,000 samples and more; with ``on_rows``, or without `on_done`. Figures, errors and
            their order are those of one process.

    Raises:
        InputError: the dataset, the recording or an argument; another run is writing ``out``; a
            file cannot be written (what is judged by then stays in ``OUT.partial``).
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    if verdicts is not None and judge is not None:
        raise errors.InputError("verdicts or a judge", "both", where="score_dataset")
    errors.check_whole(concurrency, 1, "concurrency")
    errors.check_whole(workers, 1, "workers")
    chosen = choices(definition, empty, undetermined)
    plain = not (columns or verdicts or judge or out or split_contexts)
    if plain and (on_rows is not None or on_done is None):
        tally = recorded_tally(as_path(path), chosen, on_done, on_rows, workers)
        if tally is not None:
            return tally.summary(confidence=confidence)
    if workers > 1:
        hint = "only recorded verdicts in JSON lines, of which a summary is made, are shared out"
        raise errors.InputError("1", str(workers), where="workers", hint=hint)
    on_done = on_done or (lambda _: None)
    read = partial(read_rows, path, columns, split_contexts=split_contexts)
    target = None if out is None else check_output(as_path(out), as_path(path))
    with nullcontext() if target is None else only_writer(target):
        if target is not None:
            check_partial(partial_of(target))
            check_paid(target, partial_of(target), _name_of(judge), read(verdicts=False))
        if judge is None:
            recording = None if verdicts is None else RecordedJudge(verdicts)
            rows = read(verdicts=recording is None)
            return _write(
                target, _reported(recorded_results(rows, chosen, recording), on_done), confidence
            )
        rows = read(verdicts=False)
        with _journal(target, judge) as journal:
            run_blocking(_judge_rows(rows, judge, journal, concurrency, on_done))
            try:
                summary = _write(target, _rescored(journal, chosen), confidence)
            except errors.InputError as error:
                hint = error.hint or f"what was judged is kept in {journal.path}"
                raise errors.InputError(
                    error.expected, error.got, where=error.where, hint=hint
                ) from error
            journal.remove()
        return summary


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
    chosen = choices(definition, empty, undetermined)
    with _journal(None, judge) as journal:
        run_blocking(_judge_rows(iter(rows), judge, journal, concurrency, lambda _: None))
        return list(_rescored(journal, chosen))


def partial_of(out: str | os.PathLike[str]) -> Path:
    """The file that holds what a run has judged until its results are written."""
    return Path(f"{os.fspath(out)}.partial")


@contextmanager
def _journal(target: Path | None, judge: Judge) -> Generator[Journal, None, None]:
    name = _name_of(judge)
    with ExitStack() as stack:
        if target is None:
            path = Path(stack.enter_context(scratch_folder()), "results.partial")
        else:
            path = partial_of(target)
        journal = Journal(path, name)
        stack.callback(journal.close)
        if target is not None and name is not None and holds_something(target):
            journal.adopt(results_of(target))
        yield journal


def _name_of(judge: Judge | None) -> str | None:
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) else None


def _reported(results: Iterator[Result], on_done: OnDone) -> Iterator[Result]:
    for result in results:
        on_done(result)
        yield result


def _rescored(journal: Journal, chosen: Choices) -> Iterator[Result]:
    """The judged results, scored as the choices say."""
    for line in journal.lines():
        try:
            yield Result.from_json(line, **chosen)
        except errors.UndefinedScoreError as error:
            result = Result.from_json(line)
            yield replace(result, score=None, error=str(error), unanswered=0, judge=None)


def _write(target: Path | None, results: Iterator[Result], confidence: float) -> Summary:
    tally = Tally()

    def tallied() -> Iterator[Result]:
        for result in results:
            tally.add(result)
            yield result

    if target is None:
        for _ in tallied():
            pass
    else:
        write_file(target, tallied())
    return tally.summary(confidence=confidence)
