"""Documents ranked by the incorrect claims they cause, by hand."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest

from noisesense import Chunk, Result, Verdicts, offenders, score
from noisesense.stats.offenders import Offence

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


def test_ranked_by_the_incorrect_claims_they_entail() -> None:
    found = offenders(
        [
            result("q1", ("x", False, [1]), ("y", False, [1, 2]), ("z", True, [0, 1, 2])),
            result("q2", ("x", False, [1]), ("nowhere", False, []), ("open", None, [0])),
            Result("q3", error="no"),
            result("q4", ("fine", True, [0])),
        ]
    )
    bad, noise, good = found.documents
    assert (bad.document, bad.text) == ("bad", "wrong")
    assert (bad.claims, bad.alone) == (3, 2)
    assert (bad.samples, bad.retrieved) == (2, 3)
    assert bad.offences == [
        Offence("q1", "x", 0, True, True),
        Offence("q1", "y", 1, True, False),
        Offence("q2", "x", 0, True, True),
    ]
    data = json.loads(json.dumps(bad.to_dict()))
    assert (data["claims"], data["offences"][2]["claim"]) == (3, "x")
    assert data["rate"]["value"] == bad.rate.value
    assert (noise.document, noise.claims, noise.alone) == ("noise", 1, 0)
    # Nobody said whether the claim that it entails is correct.
    assert (good.document, good.claims, good.undetermined) == ("good", 0, 1)
    assert (good.samples, good.open_samples, good.offences, good.retrieved) == (0, 1, [], 3)
    assert good.rate.low < good.rate.high < good.interval.high
    # The reference supports two claims and relevant chunks three that it does not.
    assert (found.true_looking, found.unmentioned, found.terse) == (5, 3, True)


def test_a_judge_that_fails_on_every_chunk_does_not_leave_an_empty_list() -> None:
    lost = Result("q", score(Verdicts.from_matrices([False], [[None]], [[None]])))
    assert [each.undetermined for each in offenders([lost]).documents] == [1]


def test_verdicts_without_texts_cannot_tell_documents_apart() -> None:
    bare = Result("q", score(Verdicts.from_matrices([False], [[True, True]], [[True, False]])))
    (found,) = offenders([bare]).documents
    assert (found.document, found.claims) == ("", 1)
    # Nor are there any where the list of chunks is left out.
    left_out = {"response_claims": [{"text": "x", "correct": False, "entailed_by": [0, 2]}]}
    (found,) = offenders([Result("q", score(Verdicts.model_validate(left_out)))]).documents
    assert (found.document, found.text, found.claims, found.alone) == ("", "", 1, 1)


def many(document: str, misled: int, retrieved: int) -> list[Result]:
    chunks = [{"text": document, "id": document, "relevant": True}]
    return [
        result(f"{document}{i}", ("x", i >= misled, [0]), chunks=chunks) for i in range(retrieved)
    ]


def test_the_surest_culprit_stands_first() -> None:
    """By the number of claims the rare one stood first, by the rate those that came once."""
    runs = [("culprit", 7, 14), *((f"once{i}", 1, 1) for i in range(2)), ("rare", 12, 900)]
    runs += [(f"good{i}", 0, 10) for i in range(30)]
    found = offenders([each for run in runs for each in many(*run)])
    assert [each.document for each in found.documents] == [
        "culprit",
        *(f"once{i}" for i in range(2)),
        "rare",
    ]
    culprit, once, *_, rare = found.documents
    assert found.first is culprit
    # Drawn towards the others: by much where there is one case, hardly where there are 900.
    assert 0.4 < culprit.rate.low < 7 / 14
    assert once.rate.low < 0.6
    assert rare.rate.value == pytest.approx(12 / 900, abs=0.001)
    assert (once.interval.method, once.interval.units) == ("posterior", 1)


def test_one_that_may_be_chance_is_not_to_be_looked_at_first() -> None:
    runs = [(f"page{i}", int(i < 6), 4) for i in range(30)]
    found = offenders([each for run in runs for each in many(*run)])
    assert (len(found.documents), found.first) == (6, None)
    assert found.documents[0].rate.low < 1 / 4


def test_complete_references_are_not_called_terse() -> None:
    """Three of four claims are in the reference."""
    found = offenders(many("a", 10, 40))
    assert (found.true_looking, found.unmentioned, found.terse) == (40, 10, False)
    # What irrelevant chunks say does not look true.
    noise = result("q", ("x", False, [2]), ("y", True, [0]))
    assert offenders([noise]).unmentioned == 0


def test_nobody() -> None:
    for results in ([], [result("q", ("x", True, [0]))]):
        found = offenders(results)
        assert (found.documents, found.first, found.terse) == ((), None, False)


def _truth_of_any(cells: list[bool | None]) -> bool | None:
    return True if True in cells else None if None in cells else False


def _random_run(rng: random.Random) -> list[Result]:
    """A few samples whose documents come back, some without an id, some twice in one sample."""
    found: list[Result] = []
    ids = ["A", "B", "C", None, None]
    for i in range(rng.randint(1, 9)):
        width = rng.randint(1, 4)
        height = rng.randint(0, 3)
        depth = rng.randint(0, 2)

        def table(rows: int, width: int = width) -> list[list[bool | None]]:
            return [rng.choices([True, False, None], [4, 4, 1], k=width) for _ in range(rows)]

        verdicts = Verdicts.from_matrices(
            rng.choices([True, False, None], [3, 6, 1], k=height),
            table(height),
            table(depth),
            rng.choices([True, False, None], k=width),
        )
        chunks = tuple(
            Chunk(text=f"text {rng.randint(0, 2)}", id=rng.choice(ids), relevant=chunk.relevant)
            for chunk in verdicts.chunks or ()
        )
        found.append(Result(f"q{i}", score(verdicts.model_copy(update={"chunks": chunks}))))
    found.append(Result("failed", error="no"))
    return found


def _by_definition(results: list[Result]) -> dict[str, dict[str, Any]]:
    """What is said of each document, from the tables alone."""
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        if result.score is None:
            continue
        verdicts = result.score.verdicts
        relevance = result.score.chunk_relevance
        chunks = verdicts.chunks or ()
        cells = verdicts.to_matrices()["chunks_to_response"]
        names = [each.id or each.text for each in chunks]
        for name in set(names):
            own = [j for j, each in enumerate(names) if each == name]
            about = found.setdefault(
                name,
                {"text": chunks[own[0]].text, "claims": 0, "undetermined": 0, "alone": 0,
                 "samples": 0, "open_samples": 0, "retrieved": 0, "offences": []},
            )  # fmt: skip
            about["retrieved"] += 1
            misled = perhaps = False
            for i, claim in enumerate(verdicts.response_claims):
                entails = _truth_of_any([cells[i][j] for j in own])
                if claim.correct is True or entails is False:
                    continue
                if claim.correct is None or entails is None:
                    about["undetermined"] += 1
                    perhaps = True
                    continue
                rest = [cells[i][j] for j in range(len(names)) if j not in own]
                alone = {True: False, False: True, None: None}[_truth_of_any(rest)]
                place = next(j for j in own if cells[i][j])
                about["claims"] += 1
                about["alone"] += alone is True
                about["offences"].append(
                    Offence(result.id, claim.text, i, relevance[place], alone)
                )
                misled = True
            about["samples"] += misled
            about["open_samples"] += perhaps and not misled
    return found


def test_random_runs_by_the_definition() -> None:
    for seed in range(150):
        results = _random_run(random.Random(seed))
        expected = _by_definition(results)
        found = offenders(results).documents
        guilty = {n for n, e in expected.items() if e["claims"] or e["undetermined"]}
        assert {each.document for each in found} == guilty
        for each in found:
            about = expected[each.document]
            assert {name: getattr(each, name) for name in about} == about
            assert each.interval.low <= each.rate.low <= each.rate.high <= each.interval.high
        order = [(e.claims > 0, round(e.interval.low, 12), e.claims, e.alone) for e in found]
        assert order == sorted(order, reverse=True)
        for (first, one), (second, other) in pairwise(zip(order, found, strict=True)):
            tie = (-one.undetermined, one.document) < (-other.undetermined, other.document)
            assert first > second or tie
