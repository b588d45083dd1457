"""Rows that came twice, and responses that are their own references."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from noisesense import Result, Sample, Tally, Verdicts, gate_run, score, summarize
from noisesense_adapters.datasets.score import score_dataset
from support.datasets import write_jsonl


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
    row("a", noisy=False),
]
"""Three times the same texts, once judged otherwise."""


@pytest.mark.parametrize("with_ids", [True, False])
def test_answers_to_one_question_are_one_cluster(with_ids: bool) -> None:
    rows = [replace(each, id=str(i)) for i, each in enumerate(ROWS)] if with_ids else ROWS
    found = summarize(rows)
    # As if a, b and c had been named as clusters: three units, of three samples, one and one.
    named = summarize(replace(each, cluster=each.sample.user_input) for each in rows)
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


@pytest.mark.parametrize("at", range(len(ROWS) + 1))
@pytest.mark.parametrize("turned", [False, True])
def test_parts_add_up_where_rows_are_equal_across_them(at: int, turned: bool) -> None:
    parts = Tally(), Tally()
    for i, each in enumerate(ROWS):
        parts[i >= at].add(each)
    both = parts[1] + parts[0] if turned else parts[0] + parts[1]
    assert both.summary() == summarize(ROWS)


def test_a_tally_beside_itself_has_each_row_twice() -> None:
    part = Tally()
    part.add(ROWS[0])
    assert (part + part).summary() == summarize([ROWS[0], ROWS[0]])


def line(number: int) -> dict[str, object]:
    verdicts = {"response_claims": [{"text": "x", "correct": number > 0, "entailed_by": [0]}]}
    texts = {"user_input": f"q{number}", "response": "r", "reference": "s"}
    return {"sample": {**texts, "retrieved_contexts": ["c"]}, "verdicts": verdicts}


@pytest.mark.parametrize("written", [False, True], ids=["read quickly", "with the texts"])
def test_a_file_with_equal_rows(tmp_path: Path, written: bool) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [line(0), line(1), line(0), line(2)])
    found = score_dataset(path, out=tmp_path / "out.jsonl" if written else None)
    assert found.samples == 4
    assert found.clusters == 3
    assert found.grouped == "4 answers to 3 questions"


ECHOES = [row(str(i), noisy=False, named=f"{i}", reference=f" answer {i}") for i in range(9)]
OTHER = row("9", noisy=False, named="9")


def test_a_response_that_is_its_reference_is_named() -> None:
    nine_of_ten = summarize([*ECHOES, OTHER])
    said = "the response is the reference, word for word, in 9 of 10 samples"
    assert nine_of_ten.echoes == 9
    assert nine_of_ten.is_echo is True
    assert any(said in each[0].lower() + each[1:] for each in nine_of_ten.warnings)
    found = gate_run(nine_of_ten, 0.3)
    assert found.outcome == "warn"
    assert found.passed is True
    assert said in found.reason
