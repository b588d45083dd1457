"""Ids to verdicts: every way in which a reply can differ from what was asked."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisesense.judging.plan import align

T, F = True, False

CASES: dict[str, tuple[list[int], list[tuple[int, bool]], dict[int, bool]]] = {
    "as asked": ([1, 2], [(1, T), (2, F)], {1: T, 2: F}),
    "in another order": ([1, 2], [(2, F), (1, T)], {1: T, 2: F}),
    "one left out": ([1, 2, 3], [(1, T), (3, F)], {1: T, 3: F}),
    "nothing": ([1, 2], [], {}),
    "twice the same": ([1, 2], [(1, T), (1, T), (2, F)], {1: T, 2: F}),
    "contradiction": ([1, 2], [(1, T), (2, F), (1, F)], {2: F}),
    "unknown id": ([1], [(1, F), (7, T), (0, T)], {1: F}),
    "only unknown": ([1], [(-1, T)], {}),
    "nothing asked": ([], [(1, T)], {}),
    "shifted by one": ([1, 2, 3], [(0, T), (1, F), (2, T)], {}),
    "numbered without the gaps": ([2, 5], [(1, T), (2, F)], {}),
}


@pytest.mark.parametrize(("ids", "verdicts", "expected"), CASES.values(), ids=CASES.keys())
def test_table(
    ids: list[int], verdicts: list[tuple[int, bool]], expected: dict[int, bool]
) -> None:
    assert align(ids, verdicts) == expected


numbers = st.integers(-2, 6)


@given(
    st.sets(numbers),
    st.lists(st.tuples(numbers, st.booleans())),
    st.randoms(use_true_random=False),
)
def test_every_answer_is_to_an_asked_id_and_order_does_not_matter(
    ids: set[int], verdicts: list[tuple[int, bool]], random: Random
) -> None:
    answers = align(sorted(ids), verdicts)
    assert answers.keys() <= ids
    # An answer is what every item on that id says. Ids never asked spoil a partial reply.
    by_id = {n: {verdict for each, verdict in verdicts if each == n} for n in ids}
    agreed = {n: min(both) for n, both in by_id.items() if len(both) == 1}
    partial = len(agreed) < len(ids)
    assert answers == ({} if partial and {n for n, _ in verdicts} - ids else agreed)
    random.shuffle(verdicts)
    assert align(sorted(ids), verdicts) == answers
