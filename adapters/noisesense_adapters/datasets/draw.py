"""A random choice of samples, in random order, with how many samples each stands for."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple


class Drawn(NamedTuple):
    """A sample, and how many samples of the results it stands for."""

    name: str
    weight: float


def draw(names: Sequence[str], count: int, seed: int) -> list[Drawn]:
    """So many of the names; each stands for as many."""
    return [Drawn(name, len(names) / count) for name in _shuffled(names, seed)[:count]]


def draw_by_score(
    names: Sequence[str], noisy: Collection[str], count: int, seed: int
) -> list[Drawn]:
    """Half of them from the noisy ones, half from the others, as far as there are so many.

    Any first part of the order has the same mix of the two as the whole.
    """
    shuffled = _shuffled(names, seed)
    chosen = [name for name in shuffled if name in noisy]
    others = [name for name in shuffled if name not in noisy]
    half = (count + 1) // 2
    noisy_count = min(len(chosen), max(half, count - len(others)))
    placed = [*_placed(chosen, noisy_count), *_placed(others, count - noisy_count)]
    placed.sort(key=itemgetter(0))
    return [drawn for _, drawn in placed]


def _shuffled(names: Sequence[str], seed: int) -> list[str]:
    shuffled = [*names]
    random.Random(seed).shuffle(shuffled)
    return shuffled


def _placed(names: list[str], count: int) -> Iterator[tuple[float, Drawn]]:
    """The first so many samples of a group, evenly spaced from 0 to 1."""
    for position, name in enumerate(names[:count]):
        yield (position + 0.5) / count, Drawn(name, len(names) / count)
