"""A report that pydantic-evals saves is read by the command line, as its page says."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic_evals import Case, Dataset, set_eval_attribute
from pydantic_evals.reporting import EvaluationReportAdapter

from noisesense import Sample, write_recording
from noisesense.fixtures import reference_examples
from noisesense_adapters.datasets import score_dataset
from noisesense_adapters.pydantic_evals import NoiseSensitivity, NoiseSensitivitySummary
from support.command_here import run_here

EXAMPLES = reference_examples()[:3]
SAMPLES: dict[str, Sample] = {each.sample.user_input: each.sample for each in EXAMPLES}


async def application(question: str) -> str:
    sample = SAMPLES[question]
    if question == EXAMPLES[2].sample.user_input:
        raise RuntimeError("no answer")
    documents = [f"{number}.md" for number in range(len(sample.retrieved_contexts))]
    set_eval_attribute("retrieved_contexts", [chunk.text for chunk in sample.retrieved_contexts])
    set_eval_attribute("retrieved_context_ids", documents)
    return sample.response


def test_from_a_report_to_the_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a summary or a failed case it had several lists, and none was read."""
    recording = tmp_path / "verdicts.jsonl"
    write_recording(recording, [(each.sample, each.verdicts) for each in EXAMPLES])
    dataset = Dataset(
        name="rag",
        cases=[Case(inputs=q, expected_output=s.reference) for q, s in SAMPLES.items()],
        evaluators=[NoiseSensitivity(judge=str(recording))],
        report_evaluators=[NoiseSensitivitySummary()],
    )
    report = asyncio.run(dataset.evaluate(application, progress=False))
    saved = tmp_path / "report.json"
    saved.write_bytes(EvaluationReportAdapter.dump_json(report))
    results = tmp_path / "results.jsonl"
    summary = score_dataset(saved, verdicts=recording, out=results)
    assert summary.measured == 2
    # Of the first example chunk 0 misled, of the second chunk 1.
    ranked = run_here(capsys, "offenders", results, "--examples", "0").out
    assert [name for name in ("0.md", "1.md") if name in ranked] == ["0.md", "1.md"]
