"""The same samples judged several times."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

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
from noisesense.stats.stability import ModeStability, SampleStability, _votes
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


def test_one_sample_and_two() -> None:
    """Of one, nothing is known of others: no share. Two have means 1/4 and 1, whose variance is
    9/32, less 1/8 / 2 / 2."""
    one = stability([run([0]), run([2])]).relevant
    assert one is not None
    assert (one.within, one.between, one.judge_share) == (1 / 8, None, None)
    assert [(each.id, each.crosses) for each in one.changed] == [("q0", False)]
    two = stability([run([0, 4]), run([2, 4])]).relevant
    assert two is not None
    assert (two.within, two.between) == (1 / 16, 9 / 32 - 1 / 32)


def test_the_worst_come_first_and_are_what_votes_settle() -> None:
    """A value of the limit does not cross it. Of those that cross, the one of the largest variance
    comes first; of equal ones, by their names."""
    noisy = [[4, 1, 0, 0, 1, 1, 4], [0, 2, 3, 3, 3, 0, 4], [4, 2, 3, 3, 1, 0, 4]]
    mode = stability(map(run, noisy), limit=0.5).relevant
    assert mode is not None
    assert mode.crossing == 4
    order = [(each.id, each.crosses) for each in mode.changed]
    assert order == [
        *(("q0", True), ("q2", True), ("q3", True), ("q4", True)),
        *(("q1", False), ("q5", False)),
    ]
    assert mode.settled_by(1) == 0
    assert mode.settled_by(43) == 4
    # Without a limit all of them are asked for: two of three have the same value.
    mode = stability(map(run, noisy)).relevant
    assert mode is not None
    assert not any(each.crosses for each in mode.changed)
    assert (mode.settled_by(41), mode.settled_by(43)) == (0, 6)
    # Three values in three repeats: no number of votes settles that.
    mode = stability(map(run, RUNS)).relevant
    assert mode is not None
    assert mode.settled_by(99) == 0


def test_votes_are_the_least_whose_majority_is_likely() -> None:
    odd = np.arange(1, 101, 2)
    for share in [*np.linspace(0.5, 1, 300), 0.58191]:
        likely = odd[stats.binom.sf(odd // 2, odd, share) >= 0.95]
        assert _votes(float(share)) == (likely[0] if len(likely) else None)
    # The last number that is tried: 97 are not enough.
    assert (stats.binom.sf([48, 49], [97, 99], 0.5823) >= 0.95).tolist() == [False, True]
    assert _votes(0.5823) == 99
    assert _votes(0.95) == 1


def test_without_any_value() -> None:
    failed = [Result("q0", error="no"), Result("q1", error="no")]
    for limit, crossing in ((None, None), (0.5, 0)):
        found = stability([failed, failed], limit=limit).relevant
        assert found == ModeStability("relevant", 0, 2, (), None, None, None, None, (), crossing)


def test_a_mode_that_some_repeats_lack() -> None:
    table = Verdicts.from_matrices([False], [[True]], relevant=[True])
    runs = [[Result("a", score(table, definition=name))] for name in ("ragas", "validmind")]
    found = stability(runs).irrelevant
    assert found is not None
    assert (found.samples, found.left_out) == (0, 1)


def test_a_sample_has_its_name_of_the_first_repeat() -> None:
    sample = Sample(user_input="q", response="a", reference="r", retrieved_contexts=["c"])
    runs = [
        [replace(result_of(name, (noisy, 4)), sample=sample)]
        for name, noisy in (("first", 0), ("second", 2))
    ]
    found = stability(runs, pair_by="question").relevant
    assert found is not None
    assert [each.id for each in found.changed] == ["first"]


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
