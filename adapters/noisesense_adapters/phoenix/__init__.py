"""Noise sensitivity in the evals of Arize Phoenix. Needs the extra ``phoenix``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from typing_extensions import Unpack

from noisesense import DefinitionName, Summary
from noisesense.errors import describe
from noisesense.judging.calls import run_blocking
from noisesense.scoring.definitions import MODES
from noisesense_adapters.evaluate.evaluator import NAME, score_name, suffix
from noisesense_adapters.evaluate.rows import Arguments, Figure, RowEvaluator, summary_of
from noisesense_adapters.extras import needs_extra
from noisesense_adapters.factory import structured_llm
from noisesense_adapters.reading.places import HOSTS
from noisesense_adapters.reading.values import as_object, opened

with needs_extra("phoenix", "phoenix", "arize-phoenix-evals"):
    from phoenix.evals import Evaluator, Score

__all__ = ["NoiseSensitivity", "run_summary"]


_COLUMNS = {
    "response": "output",
    "reference": "expected_output",
    "contexts": "retrieved_contexts",
    "user_input": "input",
}
"""Where a column that is bound to an argument's name is read."""
_ROW = "whole_row"


class _AnyRow(BaseModel):
    """Phoenix asks for a schema; ours takes every column."""

    model_config = ConfigDict(extra="allow")


class NoiseSensitivity(Evaluator):
    """An evaluator for ``evaluate_dataframe`` and ``async_evaluate_dataframe``.

    It gives ``noise_sensitivity_relevant`` and ``noise_sensitivity_irrelevant`` from one judging.
    Scores run from 0 to 1; **lower is better**, which their direction says. An undefined or
    undetermined score is None, its label says which, and its explanation why.

    Args:
        name: how its columns' names begin; of two evaluators in one run with one name Phoenix
            keeps the later.
        arguments: see `noisesense_adapters.evaluate.rows.Arguments`. A function of the row gets
            all its columns. No default takes the column ``reference``, which in Phoenix's own
            tables is the retrieved text.

    Raises:
        InputError: an unknown mode, definition, ``empty`` or ``undetermined``; neither judge nor
            model, or both; or an unknown judge option. A wrong place or an unusable
            model fails each row.
    """

    def __init__(self, *, name: str = NAME, **arguments: Unpack[Arguments]) -> None:
        self._rows = RowEvaluator(HOSTS["phoenix"], structured_llm, name=name, **arguments)
        name += suffix(self._rows.definition)
        super().__init__(name=name, kind="llm", direction="minimize", input_schema=_AnyRow)

    def bind(self, input_mapping: Any) -> None:
        """Read other columns: ``input_mapping`` has them by our arguments' names or Phoenix's.

        Phoenix hands on the mapped fields alone: the whole row goes with them.
        """
        mapping: dict[str, Any] = {_ROW: dict}
        for name, column in input_mapping.items():
            mapping[_COLUMNS.get(name) or name] = column
        super().bind(mapping)

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return run_blocking(self._async_evaluate(eval_input))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        """Score a row. The fields that `bind` maps win over the whole row."""
        eval_input = {**eval_input.pop(_ROW, {}), **eval_input}
        place = f"row with the input {describe(eval_input.get('input'))}"
        figures = await self._rows.kept_figures(eval_input, place)
        return [self._score(figure) for figure in figures]

    def _score(self, figure: Figure) -> Score:
        return Score(
            name=self._rows.name(figure.mode),
            score=figure.value,
            label=figure.metadata["status"],
            explanation=figure.reason,
            metadata=figure.metadata,
            kind=self.kind,
            direction=self.direction,
        )


def run_summary(
    dataframe: Any, definition: DefinitionName = "ragas", *, name: str = NAME
) -> Summary:
    """Return the means of an evaluated dataframe as ranges, with intervals.

    A mean over a column passes over what has no score. Here every row counts: an undetermined
    one by its bounds, and failed and undefined ones are counted apart. A row without our scores
    is a failed one.

    Args:
        dataframe: what ``evaluate_dataframe`` returned.
        definition: of the scores in question.
        name: as the evaluator has it.

    Raises:
        InputError: an unknown definition.
    """
    columns = [f"{score_name(mode, definition, name)}_score" for mode in MODES]
    rows: list[list[Any]] = []
    for scores in dataframe.reindex(columns=columns).to_numpy():
        # A frame that was read from CSV holds their texts.
        rows.append([as_object(opened(score)).get("metadata") for score in scores])
    return summary_of(rows, definition)
