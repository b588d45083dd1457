"""Noise sensitivity in Opik's evaluations. Needs the extra ``opik``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from noisesense import DefinitionName, Summary
from noisesense.errors import NoiseSenseError, describe
from noisesense.judging.calls import run_blocking
from noisesense_adapters.evaluate.evaluator import NAME, suffix
from noisesense_adapters.evaluate.rows import Arguments, Figure, RowEvaluator, summary_of
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.reading.places import HOSTS

with needs_extra("opik"):
    from opik.evaluation.metrics.base_metric import BaseMetric
    from opik.evaluation.metrics.score_result import ScoreResult

if TYPE_CHECKING:
    from opik.evaluation.test_result import TestResult

__all__ = ["NoiseSensitivity", "run_summary"]


class NoiseSensitivity(BaseMetric):
    """A metric for ``evaluate``, ``evaluate_on_dict_items`` and ``score`` alone.

    It gives ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from one judging.
    Scores run from 0 to 1; **lower is better**. Opik shows 0.0, a perfect score, for a metric that
    raises. So a score that is undefined or undetermined, or whose row could not be evaluated, is
    NaN and marked as failed, which Opik's statistics leave out; the reason says why.

    Args:
        name: how its scores' names begin; two metrics in one run, as of two answers or two judges,
            need two.
        track: whether Opik traces the metric, as its own.
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. A function of the row gets
            what the task returned, and the other fields of the dataset's item.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither judge nor
            model, or both; or an unknown judge option. A wrong place or an unusable
            model fails each row.
    """

    def __init__(
        self, name: str = NAME, *, track: bool = True, **arguments: Unpack[Arguments]
    ) -> None:
        self._rows = RowEvaluator(HOSTS["opik"], structured_llm, name=name, **arguments)
        super().__init__(name=name + suffix(self._rows.definition), track=track)

    def score(self, **row: Any) -> list[ScoreResult]:
        """Return one row's result for each mode that was asked for.

        Without a value, or if the row cannot be evaluated, it is NaN and marked as failed.
        """
        place = f"item with the input {describe(row.get('input'))}"
        try:
            figures = run_blocking(self._rows.kept_figures(row, place))
        except NoiseSenseError as error:
            status = {"status": "error"}
            figures = [Figure(mode, None, str(error), status) for mode in self._rows.modes]
        return [self._result(figure) for figure in figures]

    def _result(self, figure: Figure) -> ScoreResult:
        """Without a value NaN, and marked: no average takes it for a number."""
        return ScoreResult(
            name=self._rows.name(figure.mode),
            value=math.nan if figure.value is None else figure.value,
            reason=figure.reason,
            metadata=figure.metadata,
            scoring_failed=figure.value is None,
        )


def run_summary(
    results: Iterable[TestResult], definition: DefinitionName = "ragas", *, name: str = NAME
) -> Summary:
    """Return the means of a run's items as ranges, with intervals.

    Opik's own means are over the items that have a number. Here every item counts: an undetermined
    one by its bounds, and failed and undefined ones are counted apart.

    Args:
        results: the ``test_results`` of what ``evaluate`` returned.
        definition: of the scores in question.
        name: as the metric has it.

    Raises:
        InputError: an unknown definition, or two metrics of that name.
    """
    rows = [[score.metadata for score in result.score_results] for result in results]
    return summary_of(rows, definition, name)
