"""``summarize(result)``: the figures of ragas' result, from the scores attached to its numbers."""

from __future__ import annotations

import math
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
from noisesense_adapters.demo.ragas_peer import ragas_row
from noisesense_adapters.ragas import NoiseSensitivity, summarize
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
    low, high = expected.relevant.bounds or (0, 0)
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
    assert found.relevant.bounds == (0.25, 0.5)
    assert found.relevant.mean is None
    assert (found.relevant.determined, found.relevant.undetermined) == (1, 1)
    assert (found.samples, found.scored, found.empty, found.failed) == (3, 3, 1, 0)


def test_failed_rows_are_counted_and_shared_ones_paid_once() -> None:
    judge = _Paid(PAIRS, fails=SAMPLES[3].key)
    rows: list[Any] = [*SAMPLES, {**ragas_row(SAMPLES[0]), "response": " "}]
    result = evaluated(rows, _both(judge))
    found = summarize(result)
    assert (found.samples, found.scored, found.failed) == (41, 39, 2)
    assert found.usage == Usage(calls=2 * 39, input_tokens=10 * 39)
    # Whichever of the two metrics has paid, one column alone costs the same.
    for column in COLUMNS.values():
        assert summarize(result, name=column).usage == found.usage
    apart = evaluated(SAMPLES[:2], _both(_Paid(PAIRS), share=False))
    assert summarize(apart).usage == Usage(calls=2 * 2 * 2, input_tokens=10 * 2 * 2)


def test_where_each_mode_was_judged_for_itself_each_has_its_own_figures() -> None:
    noisy = Verdicts.from_matrices([False], [[True, False]], [[True, False]])
    other = Verdicts.from_matrices([False], [[False, True]], [[True, False]])

    class Turning:
        asked = 0

        async def judge(self, sample: Sample) -> Verdicts:
            self.asked += 1
            return noisy if self.asked == 1 else other

    sample = Sample.model_validate(
        {"response": "a", "reference": "r", "retrieved_contexts": ["c", "d"]}
    )
    result = evaluated([sample], _both(Turning(), share=False))
    assert list(result.scores[0].values()) == [1.0, 1.0]
    found = summarize(result)
    assert found.relevant is not None
    assert found.irrelevant is not None
    assert (found.relevant.mean, found.irrelevant.mean) == (1.0, 1.0)


def test_a_row_that_failed_in_one_column_only_has_the_others_score() -> None:
    scores = evaluated(SAMPLES, _both(CountingJudge(PAIRS))).scores
    scores[0][COLUMNS["relevant"]] = math.nan
    assert summarize(scores) == summarize_scores(score(verdicts) for _, verdicts in PAIRS)


def test_several_metrics_and_which_one_is_meant() -> None:
    judge = CountingJudge(PAIRS)
    metrics = [*_both(judge), *_both(judge, definition="paper", name="paper")]
    result = evaluated(SAMPLES, metrics)
    with pytest.raises(
        InputError, match=r"columns of one metric.*'paper\(mode=relevant\)'.*name="
    ):
        summarize(result)
    paper = summarize_scores(score(verdicts, definition="paper") for _, verdicts in PAIRS)
    for how in ({"name": "paper"}, {"name": "paper(mode=relevant)"}, {"definition": "paper"}):
        assert summarize(result, **how) == paper  # type: ignore[arg-type]
    assert summarize(result, name="noise_sensitivity").definition == "ragas"
    with pytest.raises(InputError, match=r"one of our columns.*got name='mine'"):
        summarize(result, name="mine")
    with pytest.raises(InputError, match="definition='promptfoo'"):
        summarize(result, definition="promptfoo")
    with pytest.raises(InputError, match="definition"):
        summarize(result, definition="mine")  # type: ignore[arg-type]
    # Side by side, what is open counted as noise and as none.
    ends = [NoiseSensitivity(judge=judge, undetermined=u, name=u) for u in ("low", "high")]  # type: ignore[arg-type]
    result = evaluated(SAMPLES, ends)
    low, high = (summarize(result, name=name).relevant for name in ("low", "high"))
    assert low is not None
    assert high is not None
    assert low.bounds == high.bounds == (low.mean, high.mean)


def test_beside_a_metric_of_ragas() -> None:
    from ragas.metrics._string import ExactMatch

    result = evaluated(SAMPLES, [ExactMatch(), NoiseSensitivity(judge=CountingJudge(PAIRS))])
    assert summarize(result).samples == 40


def test_numbers_without_scores_are_no_result() -> None:
    result = evaluated(SAMPLES, _both(CountingJudge(PAIRS)))
    frame = result.to_pandas()
    with pytest.raises(InputError, match=r"got DataFrame.*has no scores attached"):
        summarize(frame)
    with pytest.raises(InputError, match=r"got plain numbers.*a pandas column or a file keeps"):
        summarize(frame.to_dict("records"))
    numbers = [{name: float(value) for name, value in row.items()} for row in result.scores]
    with pytest.raises(InputError, match="plain numbers"):
        summarize(numbers)
    i = next(i for i, row in enumerate(numbers) if not math.isnan(row[COLUMNS["relevant"]]))
    mixed = [*result.scores]
    mixed[i] = numbers[i]
    with pytest.raises(InputError, match=rf"row {i}, noise_sensitivity\(mode=relevant\)"):
        summarize(mixed)
    for nothing in ([], None, 0.5, [0.5], [{"faithfulness": 0.5}]):
        with pytest.raises(InputError):
            summarize(nothing)


def test_a_run_of_which_every_row_failed() -> None:
    class Down:
        async def judge(self, sample: Sample) -> Verdicts:
            raise JudgeError("HTTP 503")

    result = evaluated(SAMPLES[:3], _both(Down()))
    found = summarize(result)
    assert (found.samples, found.failed, found.relevant) == (3, 3, None)
    with pytest.raises(InputError):
        summarize(result, name="mine")
    # In a bare list they might be numbers that have lost their scores.
    with pytest.raises(InputError):
        summarize(result.scores)
