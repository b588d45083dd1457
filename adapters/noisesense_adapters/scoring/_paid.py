"""What a judge was paid for is not overwritten by another run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from noisesense.errors import InputError, describe
from noisesense.results import Result, read_results
from noisesense_adapters.io import BadRow, Row
from noisesense_adapters.scoring._files import holds_something
from noisesense_adapters.scoring._results import results_of

__all__ = ["check_paid"]

_LOOKED_AT = 20
_HINT = "nothing was overwritten; choose another name, or remove the file"


def check_paid(
    path: Path, partial: Path, judge: str | None, dataset: Iterable[Row | BadRow]
) -> None:
    """Are results that are there of this judge and this dataset, as far as the first ones tell?

    Results without a named judge cost nothing to have again, and are no obstacle.

    Args:
        path: a results file, if it is there.
        partial: what an interrupted run left, if it is there.
        judge: the name of the run's judge; None: the run asks none, or one without a name.
        dataset: what the run scores; read up to the first sample that is in the results.

    Raises:
        InputError: another judge's, or over other samples.
    """
    found = [*_judged(path, results_of(path))] if holds_something(path) else []
    if judge is not None and holds_something(partial):
        found += _judged(partial, read_results(partial, on_error=lambda _: None))
    for file, result in found:
        if judge is not None and result.judge != judge:
            raise InputError(
                f"results by {judge!r}, or a new file, as {file}",
                f"results by {describe(result.judge)}",
                where="out",
                hint=_HINT,
            )
    if not found:
        return
    keys = {result.sample.key for _, result in found if result.sample}
    if not any(isinstance(row, Row) and row.sample and row.sample.key in keys for row in dataset):
        raise InputError(
            f"results over the same samples, or a new file, as {path}",
            f"other samples, judged by {describe(found[0][1].judge)}",
            where="out",
            hint=_HINT,
        )


def _judged(path: Path, results: Iterator[Result]) -> Iterator[tuple[Path, Result]]:
    for result in islice(results, _LOOKED_AT):
        if result.judge is not None and result.score is not None:
            yield path, result
