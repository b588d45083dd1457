"""The metric in Opik's own ``evaluate_on_dict_items``, by `AdapterTests`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from noisesense import DefinitionName, InputError, Judge, Sample
from noisesense.scoring.definitions import MODES
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, score_name, usage_in
from support.row_hosts import OPIKS_CLIENT, by_opik, opik_offline, rows_of_samples
from support.table_judge import TableJudge, all_from

pytestmark = pytest.mark.filterwarnings(OPIKS_CLIENT)


@pytest.fixture(scope="module", autouse=True)
def offline() -> Iterator[None]:
    with opik_offline():
        yield


def shown_row(scores: Sequence[Any], definition: str) -> ShownRow:
    by_name = {score.name: score for score in scores}
    modes: dict[Any, Shown] = {}
    for mode in MODES:
        score = by_name.get(score_name(mode, definition))
        if score is None:
            continue
        if score.metadata["status"] == "error":
            return ShownRow({mode: Shown(score.value, score.reason)}, error=score.reason)
        modes[mode] = Shown(score.value, score.reason)
        assert score.scoring_failed == (score.metadata["status"] != "determined")
    return ShownRow(modes)


class TestOpik(ExperimentTests):
    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from noisesense_adapters.opik import NoiseSensitivity  # not in every process

        metric = NoiseSensitivity(judge=judge, definition=definition)
        result = by_opik(rows_of_samples(samples), metric)
        numbered = {
            each.test_case.dataset_item_content["number"]: each.score_results
            for each in result.test_results
        }
        rows = [numbered[number] for number in range(len(samples))]
        statistics = result.aggregate_evaluation_scores()
        names = {mode: score_name(mode, definition) for mode in MODES}
        return HostRun(
            [shown_row(scores, definition) for scores in rows],
            stored=repr(rows),
            averages={
                mode: statistics[name].mean for mode, name in names.items() if name in statistics
            },
            usage=usage_in(score.metadata for scores in rows for score in scores),
            names=[f"item with the input {sample.user_input!r}" for sample in samples],
        )


def test_two_metrics_of_one_run_have_two_names() -> None:
    from noisesense_adapters.opik import NoiseSensitivity, run_summary

    sample = Sample(user_input="?", response="r", reference="g", retrieved_contexts=("c",))
    judges = [TableJudge([all_from(sample, correct)]) for correct in (True, False)]
    first = NoiseSensitivity(judge=judges[0])
    second = NoiseSensitivity("strict", judge=judges[1], mode="relevant")
    result = by_opik(rows_of_samples([sample]), first, second)
    (scores,) = [each.score_results for each in result.test_results]
    assert {score.name for score in scores} == {
        "noise_sensitivity_relevant",
        "noise_sensitivity_irrelevant",
        "strict_relevant",
    }
    strict = run_summary(result.test_results, name="strict")
    assert run_summary(result.test_results).relevant.mean == (0.0, 0.0)
    assert strict.relevant.mean == (1.0, 1.0)
    alike = by_opik(rows_of_samples([sample]), first, NoiseSensitivity(judge=judges[1]))
    with pytest.raises(InputError, match="one score a mode, got those of two"):
        run_summary(alike.test_results)
