"""`score_dataset`: score a file, write the results (one writer at a time), and summarize them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from typing_extensions import Unpack

from noisesense import Judge, Summary, Tally, errors
from noisesense.jsonl import as_path, whole_file
from noisesense.judging.calls import gather_all, run_blocking
from noisesense.judging.protocol import NO_USAGE
from noisesense.judging.sharing import begin_run
from noisesense.scoring.outcomes import check_between
from noisesense.scoring.results import Choices, Result, ResultsWriter
from noisesense.scoring.scoring import NO_JUDGE
from noisesense_adapters.datasets.files import check_folder
from noisesense_adapters.datasets.read import read_rows, result_of, unscored, with_verdicts
from noisesense_adapters.datasets.rows import BadRow, Row
from noisesense_adapters.evaluate.evaluator import Evaluator, Given, Settings, choices
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.reading.paths import Column

GIVE_UP = 20
"""The run ends if the judge fails on this many first samples."""

_AT_ONCE = 16
"""How many rows are judged at once by default."""
_AHEAD = 64
"""For each of these, how many later rows may be finished before a slow one."""

OnDone = Callable[[Result], object]


def _nothing(_: object) -> None: ...


def score_dataset(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, Column] | None = None,
    judge: Judge | None = None,
    out: str | os.PathLike[str] | None = None,
    concurrency: int = _AT_ONCE,
    on_done: OnDone = _nothing,
    split_contexts: str | None = None,
    provider: str | None = None,
    guess: bool = False,
    on_note: Callable[[str], object] = _nothing,
    confidence: float = 0.95,
    **chosen: Unpack[Choices],
) -> Summary:
    """Score every sample of a dataset, write the results, and summarize them.

    The dataset is read row by row, so memory does not grow with it. A row that cannot be read,
    judged or scored becomes a result with an error, and the run goes on.

    A judge with a `VerdictStore` resumes: after an interrupt, or a run in which some samples
    failed, the same call asks only what the store has no answer to. One run at a time writes
    ``out``; while it does, it holds the lock ``.OUT.lock`` beside it.

    Args:
        path: see `noisesense_adapters.datasets.read_rows`.
        columns: which column holds which field, as `read_rows` takes it.
        judge: judges each sample, such as a `RecordedJudge`; by default the verdicts in the file
            are used.
        out: a file for the results, ``.jsonl``. It appears whole or not at all, in the order of
            the dataset. Where no sample could be scored, earlier results stay as they are.
        concurrency: how many samples to judge at once.
        on_done: called with each result as it arrives.
        split_contexts: as `read_rows` takes it.
        provider: likewise.
        guess: likewise.
        on_note: likewise.
        confidence: of the summary's intervals.
        chosen: ``definition`` (of noise sensitivity), ``empty`` (what a sample with nothing to
            measure gives) and ``undetermined`` (what verdicts that the judge left open give); by
            default as the file's results name them, or else as `noisesense.score` has them.

    Raises:
        InputError: the dataset or an argument; another run is writing ``out``; a file cannot be
            written.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
        MissingExtraError: a package that reads the file, or locks ``out``, is not installed.
    """
    errors.check_whole(concurrency, 1, "concurrency")
    check_between(confidence, "confidence")  # before a judge is paid
    chosen = choices(**chosen)
    tally = Tally()
    target = None if out is None else check_output(as_path(out), as_path(path))
    writer = nullcontext(_nothing) if target is None else results_file(target)
    with writer as write:

        def keep(result: Result) -> None:
            tally.add(result)
            write(result)

        rows = read_rows(
            path,
            columns,
            verdicts=judge is None,
            texts=judge is not None or out is not None,
            split_contexts=split_contexts,
            provider=provider,
            guess=guess,
            on_note=on_note,
        )
        if judge is not None:
            run_blocking(_judge_rows(rows, judge, chosen, concurrency, on_done, keep))
        else:
            for row in with_verdicts(rows):
                result = result_of(row, **chosen)
                on_done(result)
                keep(result)
    return tally.summary(confidence=confidence)


def score_rows(
    rows: Iterable[Row | BadRow], judge: Judge, **chosen: Unpack[Choices]
) -> list[Result]:
    """Same as `score_dataset` with a judge, for rows of a framework; a result for each, in order.

    Raises:
        InputError: an argument.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    results: list[Result] = []
    run_blocking(_judge_rows(rows, judge, choices(**chosen), _AT_ONCE, _nothing, results.append))
    return results


