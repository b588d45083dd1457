"""`score_dataset`: verdicts from the file, a recording or a judge."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    Result,
    Summary,
    Usage,
    read_results,
    summarize,
    write_recording,
)
from noisesense.fixtures import reference_examples
from noisesense.scoring.scoring import Undetermined
from noisesense_adapters.datasets.read import results_of
from noisesense_adapters.datasets.score import score_dataset
from support.datasets import rows, write_jsonl
from support.scripted_judge import PAIRS, Scripted, expected, failing, scores, texts
from support.tables import Shape, random_pairs


def test_definition_and_empty_are_as_chosen_and_results_keep_theirs(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", rows(PAIRS))
    out = tmp_path / "out.jsonl"
    seen: list[Result] = []
    score_dataset(path, definition="paper", empty="zero", out=out, on_done=seen.append)
    assert scores(out) == expected(definition="paper", empty="zero")
    assert seen == list(read_results(out))
    # Results keep theirs unless another is asked for.
    again = tmp_path / "again.jsonl"
    score_dataset(out, out=again)
    assert again.read_bytes() == out.read_bytes()
    score_dataset(out, out=again, definition="ragas", empty="undefined")
    assert scores(again) == expected()


def test_a_wrong_confidence_is_told_before_anyone_is_asked(tmp_path: Path) -> None:
    """All samples were judged and paid for, and the summary was lost."""
    judge = Scripted()
    path = write_jsonl(tmp_path / "d.jsonl", rows(PAIRS))
    with pytest.raises(InputError, match="expected a number above 0 and below 1, got 95"):
        score_dataset(path, judge=judge, confidence=95)
    assert judge.asked == []


OPEN = list(random_pairs(40, seed=900, shape=Shape(undetermined=0.15, labeled=0.3)))


@pytest.mark.parametrize("choice", ["none", "low", "high"])
def test_the_choice_for_what_is_undetermined_is_kept_in_results(
    choice: Undetermined, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", rows(OPEN))
    out = tmp_path / "out.jsonl"
    summary = score_dataset(path, undetermined=choice, out=out)
    want = expected(OPEN, undetermined=choice)
    assert scores_in(out) == want
    assert summary == summarize(want)
    # A results file keeps its choice unless another is asked for.
    assert scores_in(out, undetermined="none") == expected(OPEN)
    again = tmp_path / "again.jsonl"
    score_dataset(out, out=again)
    assert scores_in(again) == want


def scores_in(path: Path, **options: Any) -> list[Any]:
    return [result.score for result in results_of(path, **options)]


def test_what_had_failed_still_says_why_when_results_are_scored_again(tmp_path: Path) -> None:
    data = texts(tmp_path)
    out = tmp_path / "out.jsonl"
    again = tmp_path / "again.jsonl"
    score_dataset(data, judge=Scripted(fails=failing(3, 17)), out=out)
    assert list(results_of(out)) == list(read_results(out))
    assert score_dataset(out, out=again).failed == 2
    assert again.read_bytes() == out.read_bytes()


def test_a_judge_gives_the_same_with_and_without_a_file_for_results(tmp_path: Path) -> None:
    judge = Scripted()
    out = tmp_path / "out.jsonl"
    summary = score_dataset(texts(tmp_path), judge=judge)
    assert summary == replace(summarize(expected()), usage=summary.usage)
    assert [path.name for path in tmp_path.iterdir()] == ["data.jsonl"]
    assert score_dataset(texts(tmp_path), judge=judge, out=out, concurrency=4) == summary
    found = list(results_of(out))
    assert [result.score for result in found] == expected()
    assert {result.judge for result in found} == {"scripted"}
    assert summary.usage == Usage(calls=90, input_tokens=300, output_tokens=60)
    assert judge.most_at_once == 16


def test_verdicts_without_texts_are_scored_but_not_judged(tmp_path: Path) -> None:
    example = reference_examples()[0]
    verdicts = example.verdicts.model_dump(mode="json")
    lines = [{"id": "a", "verdicts": verdicts}, {"id": "b", "verdicts": 7}]
    data = write_jsonl(tmp_path / "data.jsonl", lines)
    summary = score_dataset(data)
    assert summary.relevant.mean.value == 0.5
    assert summary.failed == 1
    assert score_dataset(data, judge=Scripted()).failed == 2


def test_score_dataset_works_within_a_running_loop(tmp_path: Path) -> None:
    """As in a notebook."""

    async def main() -> Summary:
        return score_dataset(texts(tmp_path), judge=Scripted())

    assert asyncio.run(main()).scored == 30


ARGUMENTS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({}, ("data.jsonl, line 1", "only texts", "--judge", "judge=")),
    ({"undetermined": "nan"}, ("'none', 'low' or 'high', got 'nan'",)),
    ({"judge": Scripted(), "out": "out.parquet"}, (".jsonl", "to_parquet(")),
    ({"judge": Scripted(), "out": "data.jsonl"}, ("another file",)),
    ({"judge": Scripted(), "out": "other.jsonl"}, ("nothing was overwritten",)),
]


@pytest.mark.parametrize(("options", "named"), ARGUMENTS)
def test_a_wrong_argument_is_named_and_no_file_is_changed(
    options: dict[str, Any],
    named: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    texts(tmp_path)
    write_recording(tmp_path / "other.jsonl", PAIRS)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    with pytest.raises(InputError) as raised:
        score_dataset("data.jsonl", **options)
    assert [part for part in named if part not in str(raised.value)] == []
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before
