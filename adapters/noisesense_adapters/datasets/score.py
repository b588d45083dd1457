"""`score_dataset`: from a file to results and their summary."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from noisesense import Judge, RecordedJudge, Summary, Tally, score
from noisesense.errors import (
    InputError,
    JudgeError,
    MissingExtraError,
    NoiseSenseError,
    StoreError,
    UndefinedScoreError,
)
from noisesense.jsonl import as_path
from noisesense.judging.calls import gather_all
from noisesense.judging.sharing import judge_once
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Empty, Undetermined
from noisesense_adapters.datasets.journal import Journal, check_paid
from noisesense_adapters.datasets.read import read_rows
from noisesense_adapters.datasets.results import check_choices, given_results, results_of, unscored
from noisesense_adapters.datasets.rows import BadRow, Column, Row
from noisesense_adapters.datasets.write import check_output, holds_something, write_file
from noisesense_adapters.toolbox.running import run_blocking

__all__ = ["GIVE_UP", "judge_rows", "partial_of", "score_dataset", "score_rows"]

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

    Each row is judged, also one that stands there twice. Each result is in the journal before
    another row is read, so that what is interrupted loses what is being judged and nothing else.
    A sample that fails does not end the run.

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
                result = await _judged(row, judge, name)
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


async def _judged(row: Row | BadRow, judge: Judge, name: str | None) -> Result:
    """The row's result. Raises `JudgeError` if the judge failed."""
    if isinstance(row, BadRow):
        return unscored(row, row.error)
    try:
        if row.sample is None:
            raise InputError("texts to judge", "only verdicts")
        found = await judge_once(judge, row.sample, metric="score", share=False)
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
    on_done: Callable[[Result | None], None] | None = None,
) -> Summary:
    """Score every sample of a dataset, write the results, and sum them up.

    The dataset is read row by row, and memory does not grow with it. A row that cannot be read,
    judged or scored becomes a result with an error, and the rest goes on.

    With a judge and ``out`` every result is kept at once in ``OUT.partial``. A run that was
    interrupted leaves that file, and the same call goes on from there; a run that came to its end
    leaves the results, and the same call tries again only what failed. What counts as the same
    is the judge's ``name``, the sample with its labels, its id and its cluster. (A judge without
    a name, of one's own making, starts anew each time.)

    Args:
        path: see `noisesense_adapters.datasets.read.read_rows`.
        columns: where fields of the sample stand, as `read_rows` takes them.
        verdicts: a recording to take the verdicts from.
        judge: who judges. Without either, the verdicts in the file are meant.
        definition: of noise sensitivity; by default what the file's results name, or ``"ragas"``.
        empty: what a response without claims gives; by default likewise, or ``"undefined"``.
        undetermined: what verdicts that the judge left open give; by default likewise, or
            ``"none"``: no value.
        out: a file for the results, ``.jsonl`` or ``.parquet``. It appears whole or not at all,
            in the order of the dataset. What a judge with a name was paid for is not overwritten
            by another judge's results, nor by those of other samples.
        concurrency: how many samples the judge is given at once.
        on_done: is given every result as it comes, in the order in which they come, and None
            for one of an earlier run.

    Raises:
        InputError: the dataset, the recording or an argument.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    if verdicts is not None and judge is not None:
        raise InputError("verdicts or a judge", "both", where="score_dataset")
    if type(concurrency) is not int or concurrency < 1:
        raise InputError("a whole number of 1 or more", repr(concurrency), where="concurrency")
    check_choices(definition, empty, undetermined)
    target = None if out is None else check_output(as_path(out), as_path(path))
    on_done = on_done or (lambda _: None)
    tally = Tally()
    if target is not None:
        rows = read_rows(path, columns, verdicts=False)
        check_paid(target, partial_of(target), _name_of(judge), rows)
    if judge is None:
        recording = None if verdicts is None else RecordedJudge(verdicts)
        found = given_results(
            read_rows(path, columns, verdicts=recording is None),
            recording=recording,
            definition=definition,
            empty=empty,
            undetermined=undetermined,
        )
        _write(target, _told(found, on_done), tally)
        return tally.summary()
    rows = read_rows(path, columns, verdicts=False)
    with _journal(target, judge) as (journal, name):
        run_blocking(
            judge_rows(rows, judge, name, journal, concurrency=concurrency, on_done=on_done)
        )
        _write(target, _final(journal, definition, empty, undetermined), tally)
        journal.remove()
    return tally.summary()


def score_rows(
    rows: Iterable[Row | BadRow],
    judge: Judge,
    *,
    definition: DefinitionName | None = None,
    empty: Empty | None = None,
    undetermined: Undetermined | None = None,
    concurrency: int = 16,
) -> list[Result]:
    """As `score_dataset` with a judge, for rows that a framework holds; a result for each.

    Raises:
        InputError: an argument.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    check_choices(definition, empty, undetermined)
    with _journal(None, judge) as (journal, name):
        run_blocking(
            judge_rows(
                iter(rows), judge, name, journal, concurrency=concurrency, on_done=lambda _: None
            )
        )
        return list(_final(journal, definition, empty, undetermined))


def partial_of(out: str | os.PathLike[str]) -> Path:
    """Where a run keeps what is judged until its results are written."""
    return Path(f"{os.fspath(out)}.partial")


@contextmanager
def _journal(
    target: Path | None, judge: Judge
) -> Generator[tuple[Journal, str | None], None, None]:
    name = _name_of(judge)
    with TemporaryDirectory(prefix="noisesense-") as scratch:
        path = Path(scratch, "results.partial") if target is None else partial_of(target)
        journal = Journal(path, name)
        try:
            if target is not None and name is not None and holds_something(target):
                journal.adopt(results_of(target))
            yield journal, name
        finally:
            journal.close()


def _name_of(judge: Judge | None) -> str | None:
    name = getattr(judge, "name", None)
    return name if isinstance(name, str) else None


def _told(results: Iterator[Result], on_done: Callable[[Result | None], None]) -> Iterator[Result]:
    for result in results:
        on_done(result)
        yield result


def _final(
    journal: Journal,
    definition: DefinitionName | None,
    empty: Empty | None,
    undetermined: Undetermined | None,
) -> Iterator[Result]:
    """The judged results under the definition that is asked for."""
    for line in journal.lines():
        try:
            yield Result.from_json(
                line, definition=definition, empty=empty, undetermined=undetermined
            )
        except UndefinedScoreError as error:
            judged = Result.from_json(line)
            yield Result(
                judged.id,
                error=str(error),
                sample=judged.sample,
                cluster=judged.cluster,
                usage=judged.usage,
            )


def _write(target: Path | None, results: Iterator[Result], tally: Tally) -> None:
    def tallied() -> Iterator[Result]:
        for result in results:
            tally.add(result)
            yield result

    if target is None:
        for _ in tallied():
            pass
    else:
        write_file(target, tallied())
