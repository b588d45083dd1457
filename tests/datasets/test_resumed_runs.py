"""Runs of a judge that are given again: what is done is kept, what failed is tried again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    JudgeError,
    Judgement,
    Result,
    Sample,
    StoreError,
    read_results,
)
from noisesense_adapters.datasets.results import results_of
from noisesense_adapters.datasets.score import partial_of, score_dataset
from support.datasets import rows, write_jsonl
from support.scripted_judge import PAIRS, Scripted, expected, failing, scores, texts
from support.tables import random_pairs


def test_what_failed_and_nothing_else_is_tried_again(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    first = Scripted(fails=failing(3, 17))
    summary = score_dataset(data, judge=first, out=out)
    assert (summary.scored, summary.failed) == (28, 2)
    errors = [result.error for result in read_results(out) if result.error]
    assert errors == [
        f"data.jsonl, line {line}: the model gave no reply in time" for line in (4, 18)
    ]

    second = Scripted()
    seen: list[Result | None] = []
    score_dataset(data, judge=second, out=out, on_done=seen.append)
    assert [sample.key for sample in second.asked] == [PAIRS[i][0].key for i in (3, 17)]
    assert seen.count(None) == 28
    assert scores(out) == expected()


class Curt(Scripted):
    """Leaves a verdict open on some samples, and says so."""

    async def judge_detailed(self, sample: Sample) -> Judgement:
        left = int(sample.key in {PAIRS[i][0].key for i in (3, 17)})
        return replace(await super().judge_detailed(sample), unanswered=left)


@pytest.mark.parametrize("ended", [True, False])
def test_what_was_left_open_is_judged_again(ended: bool, tmp_path: Path) -> None:
    """By a finished run or by one that was interrupted."""
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    if ended:
        score_dataset(data, judge=Curt(), out=out)
        assert sum(result.unanswered for result in read_results(out)) == 2
    else:
        full = failing(29, error=StoreError("a store", "a full disk"))
        with pytest.raises(StoreError):
            score_dataset(data, judge=Curt(fails=full), out=out, concurrency=1)
    second = Scripted()
    score_dataset(data, judge=second, out=out)
    again = (3, 17) if ended else (3, 17, 29)
    assert [sample.key for sample in second.asked] == [PAIRS[i][0].key for i in again]
    assert not any(result.unanswered for result in read_results(out))
    assert scores(out) == expected()


def test_a_finished_run_is_scored_anew_without_the_judge(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.parquet"
    score_dataset(data, judge=Scripted(), out=out)
    second = Scripted()
    score_dataset(data, judge=second, out=out, definition="paper", empty="zero")
    assert second.asked == []
    assert [r.score for r in results_of(out)] == expected(definition="paper", empty="zero")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_run_that_ends_in_the_middle_goes_on(suffix: str, tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / f"out{suffix}"
    store = failing(20, error=StoreError("a store", "a full disk"))
    with pytest.raises(StoreError):
        score_dataset(data, judge=Scripted(fails=store), out=out, concurrency=4)
    assert not out.exists()
    kept = partial_of(out).read_bytes()
    assert kept.count(b"\n") >= 17

    second = Scripted()
    score_dataset(data, judge=second, out=out, concurrency=4)
    assert len(second.asked) == 30 - kept.count(b"\n")
    whole = tmp_path / f"whole{suffix}"
    score_dataset(data, judge=Scripted(), out=whole)
    assert out.read_bytes() == whole.read_bytes()
    assert not partial_of(out).exists()


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    judge = Scripted(fails=failing(9, error=StoreError("a", "b")))
    with pytest.raises(StoreError):
        score_dataset(data, judge=judge, out=out, concurrency=1)
    content = partial_of(out).read_bytes()
    assert content.count(b"\n") == 9
    partial_of(out).write_bytes(content[:-40])

    second = Scripted()
    score_dataset(data, judge=second, out=out)
    assert len(second.asked) == 22
    assert scores(out) == expected()


def _labelled(lines: list[dict[str, Any]]) -> None:
    lines[5]["retrieved_contexts"][0]["relevant"] = True


def _renamed(lines: list[dict[str, Any]]) -> None:
    lines[5]["id"] = "another"


CHANGES: dict[str, tuple[Callable[[list[dict[str, Any]]], None], int]] = {
    "nothing": (lambda lines: None, 0),
    "a label": (_labelled, 1),
    "an id": (_renamed, 1),
    "the order": (lambda lines: lines.reverse(), 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_counts_as_done(change: str, tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    score_dataset(data, judge=Scripted(), out=out)
    lines = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    edit, asked = CHANGES[change]
    edit(lines)
    write_jsonl(data, lines)
    second = Scripted()
    score_dataset(data, judge=second, out=out)

    assert len(second.asked) == asked
    found = list(read_results(out))
    assert {result.judge for result in found} == {"scripted"}
    order = [result.sample.user_input for result in found if result.sample]
    assert order == [line["user_input"] for line in lines]


@pytest.mark.parametrize("half", [False, True])
def test_what_was_paid_for_is_not_overwritten(half: bool, tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    if half:
        stopped = Scripted(fails=failing(20, error=StoreError("a", "b")))
        with pytest.raises(StoreError):
            score_dataset(data, judge=stopped, out=out, concurrency=1)
    else:
        score_dataset(data, judge=Scripted(), out=out)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    another = Scripted("another")
    with pytest.raises(InputError, match=r"results by 'another', or a new file.* by 'scripted'"):
        score_dataset(data, judge=another, out=out)
    (tmp_path / "others").mkdir()
    others = texts(tmp_path / "others", random_pairs(4, seed=77))
    same = Scripted()
    with pytest.raises(InputError, match=r"same samples, or a new file.* by 'scripted'"):
        score_dataset(others, judge=same, out=out)
    assert (another.asked, same.asked) == ([], [])
    (tmp_path / "others" / "data.jsonl").unlink()
    (tmp_path / "others").rmdir()
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_results_that_nobody_was_paid_for_are_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for seed in (1, 2):
        data = write_jsonl(tmp_path / f"{seed}.jsonl", rows(random_pairs(3, seed=seed)))
        assert score_dataset(data, out=out).samples == 3
    paid = tmp_path / "paid.jsonl"
    score_dataset(texts(tmp_path), judge=Scripted(), out=paid)
    for _ in range(2):  # the copy names the judge as well
        assert score_dataset(paid, out=out, definition="paper").samples == 30
    with pytest.raises(InputError, match="same samples"):
        score_dataset(data, out=out)


def test_a_judge_without_a_name_starts_anew(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    score_dataset(data, judge=Scripted(None), out=out)
    second = Scripted(None)
    score_dataset(data, judge=second, out=out)
    assert len(second.asked) == 30


def test_each_of_equal_rows_is_judged_and_written(tmp_path: Path) -> None:
    """A row that stands there three times asks how much the judge varies."""
    data, out = texts(tmp_path, [PAIRS[0]] * 3), tmp_path / "out.jsonl"
    judge = Scripted()
    score_dataset(data, judge=judge, out=out)
    assert len(judge.asked) == 3
    assert scores(out) == expected([PAIRS[0]] * 3)
    whole = out.read_bytes()
    second = Scripted()
    score_dataset(data, judge=second, out=out)
    assert second.asked == []
    assert out.read_bytes() == whole


def test_a_judge_that_fails_on_every_sample_ends_the_run(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    judge = Scripted(fails=failing(*range(30)))
    with pytest.raises(JudgeError, match=r"first 20 samples.*line 20: the model gave no reply"):
        score_dataset(data, judge=judge, out=out, concurrency=1)
    assert len(judge.asked) == 20
    assert not out.exists()


def test_one_sample_judged_is_enough_to_go_on(tmp_path: Path) -> None:
    data, out = texts(tmp_path), tmp_path / "out.jsonl"
    summary = score_dataset(data, judge=Scripted(fails=failing(*range(1, 30))), out=out)
    assert (summary.scored, summary.failed) == (1, 29)
