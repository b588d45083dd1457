"""The same samples judged several times."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from noisesense import (
    InputError,
    PairingError,
    Result,
    Sample,
    Verdicts,
    score,
    stability,
    write_results,
)
from noisesense.stats.stability import SampleStability
from support.command_here import run_here
from support.simulated import result_of

Capsys = pytest.CaptureFixture[str]

# Noisy claims of four, in three repeats.
RUNS = [[0, 2, 4, 1], [0, 2, 4, 3], [0, 2, 4, 2]]


def run(noisy: list[int]) -> list[Result]:
    return [result_of(f"q{i}", (count, 4)) for i, count in enumerate(noisy)]


def test_variance_by_hand() -> None:
    found = stability(map(run, RUNS), limit=0.5)
    assert (found.repeats, found.samples) == (3, 4)
    mode = found.relevant
    assert mode is not None
    assert (mode.samples, mode.left_out) == (4, 0)
    assert mode.means == pytest.approx((7 / 16, 9 / 16, 8 / 16))
    # Only q3 changes: 1/4, 3/4, 1/2 have the variance 1/16; a quarter of it is the mean of four.
    assert mode.within == pytest.approx(1 / 64)
    # The samples' means 0, 1/2, 1, 1/2 have the variance 1/6; less 1/64 / 3.
    assert mode.between == pytest.approx(1 / 6 - 1 / 192)
    assert mode.judge_share == pytest.approx((1 / 64) / (1 / 64 + 1 / 6 - 1 / 192))
    assert mode.mean_error == pytest.approx((1 / 64 / 4) ** 0.5)
    # Two of three are within the limit: a vote is for it with probability 2.5 / 4. The majority
    # of 43 is with 95.1%, that of 41 with 94.7%.
    assert mode.changed == (SampleStability("q3", (0.25, 0.75, 0.5), True, 43),)
    assert mode.crossing == 1
    assert (mode.settled_by(41), mode.settled_by(43)) == (0, 1)
    irrelevant = found.irrelevant
    assert irrelevant is not None
    assert (irrelevant.within, irrelevant.judge_share, irrelevant.changed) == (0, None, ())


def test_one_side_of_the_limit_needs_one_vote() -> None:
    mode = stability(map(run, RUNS), limit=0.8).relevant
    assert mode is not None
    assert mode.crossing == 0
    assert mode.changed[0].votes == 1
    without = stability(map(run, RUNS)).relevant
    assert without is not None
    assert without.crossing is None
    # Three values in three repeats: each may be the commonest.
    assert without.changed[0].votes is None


def test_samples_without_a_value_are_counted() -> None:
    open_one = score(Verdicts.from_matrices([None], [[True]], relevant=[True]))
    second = [*run(RUNS[1])[:2], Result("q2", open_one), Result("q3", error="no")]
    mode = stability([run(RUNS[0]), second]).relevant
    assert mode is not None
    assert (mode.samples, mode.left_out) == (2, 2)


def test_a_sample_that_the_dataset_holds_twice_counts_twice() -> None:
    """Without ids of their own both have the id of their content. Values 0, 1/4, then 1/2, 1/4:
    of each the variance is 1/8 or 0."""
    sample = Sample(user_input="q", response="a", reference="r", retrieved_contexts=["c"])

    def twice(*noisy: int) -> list[Result]:
        return [replace(result_of(sample.key, (count, 4)), sample=sample) for count in noisy]

    found = stability([twice(0, 1), twice(2, 1)])
    assert found.samples == 2
    assert found.relevant is not None
    assert found.relevant.samples == 2
    assert found.relevant.within == pytest.approx(1 / 16)
    assert found.relevant.means == (1 / 8, 3 / 8)


def test_a_mode_that_the_definition_lacks() -> None:
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    runs = [[Result("a", score(table, definition="validmind"))]] * 2
    found = stability(runs)
    assert found.irrelevant is None
    assert found.relevant is not None
    assert (found.relevant.between, found.relevant.judge_share) == (None, None)


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="two runs or more, got 1"):
        stability([run([0])])
    with pytest.raises(InputError, match="limit"):
        stability([run([0]), run([0])], limit=2)
    with pytest.raises(PairingError):
        stability([run([0, 0]), [result_of("other", (0, 4))]])


def test_command(tmp_path: Path, capsys: Capsys) -> None:
    paths = [tmp_path / f"{i}.jsonl" for i in range(3)]
    for path, noisy in zip(paths, RUNS, strict=True):
        write_results(path, run(noisy))
    done = run_here(capsys, "stability", *paths, "--limit", "0.5")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "4 samples, judged 3 times"
    relevant = next(line.split() for line in lines if line.startswith("relevant "))
    assert relevant == ["relevant", "4", "0", "0.4375", "0.5625", "8.8%", "0.0625", "1", "1"]
    assert (
        "relevant: 1 sample crosses the limit; 3 votes settle 0, 5 votes settle 0, "
        "9 votes settle 0" in lines
    )
    assert "  q3: 0.2500, 0.7500, 0.5000; votes needed: 43" in lines
    data = json.loads(run_here(capsys, "stability", *paths, "--limit", "0.5", "--json").out)
    assert data["relevant"]["changed"][0]["votes"] == 43
    assert run_here(capsys, "stability", paths[0]).status == 2
