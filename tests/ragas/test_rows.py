"""Rows: labels and verdicts in ``rubrics``, and the table of bad inputs through ragas."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from noisesense import InputError, RecordedJudge, Sample, Verdicts, score
from noisesense_adapters.ragas import NoiseSensitivity, VerdictsInRows, rubrics
from support.bad_inputs import BAD_INPUTS, GOOD_SAMPLE, GOOD_VERDICTS, BadInput, recording_of
from support.ragas_peer import ragas_row
from support.ragas_runs import COLUMNS, CountingJudge, column, evaluated
from support.tables import Shape, random_pairs


def test_verdicts_and_labels_travel_in_the_rows() -> None:
    pairs = list(random_pairs(30, shape=Shape(undetermined=0.1, labelled=0.5)))
    rows = [
        {
            **ragas_row(sample),
            "rubrics": {
                "score1_description": "somebody else's",
                **rubrics(
                    verdicts=Verdicts(
                        response_claims=verdicts.response_claims,
                        reference_claims=verdicts.reference_claims,
                    ),
                    labels=[chunk.relevant for chunk in sample.retrieved_contexts],
                ),
            },
        }
        for sample, verdicts in pairs
    ]
    metrics = [NoiseSensitivity(mode, judge=VerdictsInRows()) for mode in COLUMNS]  # type: ignore[arg-type]
    result = evaluated(rows, metrics)
    for row, (_, verdicts) in zip(result.scores, pairs, strict=True):
        for name in COLUMNS.values():
            assert row[name].score.claims == score(verdicts).claims
            assert row[name].score.partition == score(verdicts).partition


def test_labels_beside_a_judges_verdicts() -> None:
    sample = Sample.model_validate(GOOD_SAMPLE)
    verdicts = Verdicts.model_validate(GOOD_VERDICTS)
    judge = CountingJudge([(sample, verdicts)])
    metrics = [NoiseSensitivity("relevant", judge=judge), NoiseSensitivity(judge=judge, name="n")]
    # "Ten million people live there" entails the wrong claim, and nothing of the reference.
    plain, labelled = (
        ragas_row(sample),
        {**ragas_row(sample), "rubrics": rubrics(labels=[None, True])},
    )
    result = evaluated([plain, labelled], metrics, raise_exceptions=True)
    assert column(result, "relevant") == [0.0, 0.5]
    # Labels make it another sample, each judged once.
    assert len(judge.asked) == 2
    assert result["n(mode=relevant)"] == [0.0, 0.5]


def test_a_row_without_verdicts_and_nobody_to_ask() -> None:
    row = ragas_row(Sample.model_validate(GOOD_SAMPLE))
    with pytest.raises(InputError, match=r"What is the capital of France.*rubrics.verdicts"):
        evaluated([row], [NoiseSensitivity(judge=VerdictsInRows())], raise_exceptions=True)


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("noisesense_labels", "[true]", ("chunk_labels", "each of 2 chunks", "[true]")),
        ("noisesense_labels", "true", ("chunk_labels",)),
        ("noisesense_labels", "[tru", ("JSON",)),
        ("noisesense_labels", '[true, "no"]', ("chunk 1", "'no'")),
        ("noisesense_labels", "[true, 0]", ("chunk 1", "0")),
        ("noisesense_verdicts", "{", ("valid JSON",)),
        ("noisesense_verdicts", "[]", ("an object",)),
        ("noisesense_verdicts", '{"response_claims": 1}', ("response_claims", "a list")),
    ],
)
def test_bad_rubrics(name: str, text: str, names: tuple[str, ...]) -> None:
    row = {**GOOD_SAMPLE, "rubrics": {name: text}}
    with pytest.raises(InputError) as caught:
        evaluated([row], [NoiseSensitivity(judge=VerdictsInRows())], raise_exceptions=True)
    place = "row 0 ('What is the capital of France?'), "
    assert all(each in str(caught.value) for each in (place, *names))


def _by_ascore(bad: BadInput, folder: Path) -> Any:
    """``ascore`` takes anything, unlike ragas' own rows."""
    if bad.kind == "score":
        return NoiseSensitivity(**bad.data)
    sample = bad.data if bad.kind == "sample" else bad.ask
    metric = NoiseSensitivity(judge=RecordedJudge(recording_of(bad, folder)))
    return metric.score(**sample)


@pytest.mark.parametrize(
    "bad", [bad for bad in BAD_INPUTS if bad.kind != "matrices"], ids=lambda bad: bad.name
)
def test_bad_inputs_by_ascore(bad: BadInput, tmp_path: Path) -> None:
    # An argument that is unknown is named by Python itself; one that is missing is None.
    by_python = bad.kind == "sample" and bool(set(bad.data) - set(GOOD_SAMPLE))
    with pytest.raises(TypeError if by_python else bad.error) as caught:
        _by_ascore(bad, tmp_path)
    # A recording calls its "Verdicts" by the name of the field.
    missing = bad.kind == "sample" and len(bad.data) < len(GOOD_SAMPLE)  # it is then None
    message = str(caught.value).lower()
    first = missing or "context" in bad.name  # those are read as in every host
    names = bad.names[:1] if by_python or first else bad.names
    names = [name.strip("'") for name in names]
    assert [name for name in names if name.lower() not in message] == []


@pytest.mark.parametrize(
    "bad", [bad for bad in BAD_INPUTS if bad.kind == "verdicts"], ids=lambda bad: bad.name
)
def test_bad_verdicts_in_a_row_of_evaluate(bad: BadInput) -> None:
    row = {**GOOD_SAMPLE, "rubrics": {"noisesense_verdicts": json.dumps(bad.data)}}
    result = evaluated([GOOD_SAMPLE, row], [NoiseSensitivity(judge=_Good())])
    assert [math.isnan(value) for value in column(result, "relevant")] == [False, True]
    with pytest.raises(bad.error) as caught:
        evaluated([row], [NoiseSensitivity(judge=_Good())], raise_exceptions=True)
    assert [name for name in bad.names if name not in str(caught.value)] == []


class _Good:
    async def judge(self, sample: Sample) -> Verdicts:
        return Verdicts.model_validate(GOOD_VERDICTS)
