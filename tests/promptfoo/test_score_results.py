"""What ``promptfoo eval -o`` wrote is scored again: offline, also what a model had judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, Result, summarize, write_recording
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.score import score_dataset
from noisesense_adapters.promptfoo import get_assert
from support.command_here import run_here
from support.promptfoo_cli import Run
from support.promptfoo_suite import EXAMPLES


def of(run: Run, folder: Path, test: str) -> Result:
    """The result of one test, read from a file that holds nothing else, and scored as there."""
    write_recording(folder / "recording.jsonl", [(e.sample, e.verdicts) for e in EXAMPLES])
    document = json.loads(run.evaluation.written["out.json"])
    row = run.evaluation.rows[test]
    document["results"]["results"] = [row]
    path = folder / "out.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    (result,) = results_of(path)
    lines = folder / "out.jsonl"
    lines.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (again,) = results_of(lines)
    assert again == result
    return result


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_given_and_judged_verdicts_score_again_to_the_same_figures(
    run: Run, example: Any, tmp_path: Path
) -> None:
    """A judge's are in the metadata."""
    for test, definition in (
        (f"{example.id}, promptfoo", "promptfoo"),
        (f"judged: {example.id}", "ragas"),
    ):
        result = of(run, tmp_path, test)
        assert result.error is None
        figures = (result.score.relevant, result.score.irrelevant)
        assert figures == pytest.approx(example.expected[definition], abs=1e-12)
        assert result.sample.key == example.sample.key
        asked = result.usage.calls + result.usage.cached_calls
        assert (asked > 0) is (definition == "ragas")


def test_the_run_has_a_sign_that_no_test_shows(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for name, row in run.evaluation.rows.items() if name.startswith("broken")]
    assert [row["success"] for row in rows] == [True] * 5
    path = write(tmp_path / "out.json", *rows)
    for command in ("score", "gate"):
        done = run_here(capsys, command, path, "--fail-above", "0.3")
        assert done.status == 5
        assert "not measured: a sign that the run is broken: no claim is correct" in done.err


def test_what_the_assertion_judged_is_read_and_not_the_variables(tmp_path: Path) -> None:
    """Results keep the names of files in place of the texts, and outputs before a transform.

    It was judged: 1 of 2 claims from the irrelevant chunk. Read again it was 0.0, without a word.
    """
    verdicts = {
        "response_claims": [
            {"text": "a", "correct": True, "entailed_by": [0]},
            {"text": "b", "correct": False, "entailed_by": [1]},
        ],
        "reference_claims": [],
    }
    chunks = [{"text": "c", "relevant": True}, {"text": "d", "relevant": False}]
    given = {"query": "q", "reference": "r", "verdicts": verdicts}
    judged = get_assert("an answer", {"vars": {**given, "contextChunks": chunks}, "test": {}})
    assert judged["namedScores"]["noise_sensitivity_irrelevant"] == 0.5
    kept = {**given, "contextChunks": "file://chunks.json"}
    result = {
        "testIdx": 0, "promptIdx": 0, "testCase": {}, "vars": kept,
        "response": {"output": {"long": "before the transform"}},
        "gradingResult": {"componentResults": [judged]},
    }  # fmt: skip
    (again,) = results_of(write(tmp_path / "out.jsonl", result))
    assert again.error is None
    assert again.score.relevant == 0.0
    assert again.score.irrelevant == 0.5
    assert again.sample.response == "an answer"
    # An older result, without the texts, names what it lacks.
    judged["metadata"].pop("sample")
    (unknown,) = results_of(write(tmp_path / "old.jsonl", {**result, "response": {"output": "x"}}))
    assert "vars.contextChunks: expected a text, got 'file://chunks.json'" in str(unknown.error)


def test_a_result_without_a_score_has_the_reason_of_its_assertion(tmp_path: Path) -> None:
    """Also where its places name what only the provider's raw output has."""
    moved = {"contextChunks": "{{output.docs}}"}
    context = {"vars": {"query": "q", "reference": "r"}, "config": {"max_noise": 1}, "test": {}}
    asserted = get_assert("an answer", context)
    result = {
        **row(0, 0, "A", "q"), "vars": {**context["vars"], "contextChunks": LABELED},
        "gradingResult": {"componentResults": [asserted]},
        "testCase": {"assert": [{"type": "python", "config": moved}]},
    }  # fmt: skip
    (found,) = results_of(write(tmp_path / "out.jsonl", result))
    assert found.score is None
    assert str(found.error).startswith("test 0, A, prompt 0: config: expected only ")
    assert str(found.error).partition("prompt 0: ")[2] in asserted["reason"]