async def _judge_rows(
    rows: Iterable[Row | BadRow],
    judge: Judge,
    chosen: Choices,
    concurrency: int,
    on_done: OnDone,
    keep: OnDone,
) -> None:
    """Judge each row; ``keep`` gets the results in order.

    A row that occurs twice is judged twice. A sample that fails does not end the run.

    Raises:
        JudgeSetupError: the judge is not set up as it must be, and no sample was judged.
        JudgeError: the judge failed on the first `GIVE_UP` samples.
        StoreError: the judge's store cannot be read or written.
    """
    begun = _Begun(on_done)

    async def ask(row: Row | BadRow) -> Result:
        fault: errors.JudgeError | None = None
        try:
            result = await _judged(row, judge, chosen)
        except errors.JudgeError as error:
            fault = error
            result = unscored(row, error.within(row.place))
        begun.add(result, fault)
        return result

    begin_run(judge)
    await _ask_all(rows, ask, concurrency, keep)
    if begun.fault is not None:
        raise begun.fault


class _Begun:
    """Tells each result; but while no row has reached the judge, a fault may be the run's.

    Attributes:
        fault: of the setup, if nothing else came of any row so far.
    """

    def __init__(self, on_done: OnDone) -> None:
        self.fault: errors.JudgeSetupError | None = None
        self._on_done = on_done
        self._untold: list[Result] = []
        self._failed = 0
        self._is_reached = False
        self._was_judged = False

    def add(self, result: Result, fault: errors.JudgeError | None) -> None:
        """Add the next result, and tell it unless its fault may be the run's.

        Raises `JudgeError` once the judge has failed on `GIVE_UP` samples and judged none.
        """
        self._untold.append(result)
        if result.score is not None and result.judge != NO_JUDGE:
            self._was_judged = self._is_reached = True
        if fault is not None:
            self._failed += 1
            self._is_reached = self._is_reached or not isinstance(fault, errors.JudgeSetupError)
        if self._is_reached:
            self.fault = None
        elif isinstance(fault, errors.JudgeSetupError):
            self.fault = self.fault or fault
        if self._failed >= GIVE_UP and not self._was_judged:
            raise self.fault or errors.JudgeError(
                f"the judge failed on the first {GIVE_UP} samples, so the run ends. "
                f"The last: {result.error}"
            )
        if self.fault is None:
            self._tell()

    def _tell(self) -> None:
        for each in self._untold:
            self._on_done(each)
        self._untold.clear()


async def _ask_all(
    rows: Iterable[Row | BadRow],
    ask: Callable[[Row | BadRow], Awaitable[Result]],
    concurrency: int,
    keep: OnDone,
) -> None:
    """Call ``ask`` with each row, ``concurrency`` at once; ``keep`` gets the results in order."""
    waiting = enumerate(rows)
    ready: dict[int, Result] = {}
    kept = 0

    async def work() -> None:
        nonlocal kept
        for position, row in waiting:
            await asyncio.sleep(0)  # lets interrupts through, as a recording never waits
            while position - kept > _AHEAD * concurrency:
                await asyncio.sleep(0.01)
            ready[position] = await ask(row)
            while kept in ready:
                keep(ready.pop(kept))
                kept += 1

    await gather_all([work() for _ in range(concurrency)])


