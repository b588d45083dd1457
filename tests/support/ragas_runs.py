"""Runs of ragas' ``evaluate()`` as the tests of the adapter and of the bridges make them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from noisesense import Sample
from noisesense.scoring.definitions import MODES, Mode
from support.ragas_peer import ragas_row


def columns_of(definition: str) -> dict[Mode, str]:
    name = "noise_sensitivity" + ("" if definition == "ragas" else f"_{definition}")
    return {mode: f"{name}(mode={mode})" for mode in MODES}


COLUMNS = columns_of("ragas")


def dataset(rows: Iterable[Sample | dict[str, Any]]) -> Any:
    """An EvaluationDataset of samples, or of rows as ragas has them."""
    from ragas import EvaluationDataset

    plain = [ragas_row(row) if isinstance(row, Sample) else row for row in rows]
    return EvaluationDataset.from_list(plain)


def evaluated(
    rows: Iterable[Sample | dict[str, Any]], metrics: Sequence[Any], **options: Any
) -> Any:
    """The result of ragas' ``evaluate()``, without its advice to use ``@experiment``."""
    from ragas import evaluate

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"a?evaluate\(\) is deprecated", DeprecationWarning)
        return evaluate(dataset(rows), metrics=list(metrics), show_progress=False, **options)


def column(result: Any, mode: str, definition: str = "ragas") -> list[float]:
    return [row[columns_of(definition)[mode]] for row in result.scores]


def same(got: float | None, wanted: float | None) -> bool:
    """Equal to 1e-12; None and NaN both say undefined."""
    undefined = [value is None or math.isnan(value) for value in (got, wanted)]
    if any(undefined):
        return all(undefined)
    return abs(got - wanted) <= 1e-12  # type: ignore[operator]
