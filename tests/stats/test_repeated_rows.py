"""Rows that came twice, and responses that are their own references."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from noisesense import Result, Sample, Verdicts, gate_run, score, summarize


def row(name: str, *, noisy: bool, named: str | None = None, reference: str = "truth") -> Result:
    sample = Sample(
        user_input=name, response=f"answer {name}", reference=reference, retrieved_contexts=("c",)
    )
    verdicts = Verdicts.from_matrices([not noisy], [[True]], [[True]])
    return Result(named or sample.key, score(verdicts), sample=sample)


ROWS = [
    row("a", noisy=True),
    row("b", noisy=False),
    row("a", noisy=True),
    row("c", noisy=False),
    row("A ", noisy=False),
]
"""Three times the same question, once judged otherwise."""


@pytest.mark.parametrize("with_ids", [True, False])
def test_answers_to_one_question_are_one_cluster(with_ids: bool) -> None:
    rows = [replace(each, id=str(i)) for i, each in enumerate(ROWS)] if with_ids else ROWS
    found = summarize(rows)
    # As if a, b and c had been named as clusters: three units, of three samples, one and one.
    named = summarize(
        replace(each, cluster=each.sample.user_input.strip().lower()) for each in rows
    )
    assert found.clusters == named.clusters == 3
    assert found.relevant == named.relevant
    assert found.relevant.mean == (0.4, 0.4)
    assert found.warnings[0].startswith("5 answers to 3 questions: the answers to one question")
    assert named.grouped == "5 samples in 3 clusters"


def test_a_cluster_that_is_given_wins() -> None:
    alone = summarize(replace(each, cluster=str(i)) for i, each in enumerate(ROWS))
    assert alone.clusters is None
    assert alone.relevant.interval.low > summarize(ROWS).relevant.interval.low


def test_the_same_question_with_another_reference_is_another_one() -> None:
    assert summarize([row("a", noisy=True), row("a", noisy=True, reference="x")]).clusters is None


ECHOES = [row(str(i), noisy=False, named=f"{i}", reference=f" answer {i}") for i in range(9)]
OTHER = row("9", noisy=False, named="9")


def test_a_response_that_is_its_reference_is_named() -> None:
    nine_of_ten = summarize([*ECHOES, OTHER])
    said = "the response is the reference, word for word, in 9 of 10 samples"
    assert any(said in each[0].lower() + each[1:] for each in nine_of_ten.warnings)
    found = gate_run(nine_of_ten, 0.3)
    assert found.outcome == "warn"
    assert found.passed is True
    assert said in found.reason