async def _judged(row: Row | BadRow, judge: Judge, chosen: Choices) -> Result:
    """Return the result of a row, also one with an error.

    Raises `JudgeError`, `StoreError` or `MissingExtraError`.
    """
    if isinstance(row, BadRow) or (row.sample is None and row.verdicts is not None):
        # A host's row without a sample needs no judge, e.g. if nothing was retrieved.
        return result_of(row, **chosen)
    try:
        if row.sample is None:
            raise errors.InputError("texts to judge", "only verdicts")
        evaluator = Evaluator(Settings(*row.line.chosen(**chosen)), lambda: judge)
        evaluated = await evaluator.evaluate(Given(row.sample))
    except (errors.JudgeError, errors.StoreError, errors.MissingExtraError):
        raise
    except errors.NoiseSenseError as error:
        failed = unscored(row, error.within(row.place))
        return replace(failed, usage=getattr(error, "usage", None) or NO_USAGE)
    return evaluated.result(row.id, row.sample, row.cluster)


@contextmanager
def results_file(path: Path) -> Generator[Callable[[Result], None], None, None]:
    """Yield a function that adds a result; the file is written whole at the end, or not at all.

    Where no result has a score, an earlier file stays as it is, unless it is empty.

    One writer at a time: it holds a lock beside the file, and removes the unfinished files of
    writers that were killed.

    Raises:
        InputError: another run holds the lock, or the file cannot be written. What is raised
            inside is passed on, and nothing is written.
        MissingExtraError: filelock is not installed.
    """
    scored = False
    with _only_writer(path), suppress(_NothingScoredError), whole_file(path, alone=True) as add:
        lines = ResultsWriter(add)

        def write(result: Result) -> None:
            nonlocal scored
            if result.score is not None:
                scored = True
            lines.add(result)

        yield write
        lines.end()
        if not scored and holds_something(path):
            raise _NothingScoredError


class _NothingScoredError(Exception):
    """Leaves the earlier results as they are."""


def holds_something(path: Path) -> bool:
    """Tell whether something is at the path, other than an empty file."""
    return path.exists() and path.stat().st_size > 0


@contextmanager
def _only_writer(target: Path) -> Generator[None, None, None]:
    """Hold the lock ``.TARGET.lock``, so that one run at a time writes the target.

    The system releases it when a process dies; a leftover file does no harm.
    """
    with needs_extra("cli", "filelock"):
        from filelock import FileLock, Timeout

    lock: Any = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        expected = "one run at a time with these results"
        hint = "wait until it ends, or choose another file for the results"
        raise errors.InputError(expected, "another run", where=str(target), hint=hint) from None
    try:
        yield
    finally:
        # Removed before the release: later another run may hold it. Windows removes no open file.
        with suppress(OSError):
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def check_output(path: Path, dataset: Path) -> Path:
    """Return the path, if results can be written there: a new file, or over earlier results.

    Raises:
        InputError: another ending than ``.jsonl``, no folder to write to, the dataset itself, or
            a file that holds something else.
    """
    if path.suffix.lower() != ".jsonl":
        hint = "pandas.read_json(out, lines=True).to_parquet(path) makes Parquet of it"
        raise errors.InputError("a name ending in .jsonl", repr(path.name), where="out", hint=hint)
    check_folder(path.parent, "out")
    if holds_something(path):
        if dataset.exists() and path.samefile(dataset):
            expected = "another file than the one that is read"
            raise errors.InputError(expected, str(path), where="out")
        _check_results(path)
    return path


def _check_results(path: Path) -> None:
    """Raise `InputError` unless it is an earlier results file."""
    try:
        first = next(read_rows(path))
    except errors.InputError:
        first = None
    if not isinstance(first, Row) or first.line.id is None:
        expected = f"an earlier results file, or a new file, as {path}"
        got = "a file that holds something else"
        hint = "nothing was overwritten; choose another name"
        raise errors.InputError(expected, got, where="out", hint=hint)
