"""Our metric in ragas' ``evaluate()`` and ``aevaluate()``, with a judge: no key, no network."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import pickle
import socket
import warnings
from typing import Any

import pytest

from noisesense import (
    InputError,
    JudgeError,
    RecordedJudge,
    Sample,
    SampleNotRecordedError,
    Verdicts,
    score,
    write_recording,
)
from noisesense.scoring.definitions import MODES
from noisesense_adapters.ragas import NoiseSensitivity, ScoredFloat
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, CountingJudge, column, dataset, evaluated, same
from support.tables import Shape, random_pair, random_pairs

RELEVANT, IRRELEVANT = COLUMNS["relevant"], COLUMNS["irrelevant"]


@pytest.fixture(autouse=True)
def _no_key_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def both(judge: Any, **options: Any) -> list[NoiseSensitivity]:
    return [NoiseSensitivity(mode, judge=judge, **options) for mode in COLUMNS]  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [1, 16])
def test_two_modes_judge_each_sample_once(workers: int) -> None:
    from ragas.run_config import RunConfig

    pairs = list(random_pairs(40))
    judge = CountingJudge(pairs, seconds=0.002)
    result = evaluated(
        [sample for sample, _ in pairs], both(judge), run_config=RunConfig(max_workers=workers)
    )
    assert sorted(judge.asked) == sorted(sample.key for sample, _ in pairs)
    for row, (_, verdicts) in zip(result.scores, pairs, strict=True):
        assert list(row) == [RELEVANT, IRRELEVANT]
        assert same(row[RELEVANT], score(verdicts).relevant)
        assert same(row[IRRELEVANT], score(verdicts).irrelevant)


def test_columns_are_named_as_ragas_names_its_own() -> None:
    from ragas.metrics._noise_sensitivity import NoiseSensitivity as Own
    from ragas.metrics.base import ModeMetric

    pairs = list(random_pairs(2))
    result = evaluated([sample for sample, _ in pairs], both(CountingJudge(pairs)))
    frame = result.to_pandas()
    own = Own(mode="relevant")
    assert list(frame.columns[-2:]) == [f"{own.name}(mode={mode})" for mode in COLUMNS]
    assert str(frame[RELEVANT].dtype) == "float64"
    assert isinstance(NoiseSensitivity(judge=CountingJudge([])), ModeMetric)
    other = evaluated([pairs[0][0]], [NoiseSensitivity(judge=CountingJudge(pairs), name="mine")])
    assert list(other.scores[0]) == ["mine(mode=relevant)"]


def test_from_a_recording(tmp_path: Any) -> None:
    pairs = list(random_pairs(5, shape=Shape(response_claims=(1, 5))))
    write_recording(tmp_path / "verdicts.jsonl", pairs)
    judge = RecordedJudge(tmp_path / "verdicts.jsonl")
    result = evaluated([sample for sample, _ in pairs], both(judge), raise_exceptions=True)
    assert column(result, "relevant") == [score(verdicts).relevant for _, verdicts in pairs]
    stranger, _ = random_pair(77)
    with pytest.raises(SampleNotRecordedError, match="case \\(77\\)"):
        evaluated([stranger], both(judge), raise_exceptions=True)


def test_a_score_is_a_float_to_python() -> None:
    sample, verdicts = random_pair(3)
    (value,) = column(evaluated([sample], both(CountingJudge([(sample, verdicts)]))), "relevant")
    assert isinstance(value, ScoredFloat)
    assert value == score(verdicts).relevant
    assert json.loads(json.dumps([value])) == [float(value)]
    copied = pickle.loads(pickle.dumps(value))
    assert (copied, copied.score, copied.mode) == (value, value.score, "relevant")


def test_nan_only_where_there_is_no_number_and_then_with_the_reason() -> None:
    empty = Verdicts.from_matrices([], [], [[True]])
    unknown = Verdicts.from_matrices([None], [[True]], [[True]])
    hallucinated = Verdicts.from_matrices([False], [[False]], [[True]])
    samples = [
        Sample(response=text, reference="r", retrieved_contexts=("c",))  # type: ignore[arg-type]
        for text in ("empty", "unknown", "hallucinated")
    ]
    pairs = list(zip(samples, (empty, unknown, hallucinated), strict=True))
    rows = [ragas_row(sample) for sample in samples]
    result = evaluated(rows, both(CountingJudge(pairs)))
    assert [math.isnan(value) for value in column(result, "relevant")] == [True, True, False]
    # Whatever the reference entails, the one chunk is relevant: irrelevant noise is excluded.
    assert [math.isnan(value) for value in column(result, "irrelevant")] == [True, False, False]
    assert result.scores[2] == {RELEVANT: 0.0, IRRELEVANT: 0.0}
    first: Any = result.scores[0][RELEVANT]
    assert first.score.relevant is None
    assert first.status == "undefined"
    assert first.reason.endswith("is undefined: the response has no claims.")
    second: Any = result.scores[1][RELEVANT]
    assert second.status == second.report["status"]["relevant"] == "undetermined"
    assert second.score.bounds("relevant") == (0.0, 1.0)
    assert "is undetermined: it lies between 0 and 1" in second.reason
    zero = evaluated(rows[:1], both(CountingJudge(pairs), empty="zero"))
    assert zero.scores[0] == {RELEVANT: 0.0, IRRELEVANT: 0.0}
    error = evaluated(rows[:1], both(CountingJudge(pairs), empty="error"))
    assert all(type(value) is float and math.isnan(value) for value in error.scores[0].values())


def test_the_only_mode_a_definition_lacks_is_nan() -> None:
    sample, verdicts = random_pair(3)
    result = evaluated([sample], both(CountingJudge([(sample, verdicts)]), definition="validmind"))
    (relevant,), (irrelevant,) = (column(result, mode, "validmind") for mode in MODES)
    assert relevant == score(verdicts, definition="validmind").relevant
    assert math.isnan(irrelevant)


class _FailsOn:
    def __init__(self, inner: CountingJudge, key: str) -> None:
        self._inner, self._key = inner, key

    async def judge(self, sample: Sample) -> Verdicts:
        if sample.key == self._key:
            raise JudgeError("the model could not be asked: HTTP 503")
        return await self._inner.judge(sample)


def test_a_failing_row_is_nan_with_a_log_line_and_harms_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pairs = list(random_pairs(6, shape=Shape(response_claims=(1, 4))))
    samples = [sample for sample, _ in pairs]
    judge = _FailsOn(CountingJudge(pairs), samples[2].key)
    with caplog.at_level(logging.ERROR):
        result = evaluated(samples, both(judge))
    assert [math.isnan(value) for value in column(result, "relevant")] == [
        i == 2 for i in range(6)
    ]
    place = f"row 2 ({samples[2].user_input!r})"
    assert caplog.text.count(f"JudgeError({place}: the model could not be asked: HTTP 503)") == 2
    with pytest.raises(JudgeError, match="HTTP 503"):
        evaluated(samples, both(judge), raise_exceptions=True)


def test_aevaluate_in_a_running_loop() -> None:
    from ragas import aevaluate

    pairs = list(random_pairs(20))
    judge = CountingJudge(pairs, seconds=0.001)

    async def main() -> Any:
        samples = dataset([sample for sample, _ in pairs])
        return await aevaluate(samples, metrics=both(judge), show_progress=False)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"aevaluate\(\) is deprecated", DeprecationWarning)
        result = asyncio.run(main())
        again = asyncio.run(main())
    assert len(judge.asked) == 2 * 20  # each run asks for itself, and both modes of it share
    for found in (result, again):
        assert all(
            same(value, score(verdicts).irrelevant)
            for value, (_, verdicts) in zip(column(found, "irrelevant"), pairs, strict=True)
        )


@pytest.mark.parametrize(
    ("field", "value", "names"),
    [
        ("response", None, ("response", "a string", "None")),
        ("response", " ", ("response", "non-empty")),
        ("reference", None, ("reference", "a string", "None")),
        ("reference", "", ("reference", "non-empty")),
        ("retrieved_contexts", None, ("retrieved_contexts", "a list", "None")),
        ("user_input", None, ("user_input", "a string", "None")),
    ],
)
def test_each_row_is_checked_not_only_the_first(
    field: str, value: Any, names: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    pairs = list(random_pairs(3, shape=Shape(response_claims=(1, 4))))
    rows = [ragas_row(sample) for sample, _ in pairs]
    rows[1][field] = value
    judge = CountingJudge(pairs)
    with caplog.at_level(logging.ERROR):
        result = evaluated(rows, [NoiseSensitivity(judge=judge)])
    assert [math.isnan(value) for value in column(result, "relevant")] == [False, True, False]
    (line,) = [record.getMessage() for record in caplog.records]
    shown = rows[1]["user_input"] or rows[1]["response"]
    assert all(name in line for name in (*names, "InputError", shown[:40]))
    with pytest.raises(InputError):
        evaluated(rows, [NoiseSensitivity(judge=judge)], raise_exceptions=True)


@pytest.mark.parametrize("field", ["response", "reference", "retrieved_contexts", "user_input"])
def test_a_column_that_is_not_there_is_said_by_ragas(field: str) -> None:
    sample, _ = random_pair(1)
    row = {name: value for name, value in ragas_row(sample).items() if name != field}
    with pytest.raises(ValueError, match=f"additional columns \\['{field}'\\]"):
        evaluated([row], both(CountingJudge([])))


def test_definitions_side_by_side_have_a_column_each() -> None:
    # One incorrect claim that both kinds of chunk entail: only the paper counts it twice.
    verdicts = Verdicts.from_matrices([False], [[True, True]], [[True, False]])
    sample = Sample(response="r", reference="g", retrieved_contexts=["a", "b"])
    judge = CountingJudge([(sample, verdicts)])
    ours = [
        NoiseSensitivity("irrelevant", judge=judge),
        NoiseSensitivity("irrelevant", judge=judge, definition="paper"),
        NoiseSensitivity("irrelevant", judge=judge, definition="paper", name="mine"),
    ]
    assert evaluated([sample], ours).scores[0] == {
        "noise_sensitivity(mode=irrelevant)": 0.0,
        "noise_sensitivity_paper(mode=irrelevant)": 1.0,
        "mine(mode=irrelevant)": 1.0,
    }


@pytest.mark.parametrize("contexts", [[], [""], [" ", "\n"]])
def test_nothing_retrieved_is_no_number_and_asks_for_no_chunk(
    contexts: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    class Claims:
        async def judge(self, sample: Sample) -> Verdicts:
            assert sample.retrieved_contexts == ()
            return Verdicts.from_matrices([False], [[]], [[]])

    row = {"user_input": "q", "response": "r", "reference": "g", "retrieved_contexts": contexts}
    metrics = [NoiseSensitivity(mode, judge=Claims()) for mode in MODES]
    (scores,) = evaluated([row], metrics, raise_exceptions=True).scores
    results = [metric.score(**row) for metric in metrics]
    for value in [*scores.values(), *(result.value for result in results)]:
        assert math.isnan(value)
        assert (value.status, value.reason[-22:]) == ("undefined", "nothing was retrieved.")
    (line,) = [each.getMessage() for each in caplog.records if each.name == "noisesense"]
    assert line.count("1 of 1 rows undefined") == 2
    assert line.count("nothing was retrieved.") == 2
