"""The same sample in two runs: one rule for `compare`, `trust_results` and `prediction_powered`.

All of a run is paired by one rule: by the ids that the user supplied, else by what does not change
between versions of a system, the question and the reference. An id that was made from the
sample's content is no name for it: it is another one as soon as the answer changes, and pairing by
it would keep exactly the samples that stayed the same.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar, get_args

from noisesense.errors import InputError, PairingError, check_choice
from noisesense.scoring.outcomes import check_limit
from noisesense.scoring.results import Result
from noisesense.verdicts.sample import Sample

PairedBy = Literal["id", "question"]

MIN_PAIRED = 0.9
"""The share of the smaller run that must have a partner, unless the caller says otherwise."""

_SHOWN = 2


class Named(NamedTuple):
    """By what a sample is found again."""

    id: str
    supplied: bool
    """Did somebody give the id? Otherwise it was made from the content."""
    question: str | None
    """Digest of user input and reference; None if the texts are not known."""
    key: str | None
    """Digest of all texts; None if they are not known."""


class _HasName(Protocol):
    @property
    def name(self) -> Named: ...


_Item = TypeVar("_Item", bound=_HasName)


@dataclass(frozen=True)
class Paired(Generic[_Item]):
    """Two runs side by side."""

    by: PairedBy
    pairs: list[tuple[_Item, _Item]]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    warnings: tuple[str, ...]
    """What a reader must know of the pairing, in words."""


def name_of(result: Result) -> Named:
    """By what the sample of a result is found again."""
    sample = result.sample
    if sample is None:
        return Named(result.id, True, None, None)
    key = sample.key
    return Named(result.id, result.id != key, _question(sample), key)


def _question(sample: Sample) -> str:
    text = json.dumps([sample.user_input, sample.reference])
    return sha256(text.encode()).hexdigest()


def pair(
    a: Sequence[_Item],
    b: Sequence[_Item],
    by: PairedBy | None = None,
    *,
    runs: tuple[str, str] = ("A", "B"),
    min_paired: float = 0.0,
    same_first: bool = False,
) -> Paired[_Item]:
    """Find each sample of A in B.

    By id if every id of both runs was supplied and some are in both; else by question and
    reference, the n-th sample of a question with the n-th. ``by`` chooses the rule.

    Args:
        runs: what messages call the two.
        min_paired: the least share of the smaller run that must have a partner.
        same_first: of the same question, pair first what has the same texts in both.

    Raises:
        InputError: an unknown rule, a run without samples, or an id twice in one.
        PairingError: nothing, or too little, has a partner.
    """
    if by is not None:
        check_choice(by, get_args(PairedBy), "pair_by")
    for run, items in zip(runs, (a, b), strict=True):
        if not items:
            raise InputError("at least one result", "none", where=run)
    check_limit(min_paired, "min_paired")
    if by == "id":
        paired = _by_id(a, b, runs)
    else:
        paired = _by_question(a, b, same_first=same_first)
        if by is None:
            paired = _by_ids_if_supplied(paired, a, b, runs)
    smaller = min(len(a), len(b))
    if not paired.pairs or len(paired.pairs) < min_paired * smaller - 1e-9:
        raise _too_few(paired, smaller, runs, min_paired)
    return paired


def _by_ids_if_supplied(
    by_question: Paired[_Item], a: Sequence[_Item], b: Sequence[_Item], runs: tuple[str, str]
) -> Paired[_Item]:
    # Where no question is found again and the texts are not known, ids are all there is.
    usable = by_question.pairs or all(item.name.question for item in (*a, *b))
    if usable and not all(item.name.supplied for item in (*a, *b)):
        return by_question
    by_id = _by_id(a, b, runs)
    return by_question if usable and not by_id.pairs else by_id


def _by_id(a: Sequence[_Item], b: Sequence[_Item], runs: tuple[str, str]) -> Paired[_Item]:
    first, second = (_each_once(run, items) for run, items in zip(runs, (a, b), strict=True))
    pairs = [(item, second[name]) for name, item in first.items() if name in second]
    questions = ((x.name.question, y.name.question) for x, y in pairs)
    other = sum(None not in both and both[0] != both[1] for both in questions)
    warning = (
        f"{other} of {len(pairs)} pairs have the same id and another question or reference: "
        "if they are not the same sample, pair by question."
    )
    return Paired(
        "id",
        pairs,
        tuple(name for name in first if name not in second),
        tuple(name for name in second if name not in first),
        (warning,) if other else (),
    )


def _each_once(run: str, items: Sequence[_Item]) -> dict[str, _Item]:
    by_id: dict[str, _Item] = {}
    for item in items:
        if item.name.id in by_id:
            hint, got = "give every sample its own id", f"{item.name.id!r} twice"
            raise InputError("each sample once", got, where=run, hint=hint)
        by_id[item.name.id] = item
    return by_id


def _by_question(a: Sequence[_Item], b: Sequence[_Item], *, same_first: bool) -> Paired[_Item]:
    partner: dict[int, int] = {}
    if same_first:
        _in_order(a, b, partner, lambda item: item.name.key)
    _in_order(a, b, partner, lambda item: item.name.question)
    taken = set(partner.values())
    warning = (
        "Several samples have the same question and reference; they are paired in order, the "
        "first with the first. Ids would say which belong together."
    )
    return Paired(
        "question",
        [(a[i], b[partner[i]]) for i in sorted(partner)],
        tuple(item.name.id for i, item in enumerate(a) if i not in partner),
        tuple(item.name.id for i, item in enumerate(b) if i not in taken),
        (warning,) if _repeat(a) or _repeat(b) else (),
    )


def _repeat(items: Sequence[_Item]) -> bool:
    known = [item.name.question for item in items if item.name.question is not None]
    return len(set(known)) < len(known)


def _in_order(
    a: Sequence[_Item],
    b: Sequence[_Item],
    partner: dict[int, int],
    key: Callable[[_Item], str | None],
) -> None:
    """Give each sample of A that has no partner the first free one of B with the same key."""
    taken = set(partner.values())
    free: dict[str | None, deque[int]] = {}
    for i, item in enumerate(b):
        if i not in taken:
            free.setdefault(key(item), deque()).append(i)
    free.pop(None, None)  # what has no key is found by none
    for i, item in enumerate(a):
        places = free.get(key(item))
        if i not in partner and places:
            partner[i] = places.popleft()


def _too_few(
    paired: Paired[_Item], smaller: int, runs: tuple[str, str], min_paired: float
) -> PairingError:
    only = ", ".join(
        f"only in {run}: {', '.join(map(repr, ids[:_SHOWN]))}{', …' if len(ids) > _SHOWN else ''}"
        for run, ids in zip(runs, (paired.only_a, paired.only_b), strict=True)
        if ids
    )
    count = len(paired.pairs)
    expected, got = "samples that both runs have", "none"
    hint = "give the samples of both runs the same ids"
    if count:
        expected = f"at least {min_paired:.0%} of the smaller run in both runs"
        got = f"{count} of {smaller}"
        hint += f", or allow fewer with min_paired={count / smaller:.2g} or less"
    return PairingError(expected, f"{got} ({only})", where=f"paired by {paired.by}", hint=hint)


_Claim = TypeVar("_Claim")


def match_texts(
    a: Sequence[_Claim], b: Sequence[_Claim], text: Callable[[_Claim], str]
) -> tuple[list[tuple[_Claim, _Claim]], list[_Claim], list[_Claim]]:
    """Claims of the same words: the pairs, those only in A and those only in B.

    White space and case do not matter. A text that occurs more than once is matched in order.
    """
    waiting: dict[str, deque[int]] = {}
    for i, claim in enumerate(b):
        waiting.setdefault(_words(text(claim)), deque()).append(i)
    both: list[tuple[_Claim, _Claim]] = []
    only_a: list[_Claim] = []
    for claim in a:
        places = waiting.get(_words(text(claim)))
        if places:
            both.append((claim, b[places.popleft()]))
        else:
            only_a.append(claim)
    left = sorted(i for places in waiting.values() for i in places)
    return both, only_a, [b[i] for i in left]


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()


def same_sample_pairs(
    paired: Paired[_Item], expected: str, where: str = ""
) -> tuple[list[tuple[_Item, _Item]], int]:
    """The pairs whose texts are the same, answer included, and how many others there are.

    Where the texts are not known, the ids say so. Raises `PairingError` if there are none.
    """
    keys = ((x.name.key, y.name.key) for x, y in paired.pairs)
    same = [
        pair
        for pair, both in zip(paired.pairs, keys, strict=True)
        if None in both or both[0] == both[1]
    ]
    others = len(paired.pairs) - len(same)
    if not same:
        raise PairingError(
            expected,
            f"{others} that differ in their answer or another text",
            where=f"{where}paired by {paired.by}",
            hint="labels belong to one answer: label what the judge has judged",
        )
    return same, others
