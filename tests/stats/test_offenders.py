"""Documents ranked by the incorrect claims they cause, by hand."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from scipy import stats

from noisesense import Chunk, Result, Verdicts, offenders, score
from noisesense.stats.offenders import Offence, Offender

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
    bad, noise, good = found
    assert (bad.document, bad.text) == ("bad", "wrong")
    assert (bad.claims, bad.alone) == (3, 2)
    assert (bad.samples, bad.retrieved) == (2, 3)
    assert bad.offences == [
        Offence("q1", "x", 0, True, True),
        Offence("q1", "y", 1, True, False),
        Offence("q2", "x", 0, True, True),
    ]
    data = json.loads(json.dumps(bad.to_dict()))
    assert (data["claims"], data["rate"], data["offences"][2]["claim"]) == (3, 2 / 3, "x")
    assert (noise.document, noise.claims, noise.alone) == ("noise", 1, 0)
    # Nobody said whether the claim that it entails is correct.
    assert (good.document, good.claims, good.undetermined) == ("good", 0, 1)
    assert (good.samples, good.offences, good.retrieved) == (0, [], 3)


def test_a_judge_that_fails_on_every_chunk_does_not_leave_an_empty_list() -> None:
    lost = Result("q", score(Verdicts.from_matrices([False], [[None]], [[None]])))
    assert [each.undetermined for each in offenders([lost])] == [1]


def test_verdicts_without_texts_cannot_tell_documents_apart() -> None:
    bare = Result("q", score(Verdicts.from_matrices([False], [[True, True]], [[True, False]])))
    (found,) = offenders([bare])
    assert (found.document, found.claims) == ("", 1)
    # Nor are there any where the list of chunks is left out.
    left_out = {"response_claims": [{"text": "x", "correct": False, "entailed_by": [0, 2]}]}
    (found,) = offenders([Result("q", score(Verdicts.model_validate(left_out)))])
    assert (found.document, found.text, found.claims, found.alone) == ("", "", 1, 1)


def many(document: str, misled: int, retrieved: int) -> list[Result]:
    chunks = [{"text": document, "id": document}]
    return [
        result(f"{document}{i}", ("x", i >= misled, [0]), chunks=chunks) for i in range(retrieved)
    ]


def test_a_planted_culprit_stands_first() -> None:
    """One document with 7 of 23 wrong claims stood fifth, behind four with 1 of 1."""
    runs = [("culprit", 7, 40), *((f"once{i}", 1, 1) for i in range(4)), ("rare", 12, 900)]
    found = offenders([each for run in runs for each in many(*run)])
    assert [each.document for each in found] == [
        "rare",
        "culprit",
        *(f"once{i}" for i in range(4)),
    ]
    rare, culprit, *_ = found
    assert (rare.claims, rare.rate, culprit.rate) == (12, 12 / 900, 7 / 40)
    for each in found:
        expected = stats.binomtest(each.samples, each.retrieved).proportion_ci(0.95, "wilson")
        assert (each.interval.low, each.interval.high) == pytest.approx(tuple(expected))
        assert (each.interval.method, each.interval.units) == ("wilson", each.retrieved)


def test_nobody() -> None:
    assert offenders([]) == ()
    assert offenders([result("q", ("x", True, [0]))]) == ()


def _truth_of_any(cells: list[bool | None]) -> bool | None:
    return True if True in cells else None if None in cells else False


def _random_run(rng: random.Random) -> list[Result]:
    """A few samples whose documents come back, some without an id, some twice in one sample."""
    found: list[Result] = []
    ids = ["A", "B", "C", None, None]
    for i in range(rng.randint(1, 9)):
        width, height, depth = rng.randint(1, 4), rng.randint(0, 3), rng.randint(0, 2)

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
        verdicts, relevance = result.score.verdicts, result.score.chunk_relevance
        chunks, cells = verdicts.chunks or (), verdicts.to_matrices()["chunks_to_response"]
        names = [each.id or each.text for each in chunks]
        for name in set(names):
            own = [j for j, each in enumerate(names) if each == name]
            about = found.setdefault(
                name,
                {"text": chunks[own[0]].text, "claims": 0, "undetermined": 0, "alone": 0,
                 "samples": 0, "retrieved": 0, "offences": []},
            )  # fmt: skip
            about["retrieved"] += 1
            misled = False
            for i, claim in enumerate(verdicts.response_claims):
                entails = _truth_of_any([cells[i][j] for j in own])
                if claim.correct is True or entails is False:
                    continue
                if claim.correct is None or entails is None:
                    about["undetermined"] += 1
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
    return found


def test_random_runs_by_the_definition() -> None:
    for seed in range(150):
        results = _random_run(random.Random(seed))
        expected = _by_definition(results)
        found = offenders(results)
        guilty = {n for n, e in expected.items() if e["claims"] or e["undetermined"]}
        assert {each.document for each in found} == guilty
        for each in found:
            about = expected[each.document]
            assert {name: getattr(each, name) for name in about} == about
            assert each.rate == each.samples / each.retrieved
        order = [(e.claims, e.alone, e.samples / e.retrieved, e.undetermined) for e in found]
        assert order == sorted(order, reverse=True)
        for (first, one), (second, other) in pairwise(zip(order, found, strict=True)):
            assert first > second or one.document < other.document


def test_an_interval_of_a_share_stays_within_0_and_1() -> None:
    for count in range(1, 300):
        none, all_of_them = (Offender("a", "", count, hits).interval for hits in (0, count))
        assert none.low == 0.0 <= none.high < 1
        assert 1 - 1e-12 < all_of_them.high <= 1 > all_of_them.low > 0
        assert none.high == pytest.approx(1 - all_of_them.low)
