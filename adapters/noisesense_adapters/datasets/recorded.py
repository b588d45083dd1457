"""Recorded verdicts in JSON lines, counted many at once, and by several processes."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from noisesense import InputError, MissingExtraError, Tally
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Undetermined
from noisesense_adapters.datasets.files import LARGEST, jsonl_lines, jsonl_row, opened
from noisesense_adapters.datasets.read import read_result_line, read_rows, row_of
from noisesense_adapters.datasets.results import Choices, recorded_results, result_of
from noisesense_adapters.datasets.rows import Row

if TYPE_CHECKING:
    from noisesense_adapters.table.lines import Line

_FIRST_ROWS = 20
_AT_ONCE = 1000
"""More are not faster: what is read of them no longer fits the processor's cache."""

_Numbered = tuple[int, bytes]


def recorded_tally(
    path: Path,
    chosen: Choices,
    on_done: Callable[[Result | None], object] | None,
    on_rows: Callable[[int], object] | None,
    workers: int = 1,
) -> Tally | None:
    """The tally of a recording or of results in JSON lines; None for any other file.

    The same, with the same errors in the same order, as of `recorded_results`: a line that is not
    plainly valid goes that way. Memory does not grow with the file.

    Args:
        path: the file.
        chosen: how verdicts are scored.
        on_done: called with each result that was made, among them all that failed.
        on_rows: called with how many more were scored without.
        workers: how many processes read the file. The tally, its errors and their order are the
            same with any number.

    Raises:
        InputError: as `recorded_results`; results of several definitions; a process was killed.
        MissingExtraError: several processes, and the extra ``table`` is not installed.
    """
    if path.suffix.lower() not in (".jsonl", ".ndjson") or not path.is_file():
        return None
    try:
        import_module("noisesense_adapters.table.lines")
    except MissingExtraError:
        if workers > 1:
            raise
        return None
    first = list(islice(read_rows(path), _FIRST_ROWS))
    if not any(isinstance(row, Row) and row.line is not None for row in first):
        return None
    recorded_results(iter(first), chosen)  # raises if there are no verdicts
    file = _File(path, chosen, on_done or _ignore, on_rows or _ignore)
    tally = Tally()
    if workers > 1:
        file.count_by_processes(tally, workers)
    else:
        file.count(tally)
    return tally


def _ignore(_: object) -> None:
    pass


class _Part(NamedTuple):
    """Whole lines: the number of the first, and where they begin and end, in bytes."""

    number: int
    start: int
    end: int


def _parts(path: Path, size: int) -> Iterator[_Part]:
    """The file in parts of ``size`` bytes or a little more, cut behind a line."""
    number, start, position, breaks = 1, 0, 0, 0
    with opened(path) as file:
        while block := file.read(_BLOCK):
            last = block.rfind(b"\n") + 1
            end = position + last
            breaks += block.count(b"\n")
            position += len(block)
            if last and end - start >= size:
                yield _Part(number, start, end)
                number, start, breaks = number + breaks, end, 0
    if position > start:
        yield _Part(number, start, position)


@dataclass(frozen=True)
class _File:
    """A file to be counted; see `recorded_tally`."""

    path: Path
    chosen: Choices
    on_done: Callable[[Result | None], object]
    on_rows: Callable[[int], object]

    def count(self, tally: Tally, part: _Part | None = None) -> None:
        """Add the lines to the tally, in their order. Raises `InputError`."""
        from noisesense_adapters.table.lines import read_line

        rest = jsonl_lines(self.path, *(part or ()))
        while some := list(islice(rest, _AT_ONCE)):
            with _collector_paused():
                read = [None if len(line) > LARGEST else read_line(line) for _, line in some]
                counted, others = _counted(read, self.chosen, tally)
            made = list(self._results(some, others))
            if counted is not None and any(
                _settings(each) not in (None, _of(counted)) for each in made
            ):
                counted = None  # an error is to come, and of the right line
            if counted is None and len(made) < len(some):
                made = list(self._results(some, range(len(some))))
            for each in made:
                self.on_done(each)
                tally.add(each)
            if counted is not None:
                tally.merge(counted)
                self.on_rows(counted.samples)

    def _results(self, some: Sequence[_Numbered], which: Iterable[int]) -> Iterator[Result]:
        for i in which:
            raw = jsonl_row(self.path, *some[i])
            yield result_of(row_of(raw, read_result_line, {}, verdicts=True), self.chosen)

    def count_by_processes(self, tally: Tally, workers: int) -> None:
        """As `count`, each part of the file by one of so many processes."""
        # Loaded for several processes only.
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        parts = list(_parts(self.path, _PART_SIZE))
        # Not forked: the bar of a terminal has a thread.
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            try:
                with _interrupt_held():
                    futures = [
                        pool.submit(_count_part, self.path, self.chosen, part) for part in parts
                    ]
                for part, future in zip(parts, futures, strict=True):
                    counted = future.result()
                    if counted is None or not _alike(tally, counted[0]):
                        self.count(tally, part)  # for the error of the right line
                        continue
                    for each in counted[1]:
                        self.on_done(each)
                    tally.merge(counted[0])
                    self.on_rows(counted[0].samples - len(counted[1]))
            except BrokenProcessPool as error:
                hint = "is there enough memory for so many?"
                raise InputError(
                    f"{workers} processes", "one that was killed", where="workers", hint=hint
                ) from error
            finally:
                pool.shutdown(cancel_futures=True)


