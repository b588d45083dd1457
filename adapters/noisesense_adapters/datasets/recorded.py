"""Recorded verdicts in JSON lines, counted many at once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisesense import MissingExtraError, Tally
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Undetermined
from noisesense_adapters.datasets.files import LARGEST, jsonl_lines, jsonl_row
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
) -> Tally | None:
    """The tally of a recording or of results in JSON lines; None for any other file.

    The same, with the same errors in the same order, as of `recorded_results`: a line that is not
    plainly valid goes that way. Memory does not grow with the file.

    Args:
        path: the file.
        chosen: how verdicts are scored.
        on_done: called with each result that was made, among them all that failed.
        on_rows: called with how many more were scored without.

    Raises:
        InputError: as `recorded_results`; results of several definitions.
    """
    if path.suffix.lower() not in (".jsonl", ".ndjson") or not path.is_file():
        return None
    try:
        lines: Any = import_module("noisesense_adapters.table.lines")
    except MissingExtraError:
        return None
    first = list(islice(read_rows(path), _FIRST_ROWS))
    if not any(isinstance(row, Row) and row.line is not None for row in first):
        return None
    recorded_results(iter(first), chosen)  # raises if there are no verdicts
    tally, rest = Tally(), jsonl_lines(path)
    while some := list(islice(rest, _AT_ONCE)):
        with _collector_paused():
            read = [None if len(line) > LARGEST else lines.read_line(line) for _, line in some]
            counted, others = _counted(read, chosen, tally)

        def results(which: Sequence[int], some: Sequence[_Numbered] = some) -> Iterator[Result]:
            for i in which:
                raw = jsonl_row(path, *some[i])
                yield result_of(row_of(raw, read_result_line, {}, verdicts=True), chosen)

        made = list(results(others))
        if counted is not None and any(
            _settings(each) not in (None, _of(counted)) for each in made
        ):
            counted = None  # an error is to come, and of the right line
        if counted is None and len(made) < len(some):
            made = list(results(range(len(some))))
        for each in made:
            if on_done is not None:
                on_done(each)
            tally.add(each)
        if counted is not None:
            tally.merge(counted)
            if on_rows is not None:
                on_rows(counted.samples)
    return tally


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
