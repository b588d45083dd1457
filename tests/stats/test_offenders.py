"""Documents ranked by the incorrect claims they cause, by hand."""

from __future__ import annotations

import json

import pytest

from noisesense import Result, Verdicts, offenders, score
from noisesense.stats.offenders import Offence, Offenders

CHUNKS = [
    {"text": "right", "id": "good", "relevant": True},
    {"text": "wrong", "id": "bad", "relevant": True},
    {"text": "other", "id": "noise", "relevant": False},
]


def result(name: str, *rows: tuple[str, bool | None, list[int]], chunks: object = None) -> Result:
    verdicts = {
        "response_claims": [
            {"text": text, "correct": correct, "entailed_by": found}
            for text, correct, found in rows
        ],
        "chunks": CHUNKS if chunks is None else chunks,
    }
    return Result(name, score(Verdicts.model_validate(verdicts)))


def of_four_samples() -> Offenders:
    return offenders(
        [
            result("q1", ("x", False, [1]), ("y", False, [1, 2]), ("z", True, [0, 1, 2])),
            result("q2", ("x", False, [1]), ("nowhere", False, []), ("open", None, [0])),
            Result("q3", error="no"),
            result("q4", ("fine", True, [0])),
        ]
    )


def test_a_document_that_misleads_has_each_wrong_claim_and_sample_counted() -> None:
    bad, *others = of_four_samples().documents
    assert [each.document for each in others] == ["noise", "good"]
    assert bad.text == "wrong"
    assert bad.claims == 3
    assert bad.samples == 2
    assert bad.retrieved == 3
    assert bad.offences == (
        Offence("q1", "x", 0, True),
        Offence("q1", "y", 1, True),
        Offence("q2", "x", 0, True),
    )
    data = json.loads(json.dumps(bad.to_dict()))
    assert data["claims"] == 3
    assert data["offences"][2]["claim"] == "x"
    assert data["rate"]["value"] == bad.rate.value


def test_documents_that_are_perhaps_not_wrong() -> None:
    _, noise, good = of_four_samples().documents
    assert noise.claims == 1
    # Nobody said whether the claim that it entails is correct.
    assert good.claims == 0
    assert good.undetermined == 1
    assert good.samples == 0
    assert good.offences == ()
    assert good.retrieved == 3
    assert good.rate.low < good.rate.high < good.interval.high


def test_a_judge_that_fails_on_every_chunk_does_not_leave_an_empty_list() -> None:
    lost = Result("q", score(Verdicts.from_matrices([False], [[None]], [[None]])))
    assert [each.undetermined for each in offenders([lost]).documents] == [1]


def many(document: str, misled: int, retrieved: int) -> list[Result]:
    chunks = [{"text": document, "id": document, "relevant": True}]
    return [
        result(f"{document}{i}", ("x", i >= misled, [0]), chunks=chunks) for i in range(retrieved)
    ]


def test_the_document_of_the_highest_low_end_stands_first() -> None:
    """By the number of claims the rare one stood first, by the rate the one that came twice."""
    results = [*many("culprit", 7, 14), *many("twice", 2, 2), *many("rare", 12, 900)]
    for i in range(30):
        results += many(f"good{i}", 0, 10)
    found = offenders(results)
    assert [each.document for each in found.documents] == ["culprit", "twice", "rare"]
    culprit, twice, rare = found.documents
    # Drawn towards the others: by much where there are two cases, hardly where there are 900.
    assert 0.4 < culprit.rate.low < 7 / 14
    assert culprit.rate.low < twice.rate.low < 0.7
    assert rare.rate.value == pytest.approx(12 / 900, abs=0.001)
    assert twice.interval.units == 2


def test_without_a_wrong_claim_no_document_is_listed() -> None:
    for results in ([], [result("q", ("x", True, [0]))]):
        found = offenders(results)
        assert found.documents == ()


def test_a_document_that_comes_twice_in_a_sample_counts_once() -> None:
    """By its id, else by its text; what one of its chunks entails, it does."""
    twice = [{"text": "one", "id": "A", "relevant": True}, {"text": "two", "id": "A"}]
    found = offenders([result("q", ("x", False, [0]), ("y", False, [0, 1]), chunks=twice)])
    (document,) = found.documents
    assert document.text == "one"
    assert document.claims == 2
    assert document.samples == 1
    assert document.retrieved == 1
    unnamed = [{"text": "same"}, {"text": "same"}]
    (document,) = offenders([result("q", ("x", False, [1]), chunks=unnamed)]).documents
    assert document.document == "same"
    assert document.claims == 1
    assert document.retrieved == 1
