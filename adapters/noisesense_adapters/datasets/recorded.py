"""Recorded verdicts in JSON lines, counted many at once, and by several processes."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import cycle, islice
from math import isfinite
from pathlib import Path
from signal import Signals
from typing import IO, TYPE_CHECKING, NamedTuple

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

_PART_SIZE, _BLOCK = 1 << 24, 1 << 20
"""Bytes. A part holds some 5,000 samples, which take a process a quarter of a second."""

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
        workers: how many processes count it.

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
    tally, on_done, on_rows = Tally(), on_done or _ignore, on_rows or _ignore
    count = partial(_count, path, chosen, tally, on_done, on_rows)
    workers = min(workers, -(-path.stat().st_size // _PART_SIZE))
    if workers == 1:
        count(_Part())
        return tally
    with closing(_shared_out(path, chosen, workers)) as parts:
        for part, found in parts:
            if found is None or not _alike(tally, found.tally):
                count(part)  # for the error of the right line
                continue
            for each in found.failed:
                on_done(each)
            tally.merge(found.tally)
            on_rows(found.tally.samples - len(found.failed))
    return tally


def _ignore(_: object) -> None:
    pass


class _Part(NamedTuple):
    """Whole lines of a file, as `jsonl_lines` takes them."""

    number: int = 1
    start: int = 0
    end: int | None = None


def _count(
    path: Path,
    chosen: Choices,
    tally: Tally,
    on_done: Callable[[Result | None], object],
    on_rows: Callable[[int], object],
    part: _Part,
) -> None:
    """Add a part's lines to the tally, in their order."""
    from noisesense_adapters.table.lines import read_line

    def results(some: Sequence[_Numbered], which: Iterable[int]) -> Iterator[Result]:
        for i in which:
            raw = jsonl_row(path, *some[i])
            yield result_of(row_of(raw, read_result_line, {}, verdicts=True), chosen)

    rest = jsonl_lines(path, *part)
    while some := list(islice(rest, _AT_ONCE)):
        with _collector_paused():
            read = [None if len(line) > LARGEST else read_line(line) for _, line in some]
            counted, others = _counted(read, chosen, tally)
        made = list(results(some, others))
        if counted is not None and any(
            _settings(each) not in (None, _of(counted)) for each in made
        ):
            counted = None  # an error is to come, and of the right line
        if counted is None and len(made) < len(some):
            made = list(results(some, range(len(some))))
        for each in made:
            on_done(each)
            tally.add(each)
        if counted is not None:
            tally.merge(counted)
            on_rows(counted.samples)


class _PartTally(NamedTuple):
    """What a part adds, and its results that failed."""

    tally: Tally
    failed: list[Result]


def _shared_out(
    path: Path, chosen: Choices, workers: int
) -> Generator[tuple[_Part, _PartTally | None], None, None]:
    """The file's parts in order, counted by so many processes; None: this one must count it."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_worker()) for _ in range(workers)]
        waiting: deque[tuple[_Part, subprocess.Popen[bytes]]] = deque()
        for part, process in zip(_parts(path), cycle(processes)):
            if len(waiting) == 2 * workers:
                yield _answer(*waiting.popleft())
            with _alive(process):
                # At once, and not buffered: it is far shorter than what a pipe holds.
                os.write(_pipe(process.stdin).fileno(), _line([str(path), chosen, part]))
            waiting.append((part, process))
        while waiting:
            yield _answer(*waiting.popleft())


_ANSWER = b"noisesense answers "
"""Begins each answer's line: a user's own start-up code may print as well."""


def _answer(part: _Part, process: subprocess.Popen[bytes]) -> tuple[_Part, _PartTally | None]:
    answers = _pipe(process.stdout)
    with _alive(process):
        for line in answers:
            if line.startswith(_ANSWER) and line.endswith(b"\n"):
                break
        else:
            raise EOFError
    try:
        tally, failed = json.loads(line.removeprefix(_ANSWER)) or (None, ())
        found = tally and _PartTally(Tally.from_dict(tally), [*map(Result.from_json, failed)])
    except InputError:  # a file may hold figures that no tally in JSON does, such as -5 calls
        found = None
    return part, found


def _line(data: object) -> bytes:
    """For the other process."""
    return json.dumps(data).encode() + b"\n"


@contextmanager
def _alive(process: subprocess.Popen[bytes]) -> Generator[None, None, None]:
    """Raises `InputError` if the process ended, such as by the system when memory is short."""
    try:
        yield
    except (EOFError, OSError):  # on Windows, EINVAL
        status = process.wait()
        got = f"exit status {status}" if status >= 0 else Signals(-status).name
        hint = "is there enough memory for so many?" if status < 0 else ""
        raise InputError(
            "processes that run to their end", f"one ended by {got}", where="workers", hint=hint
        ) from None


def _pipe(file: IO[bytes] | None) -> IO[bytes]:
    assert file is not None
    return file


def _parts(path: Path) -> Iterator[_Part]:
    number, start, position, breaks = 1, 0, 0, 0
    with opened(path) as file:
        while block := file.read(_BLOCK):
            last = block.rfind(b"\n") + 1
            end = position + last
            position += len(block)
            breaks += block.count(b"\n")
            if last and end - start >= _PART_SIZE:
                yield _Part(number, start, end)
                number, start, breaks = number + breaks, end, 0
    if position > start:
        yield _Part(number, start, position)


@contextmanager
def _worker() -> Generator[subprocess.Popen[bytes], None, None]:
    """A process that runs `work`.

    It ends with its input, which ends with this process, whatever ends that. A terminal's
    interrupt does not reach it, from its first moment on. Neither holds of `multiprocessing`,
    which would also run the caller's script again.
    """
    code = f"import sys; sys.path[:] = sys.argv[1:]; from {__name__} import work; work()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def work() -> None:
    """Answer each part that comes in with what it adds. Ends the process with its input."""
    with suppress(OSError):
        for line in sys.stdin.buffer:
            path, chosen, part = json.loads(line)
            found = _part_tally(Path(path), chosen, _Part(*part))
            answer = found and [found.tally.to_dict(), [*map(Result.to_json, found.failed)]]
            sys.stdout.buffer.write(b"\n" + _ANSWER + _line(answer))
            sys.stdout.buffer.flush()
    os._exit(0)  # without a word of a pipe that nobody reads any more


def _part_tally(path: Path, chosen: Choices, part: _Part) -> _PartTally | None:
    tally, failed = Tally(), list[Result]()

    def keep(result: Result | None) -> None:
        if result is not None and result.error is not None:
            failed.append(result)

    try:
        _count(path, chosen, tally, keep, _ignore, part)
    except Exception:  # noqa: BLE001 - the first process counts this part and raises it
        return None
    return _PartTally(tally, failed)


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


def _alike(one: Tally, other: Tally) -> bool:
    return None in (one.definition, other.definition) or _of(one) == _of(other)


def _of(tally: Tally) -> tuple[str | None, str]:
    return tally.definition, tally.undetermined


def _settings(result: Result) -> tuple[str, str] | None:
    score = result.score
    return None if score is None else (score.definition, score.undetermined)


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
