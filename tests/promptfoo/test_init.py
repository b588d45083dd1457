"""The example that ``noisesense promptfoo-init`` writes runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense.fixtures import reference_examples
from noisesense_adapters.promptfoo.init import write_example
from support.promptfoo_cli import evaluate

EXAMPLES = {example.id: example for example in reference_examples()}


def test_the_written_example_runs_as_it_is_to_the_documented_figures(
    commands: Path, tmp_path: Path
) -> None:
    """The figures of its source under its definition, ragas' beside them; no key, no change."""
    write_example(tmp_path)
    evaluation = evaluate(commands, tmp_path)

    assert evaluation.status == 0
    rows = {
        "Capital of France": EXAMPLES["capital-of-france"],
        "Machine learning language": EXAMPLES["machine-learning-language"],
    }
    assert evaluation.rows.keys() == rows.keys()
    for title, example in rows.items():
        relevant, irrelevant = example.expected["ragas"]
        documented = example.expected["promptfoo"]
        assert evaluation.rows[title]["namedScores"] == pytest.approx(
            {
                "noise_sensitivity_relevant": relevant,
                "noise_sensitivity_irrelevant": irrelevant,
                "noise_sensitivity_relevant_promptfoo": documented[0],
                "noise_sensitivity_irrelevant_promptfoo": documented[1],
            },
            abs=1e-12,
        )
