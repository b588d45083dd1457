"""Inspect, Phoenix and Opik over rows of texts: offline, in the host's own evaluation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from noisesense import Sample
from support.experiments import contexts

OPIKS_CLIENT = "ignore:.verify=<str>. is deprecated:DeprecationWarning"
"""It hands the path of its certificates to httpx."""

Row = Mapping[str, Any]
"""``input``, ``output``, ``expected_output`` and ``contexts``; an ``error`` of the system."""


def rows_of_samples(samples: Sequence[Sample]) -> list[Row]:
    return [
        {
            "input": sample.user_input,
            "output": sample.response,
            "expected_output": sample.reference,
            "contexts": contexts(sample),
        }
        for sample in samples
    ]


def by_phoenix(rows: Sequence[Row], evaluator: Any) -> Any:
    """The dataframe with scores."""
    from phoenix.evals import async_evaluate_dataframe

    return asyncio.run(async_evaluate_dataframe(**_phoenix_arguments(rows, evaluator)))


def by_phoenix_in_turn(rows: Sequence[Row], evaluator: Any) -> Any:
    """The same row by row, without the second that the other waits for its workers to end."""
    from phoenix.evals import evaluate_dataframe

    return evaluate_dataframe(**_phoenix_arguments(rows, evaluator))


def _phoenix_arguments(rows: Sequence[Row], evaluator: Any) -> dict[str, Any]:
    import pandas as pd

    return {
        "dataframe": pd.DataFrame(list(rows)),
        "evaluators": [evaluator],
        "hide_tqdm_bar": True,
        "exit_on_error": False,
        "max_retries": 0,
    }


@contextmanager
def opik_offline() -> Iterator[None]:
    """Neither traces nor LiteLLM's look-up of prices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPIK_TRACK_DISABLE", "true")
        patch.setenv("OPIK_URL_OVERRIDE", "http://127.0.0.1:9/api")
        patch.setenv("OPIK_SENTRY_ENABLE", "false")
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "true")
        yield


def by_opik(rows: Sequence[Row], *metrics: Any) -> Any:
    """The result; an error of the system ends the run."""
    from opik import evaluate_on_dict_items

    def system(item: dict[str, Any]) -> dict[str, Any]:
        row = rows[item["number"]]
        if row.get("error"):
            raise ConnectionError(row["error"])
        return {"output": row["output"], "contexts": row["contexts"]}

    items = [
        {"number": number, "input": row["input"], "expected_output": row["expected_output"]}
        for number, row in enumerate(rows)
    ]
    return evaluate_on_dict_items(items, task=system, scoring_metrics=[*metrics])


def by_inspect(rows: Sequence[Row], scorer: Any, folder: Path, **options: Any) -> Any:
    """The log. ``options`` are further ones of ``eval``."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset
    from inspect_ai.dataset import Sample as InspectSample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def system() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            row = rows[state.metadata["number"]]
            if row.get("error"):
                raise ConnectionError(row["error"])
            state.output = ModelOutput.from_content("mockllm/model", row["output"] or "")
            state.store.set("contexts", row["contexts"])
            return state

        return solve

    samples = [
        InspectSample(
            id=number,
            input=row["input"],
            target=row["expected_output"] or "",
            metadata={"number": number},
        )
        for number, row in enumerate(rows)
    ]
    task = Task(dataset=MemoryDataset(samples), solver=system(), scorer=scorer)
    options |= {"display": "none", "log_dir": str(folder), "fail_on_error": False}
    (log,) = evaluate(task, model="mockllm/model", **options)
    return log
