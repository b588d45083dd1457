"""The example that ``noisesense promptfoo-init`` writes: safe to write, and it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisesense import InputError
from noisesense.fixtures import reference_examples
from noisesense_adapters.promptfoo.init import write_example
from support.promptfoo_cli import evaluate

NAMES = {"noise_sensitivity.py", "promptfooconfig.yaml", "verdicts.jsonl"}
EXAMPLES = {
    example.id: example
    for example in reference_examples()
    if example.id in ("capital-of-france", "machine-learning-language")
}


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert {path.name for path in write_example(folder)} == NAMES
    for name in NAMES:
        folder = tmp_path / f"holds {name}"
        folder.mkdir()
        (folder / name).write_text("mine", encoding="utf-8")
        with pytest.raises(InputError, match=f"got {name} in it"):
            write_example(folder)
        assert [path.read_text(encoding="utf-8") for path in folder.iterdir()] == ["mine"]
        assert len(write_example(folder, force=True)) == 3
        assert (folder / name).read_text(encoding="utf-8") != "mine"


def test_it_runs_as_it_is(commands: Path, tmp_path: Path) -> None:
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
