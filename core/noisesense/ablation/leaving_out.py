"""Which documents are left out, one at a time, within a number of answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from random import Random
from typing import NamedTuple

from noisesense.ablation.cases import LEAVE_OUT, Case
from noisesense.stats.paired import MIN_PAIRS
from noisesense.stats.shrinkage import Hits, prior_of, shrunken

_SHAMS = 2
"""With one, chance in its answer hid documents that mislead half of the time (``causes.py``)."""


class _Place(NamedTuple):
    """A sample whose answer has a wrong claim that no chunk entails, and where a document is."""

    case: Case
    position: int


def leaving_out(
    cases: Iterable[Case], asked: AbstractSet[str], budget: int
) -> Iterator[tuple[Case, str]]:
    """Yield a case and the name of its variant ``leave-out-I``, for each document to leave out.

    A document is left out of each answer with a wrong claim that no chunk entails; and, as shams,
    two of the others, of answers of which none is left out yet.

    Args:
        cases: all of them.
        asked: the ids of those that are answered again already.
        budget: how many answers there may be, those to ``again`` counted; stops at the first place
            that goes beyond.
    """
    done = defaultdict[str, set[int]](set)
    for place in _suspicious([*cases]):
        case = place.case
        before = done[case.id]
        new = {place.position} - before
        if not before:
            # Other documents of the sample, by chance.
            others = sorted({*case.documents.values()} - new)
            Random(case.seed).shuffle(others)
            new.update(others[:_SHAMS])
            budget -= case.id not in asked
        budget -= len(new)
        if budget < 0:
            return
        before |= new
        for position in sorted(new):
            yield case, f"{LEAVE_OUT}{position}"


def _suspicious(cases: Sequence[Case]) -> Iterator[_Place]:
    """Yield the places of each suspect, those first whose answers are surely wrong most often.

    Not of a document that entails a wrong claim; nor of one whose answers are wrong no more often
    than others, as each test makes those of the rest less sure; nor of one in fewer than six
    clusters of such answers: they could not be told from chance.
    """
    sources = set[str]()
    places = defaultdict[str, list[_Place]](list)
    retrieved = Counter[str]()
    for case in cases:
        sources |= case.misleading
        retrieved.update(case.documents.keys())
        if case.unexplained and len(case.documents) > 1:
            for document, position in case.documents.items():
                places[document].append(_Place(case, position))
    hits = {name: Hits(len(found), retrieved[name]) for name, found in places.items()}
    counts = Counter(hits.values())
    rates = shrunken(counts)
    usual = prior_of(counts).mean
    for document in sorted(places, key=lambda name: (-rates[hits[name]].low, name)):
        units = {place.case.unit for place in places[document]}
        is_suspect = document not in sources and rates[hits[document]].mean > usual
        if is_suspect and len(units) >= MIN_PAIRS:
            yield from places[document]
