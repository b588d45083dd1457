"""Ids to verdicts: every way in which a reply can differ from what was asked."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense.judging.plan import Alignment, align

T, F = True, False

CASES: dict[str, tuple[list[int], list[tuple[int, bool]], Alignment[int]]] = {
    "as asked": ([1, 2], [(1, T), (2, F)], Alignment({1: T, 2: F}, ())),
    "in another order": ([1, 2], [(2, F), (1, T)], Alignment({1: T, 2: F}, ())),
    "one left out": ([1, 2, 3], [(1, T), (3, F)], Alignment({1: T, 3: F}, (2,))),
    "nothing": ([1, 2], [], Alignment({}, (1, 2))),
    "twice the same": ([1, 2], [(1, T), (1, T), (2, F)], Alignment({1: T, 2: F}, (), (), (1,))),
    "contradiction": ([1, 2], [(1, T), (2, F), (1, F)], Alignment({2: F}, (1,), (1,))),
    "unknown id": ([1], [(1, F), (7, T), (0, T)], Alignment({1: F}, (), (), (), (7, 0))),
    "only unknown": ([1], [(-1, T)], Alignment({}, (1,), (), (), (-1,))),
    "nothing asked": ([], [(1, T)], Alignment({}, (), (), (), (1,))),
    "shifted by one": (
        [1, 2, 3],
        [(0, T), (1, F), (2, T)],
        Alignment({}, (1, 2, 3), (), (), (0,)),
    ),
    "numbered without the gaps": (
        [2, 5],
        [(1, T), (2, F)],
        Alignment({}, (2, 5), (), (), (1,)),
    ),
}


@pytest.mark.parametrize(("asked", "given_", "expected"), CASES.values(), ids=CASES.keys())
def test_table(asked: list[int], given_: list[tuple[int, bool]], expected: Alignment[int]) -> None:
    assert align(asked, given_) == expected


ids = st.integers(-2, 6)


@given(st.sets(ids), st.lists(st.tuples(ids, st.booleans())), st.randoms(use_true_random=False))
def test_every_asked_id_is_answered_or_missing_and_order_does_not_matter(
    asked: set[int], said: list[tuple[int, bool]], random: Random
) -> None:
    found = align(sorted(asked), said)
    assert found.answers.keys() | set(found.missing) == asked
    assert not found.answers.keys() & set(found.missing)
    # An answer is what every item on that id says. Ids never asked spoil a partial reply.
    verdicts = {n: {verdict for each, verdict in said if each == n} for n in asked}
    agreed = {n: min(both) for n, both in verdicts.items() if len(both) == 1}
    partial = len(agreed) < len(asked)
    assert found.answers == ({} if partial and {n for n, _ in said} - asked else agreed)
    random.shuffle(said)
    again = align(sorted(asked), said)
    assert (again.answers, again.missing) == (found.answers, found.missing)
