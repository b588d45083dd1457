"""``summarize(result)``: the figures of ragas' result, from the scores attached to its numbers."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest

from noisesense import (
    InputError,
    JudgeError,
    Judgement,
    Sample,
    Usage,
    Verdicts,
    score,
)
from noisesense import summarize as summarize_scores
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, summarize
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, CountingJudge, evaluated
from support.tables import Shape, random_pairs

PAIRS = list(random_pairs(40, shape=Shape(undetermined=0.1)))
SAMPLES = [sample for sample, _ in PAIRS]


def _both(judge: Any, **options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, judge=judge, **options) for mode in MODES]


class _Paid(CountingJudge):
    """Two calls a judging; one sample fails."""

    def __init__(self, pairs: Iterable[tuple[Sample, Verdicts]], fails: str = "") -> None:
        super().__init__(pairs)
        self._fails = fails

    async def judge_detailed(self, sample: Sample) -> Judgement:
        if sample.key == self._fails:
            raise JudgeError("HTTP 503")
        verdicts = await self.judge(sample)
        return Judgement(verdicts, Usage(calls=2, input_tokens=10))


def test_the_figures_are_the_cores() -> None:
    result = evaluated(SAMPLES, _both(CountingJudge(PAIRS)))
    expected = summarize_scores(score(verdicts) for _, verdicts in PAIRS)
    assert summarize(result) == summarize(result.scores) == expected
    assert expected.relevant is not None
    assert expected.relevant.undetermined > 3
    low, high = expected.relevant.mean or (0, 0)
    assert low < high
    # One column will do: its scores have both modes.
    one = evaluated(SAMPLES, [NoiseSensitivity(judge=CountingJudge(PAIRS))])
    assert summarize(one) == expected
    narrow = summarize(result, confidence=0.5).relevant
    assert narrow is not None
    assert narrow.interval is not None
    assert expected.relevant.interval is not None
    assert narrow.interval.low > expected.relevant.interval.low
    assert summarize(pickle.loads(pickle.dumps(result.scores))) == expected


def test_by_hand() -> None:
    # Relevant mode: 1/4 to 3/4, then 1/4, then no claims; (1/4 + 1/4) / 2 to (3/4 + 1/4) / 2.
    given = [
        Verdicts.from_matrices([False] * 4, [[True], [None], [None], [False]], [[True]]),
        Verdicts.from_matrices([False] * 4, [[True], [False], [False], [False]], [[True]]),
        Verdicts.from_matrices([], [], [[True]]),
    ]
    samples = [
        Sample.model_validate({"response": t, "reference": "r", "retrieved_contexts": ["c"]})
        for t in "abc"
    ]
    judge = CountingJudge(zip(samples, given, strict=True))
    found = summarize(evaluated(samples, _both(judge)))
    assert found.relevant is not None
    assert tuple(found.relevant.mean or ()) == (0.25, 0.5)
    assert found.relevant.mean is not None
    assert found.relevant.mean.value is None
    assert (found.relevant.determined, found.relevant.undetermined) == (1, 1)
    assert (found.samples, found.scored, found.empty, found.failed) == (3, 3, 1, 0)


def test_beside_a_metric_of_ragas() -> None:
    from ragas.metrics._string import ExactMatch

    result = evaluated(SAMPLES, [ExactMatch(), NoiseSensitivity(judge=CountingJudge(PAIRS))])
    assert summarize(result).samples == 40


def test_failed_rows_are_counted_and_shared_ones_paid_once() -> None:
    judge = _Paid(PAIRS, fails=SAMPLES[3].key)
    rows: list[Any] = [*SAMPLES, {**ragas_row(SAMPLES[0]), "response": " "}]
    result = evaluated(rows, _both(judge))
    # Whichever of the two metrics has paid, one column alone costs the same.
    for found in (summarize(result), *(summarize(result, name=each) for each in COLUMNS.values())):
        assert (found.samples, found.scored, found.failed) == (41, 39, 2)
        assert found.usage == Usage(calls=2 * 39, input_tokens=10 * 39)


def test_several_metrics_and_which_one_is_meant() -> None:
    judge = CountingJudge(PAIRS)
    result = evaluated(SAMPLES, [*_both(judge), *_both(judge, definition="paper")])
    with pytest.raises(InputError, match=r"one metric of ours.*paper\(mode=relevant\).*name="):
        summarize(result)
    paper = summarize_scores(score(verdicts, definition="paper") for _, verdicts in PAIRS)
    for name in ("noise_sensitivity_paper", "noise_sensitivity_paper(mode=relevant)"):
        assert summarize(result, name=name) == paper
    assert summarize(result, name="noise_sensitivity").definition == "ragas"
    with pytest.raises(InputError, match="one metric of ours"):
        summarize(result, name="mine")


def test_numbers_without_scores_are_no_result() -> None:
    result = evaluated(SAMPLES, _both(CountingJudge(PAIRS)))
    frame = result.to_pandas()
    for nothing in (frame, frame.to_dict("records"), [], None, 0.5, [{"faithfulness": 0.5}]):
        with pytest.raises(InputError, match="a pandas column or a file keeps numbers alone"):
            summarize(nothing)
