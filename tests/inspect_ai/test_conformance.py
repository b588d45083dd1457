"""The scorer in Inspect's own ``eval``, by `AdapterTests`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import DefinitionName, InputError, Judge, Sample, score
from noisesense.scoring.definitions import MODES
from support.adapter_tests import HostRun, Shown, ShownRow
from support.experiments import ExperimentTests, score_name, usage_in
from support.matrix import ROOT, tomllib
from support.row_hosts import by_inspect, rows_of_samples
from support.table_judge import TableJudge, all_from

# Older versions leave their logs open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file.*[.]eval:ResourceWarning")


def shown_row(sample: Any, definition: str) -> ShownRow:
    if sample.error is not None:
        return ShownRow(error=sample.error.message)
    score = sample.scores["noise_sensitivity"]
    names = {mode: score_name(mode, definition) for mode in MODES}
    return ShownRow(
        {
            mode: Shown(score.value[name], score.explanation)
            for mode, name in names.items()
            if name in score.value
        }
    )


class TestInspect(ExperimentTests):
    side_by_side = False  # Inspect runs one `eval` at a time in a process

    @pytest.fixture(autouse=True)
    def _logs(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def run(
        self, samples: Sequence[Sample], judge: Judge, *, definition: DefinitionName = "ragas"
    ) -> HostRun:
        from noisesense_adapters.inspect_ai import noise_sensitivity  # not in every process

        scorer = noise_sensitivity(judge=judge, definition=definition)
        log = by_inspect(rows_of_samples(samples), scorer, self.folder)
        samples_run = sorted(log.samples, key=lambda sample: sample.id)
        metrics = {score.name: score.metrics for score in log.results.scores}
        names = {mode: score_name(mode, definition) for mode in MODES}
        return HostRun(
            [shown_row(sample, definition) for sample in samples_run],
            stored=log.model_dump_json(),
            averages={
                mode: metrics[name]["mean"].value
                for mode, name in names.items()
                if name in metrics
            },
            usage=usage_in(self._metadata(samples_run)),
            names=[f"sample {sample.id}: " for sample in samples_run],
        )

    def _metadata(self, samples: Sequence[Any]) -> list[Mapping[str, Any]]:
        scores = [sample.scores["noise_sensitivity"] for sample in samples if sample.scores]
        return [each for score in scores for each in score.metadata.values()]


def test_any_of_several_targets_is_right(tmp_path: Path) -> None:
    """Inspect joins them without anything between: "4" and "2 days" had become "42 days"."""
    from noisesense_adapters.inspect_ai import noise_sensitivity

    read = Sample(response="In Rome.", reference="4\nor: 2 days", retrieved_contexts=("A chunk.",))
    pair = all_from(read, False)
    row = rows_of_samples([read])[0] | {"expected_output": ["4", "2 days"]}
    log = by_inspect([row], noise_sensitivity(judge=TableJudge([pair])), tmp_path)
    (sample,) = log.samples
    assert sample.scores["noise_sensitivity"].value["noise_sensitivity_relevant"] == (
        score(pair[1]).relevant
    )


def answers_to(*questions: str) -> list[Sample]:
    return [
        Sample(user_input=each, response="r", reference="g", retrieved_contexts=("c",))
        for each in questions
    ]


def test_the_epochs_of_a_sample_are_answers_to_one_question(tmp_path: Path) -> None:
    from noisesense_adapters.inspect_ai import noise_sensitivity, run_summary

    samples = answers_to("one?", "two?")
    judge = TableJudge([all_from(each, True) for each in samples])
    scorer = noise_sensitivity(judge=judge)
    log = by_inspect(rows_of_samples(samples), scorer, tmp_path, epochs=3)
    summary = run_summary(log)
    assert summary.grouped == "6 answers to 2 questions"
    assert summary.relevant is not None
    assert summary.relevant.interval is not None
    assert summary.relevant.interval.units == 2


def test_another_event_loop_is_refused_by_name() -> None:
    from noisesense_adapters.inspect_ai import noise_sensitivity

    state: Any = None
    scoring: Any = noise_sensitivity(judge=TableJudge([]))(state, state)
    with pytest.raises(InputError, match="expected asyncio's, got another, as trio's"):
        scoring.send(None)  # as trio would begin


def test_inspect_finds_the_scorer_by_its_package(tmp_path: Path) -> None:
    """As ``inspect score --scorer`` does: by an entry point, where ours is installed."""
    packages = tmp_path / "site-packages"
    info = packages / "noisesense-0.dist-info"
    info.mkdir(parents=True)
    for name, source in (("noisesense", "core"), ("noisesense_adapters", "adapters")):
        (packages / name).symlink_to(ROOT / source / name)
    points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    lines = [f"{name} = {module}" for name, module in points["inspect_ai"].items()]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noisesense\nVersion: 0\n")
    (info / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    program = (
        "from inspect_ai._util.registry import registry_lookup\n"
        "assert registry_lookup('scorer', 'noisesense_adapters/noise_sensitivity') is not None"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(packages)})