# ------------------------------------------------ who answered, what it is called, what repeats

LABELED = [{"text": "c", "relevant": True}]


def row(test: int, prompt: int, provider: str, question: str, *, wrong: bool = False) -> Any:
    """A result as `promptfoo eval --repeat 2` writes it: each repetition is a test of its own."""
    claim = {"text": "a", "correct": not wrong, "entailed_by": [0]}
    given = {"query": question, "reference": "r", "contextChunks": LABELED}
    return {
        "id": f"a new one in each run: {id(given)}",
        "testIdx": test,
        "promptIdx": prompt,
        "provider": {"id": "file://provider.cjs", "label": provider},
        "testCase": {},
        "vars": {**given, "verdicts": {"response_claims": [claim]}},
        "response": {"output": f"answer of {provider}"},
    }


def failed(result: Any) -> Any:
    return {**result, "response": {"error": "down"}, "error": "down"}


def write(path: Path, *results: Any) -> Path:
    """As `-o out.jsonl` or `-o out.json` writes them."""
    lines = [json.dumps(each) for each in results]
    text = "\n".join(lines)
    if path.suffix == ".json":
        text = json.dumps({"results": {"results": list(results)}})
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
def test_a_result_that_failed_has_the_name_that_it_has_else(name: str, tmp_path: Path) -> None:
    rows = [row(number, 0, "A", f"q{number}") for number in range(30)]
    before = list(results_of(write(tmp_path / name, *rows)))
    down = [failed(each) if number < 25 else each for number, each in enumerate(rows)]
    after = list(results_of(write(tmp_path / name, *down)))
    assert [each.id for each in after] == [each.id for each in before]
    assert [each.id for each in after][:2] == ["test 0, A, prompt 0", "test 1, A, prompt 0"]
    assert sum(each.error is not None for each in after) == 25


def test_several_providers_or_prompts_have_no_mean_in_common(tmp_path: Path) -> None:
    """A is wrong once of two, B never; B's other prompt always. All: a mean of one half."""
    rows = [
        row(test, prompt, provider, f"q{test}", wrong=wrong)
        for test in range(2)
        for prompt, provider, wrong in ((0, "A", test == 0), (1, "B", False), (2, "B", True))
    ]
    path = write(tmp_path / "out.json", *rows)
    names = "'A, prompt 0', 'B, prompt 1', 'B, prompt 2'"
    with pytest.raises(InputError, match=f"results of one provider and prompt, got {names}"):
        list(results_of(path))
    with pytest.raises(InputError, match="prompt 1' or 'B, prompt 2', got 'B'"):
        score_dataset(path, provider="B")
    for provider, mean in (("A, prompt 0", 0.5), ("B, prompt 1", 0.0), ("B, prompt 2", 1.0)):
        summary = score_dataset(path, provider=provider)
        assert summary.samples == 2
        assert summary.relevant.mean.value == mean
        assert summary.clusters is None  # no test ran twice
    other = write(tmp_path / "lines.jsonl", {"sample": None, "verdicts": None})
    with pytest.raises(InputError, match="provider: expected Promptfoo's results, got others"):
        score_dataset(other, provider="A")


def test_repetitions_of_a_test_are_one_cluster(tmp_path: Path) -> None:
    """Two questions, asked three times each: two independent units, not six."""
    rows = [row(test, 0, "A", f"q{test // 3}", wrong=test < 3) for test in range(6)]
    results = list(results_of(write(tmp_path / "out.json", *rows)))
    assert len({each.id for each in results}) == 6
    summary = summarize(results)
    assert summary.grouped == "6 answers to 2 questions"
    assert summary.relevant.interval.units == 2
    named = score_dataset(write(tmp_path / "o.json", *rows), columns={"cluster": "testIdx"})
    assert named.clusters is None  # whoever names another cluster gets it