_PART_SIZE, _BLOCK = 1 << 24, 1 << 20
"""Bytes: some 5,000 samples, which take a process a quarter of a second."""


def _count_part(path: Path, chosen: Choices, part: _Part) -> tuple[Tally, list[Result]] | None:
    """What a part adds, and its results that failed; None if it cannot be added up."""
    tally, failed = Tally(), list[Result]()

    def keep(result: Result | None) -> None:
        if result is not None and result.error is not None:
            failed.append(result)

    try:
        _File(path, chosen, keep, _ignore).count(tally, part)
    except InputError:
        return None
    return tally, failed


@contextmanager
def _interrupt_held() -> Generator[None, None, None]:
    """An interrupt waits until the block ends. Processes that begin in it are never interrupted:
    the one that began them is, and ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alike(one: Tally, other: Tally) -> bool:
    return None in (one.definition, other.definition) or _of(one) == _of(other)


def _of(tally: Tally) -> tuple[str | None, str]:
    return tally.definition, tally.undetermined


def _settings(result: Result) -> tuple[str, str] | None:
    score = result.score
    return None if score is None else (score.definition, score.undetermined)


@contextmanager
def _collector_paused() -> Generator[None, None, None]:
    """What is read here holds no cycles, and looking for them takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _counted(
    read: Sequence[Line | None], chosen: Choices, tally: Tally
) -> tuple[Tally | None, list[int]]:
    """The tally of what can be counted at once, and which lines are left for the models.

    No tally if the lines, or they and those before, are not all to be scored alike.
    """
    from noisesense_adapters.table.kernel import faulty, score_columns, tally_of
    from noisesense_adapters.table.lines import columns_of

    def empty_of(line: Line) -> str:
        return chosen["empty"] or line.empty or "undefined"

    def plain(line: Line | None) -> bool:
        # A response without claims may be an error, and an error needs its line's number.
        return line is not None and bool(
            line.verdicts.response_claims or empty_of(line) != "error"
        )

    which = [i for i, line in enumerate(read) if plain(line)]
    lines = [line for i in which if (line := read[i]) is not None]
    kept, columns = columns_of(lines)
    bad = faulty(columns)
    if len(kept) < len(lines) or bad.any():
        which = [which[i] for i, is_bad in zip(kept, bad, strict=True) if not is_bad]
        lines = [line for i in which if (line := read[i]) is not None]
        _, columns = columns_of(lines)
    left = sorted(set(range(len(read))).difference(which))
    alike: set[tuple[DefinitionName, Undetermined]] = {
        (
            chosen["definition"] or line.definition or "ragas",
            chosen["undetermined"] or line.undetermined or "none",
        )
        for line in lines
    }
    if len(alike) != 1 or (tally.definition is not None and alike != {_of(tally)}):
        return None, left
    ((definition, undetermined),) = alike
    clusters = [line.cluster for line in lines]
    usages = [line.usage for line in lines if line.usage is not None]
    costs = [
        Fraction(each.cost) for each in usages if each.cost is not None and isfinite(each.cost)
    ]
    names = ("calls", "cached_calls", "reasks", "input_tokens", "output_tokens")
    counted = tally_of(
        score_columns(columns, definition),
        definition,
        undetermined,
        zero=[empty_of(line) == "zero" for line in lines],
        clusters=clusters if set(clusters) != {None} else None,
        unanswered=sum(line.unanswered or 0 for line in lines),
        usage={name: sum(getattr(each, name) for each in usages) for name in names},
        cost=sum(costs, Fraction()).as_integer_ratio() if costs else None,
    )
    return counted, left
