"""The same sample in two runs: one rule for `compare`, and labels beside results.

All of a run is paired by one rule: by the ids that the user supplied, else by what does not change
between versions of a system, the question and the reference. An id that was made from the
sample's content is no name for it: it is another one as soon as the answer changes, and pairing by
it would keep exactly the samples that stayed the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Container, Hashable, Sequence
from typing import Literal, NamedTuple, get_args

from noisesense.errors import InputError, PairingError, check_choice, describe
from noisesense.scoring.outcomes import check_limit, percent_text
from noisesense.scoring.results import Result

PairedBy = Literal["id", "question"]

MIN_PAIRED = 0.9
"""The share of A that must have a partner in B, unless the caller says otherwise."""


class Paired(NamedTuple):
    """Two runs side by side."""

    by: PairedBy
    places: list[tuple[int, int]]
    """Of each pair, in the two runs: a run may hold one object twice."""
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    warnings: list[str]
    """What a reader must know of the pairing, in words."""


def partners(
    a: Sequence[Hashable], b: Sequence[Hashable], found: dict[int, int] | None = None
) -> dict[int, int]:
    """Return by position in A that of its partner in B: the first free one of the same name.

    None names nothing. Pairs in ``found`` stay. What has no partner is left out.
    """
    pairs = dict(found or {})
    in_pairs = {*pairs.values()}
    free: dict[Hashable, deque[int]] = defaultdict(deque)
    for j, name in enumerate(b):
        if j not in in_pairs:
            free[name].append(j)
    for i, name in enumerate(a):
        if i not in pairs and name is not None and free[name]:
            pairs[i] = free[name].popleft()
    return dict(sorted(pairs.items()))


def same_claims(a: Sequence[str], b: Sequence[str]) -> dict[int, int]:
    """Return by position in A that of the same claim in B; white space and case do not matter.

    The n-th of equal claims goes with the n-th, as do those without a text.
    """
    return partners([*map(_normal, a)], [*map(_normal, b)])


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def same_texts(a: Result, b: Result) -> bool:
    """Tell whether all texts are the same, answer included; True if one side's are not known."""
    key = _key(a)
    other = _key(b)
    return key is None or other is None or key == other


def _key(result: Result) -> str | None:
    """Return the key of the sample's texts; None where they are not known."""
    return None if result.sample is None else result.sample.key


def _question(result: Result) -> Hashable:
    """Return what a sample asks, and the reference; None where the texts are not known."""
    sample = result.sample
    return None if sample is None else (sample.user_input, sample.reference)


def _asked(result: Result) -> Hashable:
    """Return the question and reference; without texts the id of a failed row, None of a score."""
    question = _question(result)
    return result.id if question is None and result.score is None else question


def pair(
    a: Sequence[Result],
    b: Sequence[Result],
    by: PairedBy | None = None,
    *,
    min_paired: float = 0.0,
) -> Paired:
    """Find each sample of A in B.

    By id if every id of both runs was supplied, some are in both, and they do not only number the
    samples; else by question and reference: of one question what has the same texts in both, then
    the n-th sample with the n-th. ``by`` chooses the rule.

    Args:
        a: a run.
        b: another one.
        by: the rule.
        min_paired: the least share of A that must have a partner in B, even if B is smaller.

    Raises:
        InputError: an unknown rule, a run without samples, ``min_paired`` out of range, or, where
            ids may pair, an id twice in a run.
        PairingError: nothing, or too little, has a partner.
    """
    if by is not None:
        check_choice(by, get_args(PairedBy), "pair_by")
    for run, results in (("A", a), ("B", b)):
        if not results:
            raise InputError("at least one result", "none", where=run)
    check_limit(min_paired, "min_paired")
    rule, found = _found(a, b, by)
    only_a = _alone(a, found.keys())
    only_b = _alone(b, {*found.values()})
    if not found or len(found) < min_paired * len(a) - 1e-9:
        raise _too_few(rule, f"{len(found)} of {len(a)}", only_a, only_b, min_paired)
    warnings: list[str] = []
    doubtful = sum(_asks_otherwise(a[i], b[j]) for i, j in found.items())
    if doubtful:
        warnings.append(
            f"{doubtful:,} of {len(found):,} pairs have the same id and another question or "
            "reference: if they are not the same sample, pair by question (--pair-by question, "
            "in Python pair_by=)."
        )
    return Paired(
        by=rule,
        places=[*found.items()],
        only_a=tuple(result.id for result in only_a),
        only_b=tuple(result.id for result in only_b),
        warnings=warnings,
    )


def _alone(results: Sequence[Result], paired: Container[int]) -> list[Result]:
    """Return the results whose places are not among those paired."""
    return [result for place, result in enumerate(results) if place not in paired]


def _too_few(
    rule: PairedBy,
    got: str,
    only_a: Sequence[Result],
    only_b: Sequence[Result],
    min_paired: float,
) -> PairingError:
    for run, alone in (("A", only_a), ("B", only_b)):
        if alone:
            got += f"; only in {run}: {describe(_called(alone[0]))}"
    hint = (
        "give the samples of both runs the same ids, or allow fewer: --min-paired (in Python "
        "min_paired=)"
    )
    expected = f"samples of A in B, at least {percent_text(min_paired)}"
    return PairingError(expected, got, where=f"paired by {rule}", hint=hint)


def _found(
    a: Sequence[Result], b: Sequence[Result], by: PairedBy | None
) -> tuple[PairedBy, dict[int, int]]:
    """Return the rule, and the places in B by those in A. Raise `InputError` for an id twice."""
    # An id without texts counts as supplied.
    is_named = all(each.id != _key(each) for each in (*a, *b))
    if by == "id" or (by is None and is_named):
        by_id = partners(_ids(a, "A"), _ids(b, "B"))
        if by == "id" or (by_id and not _are_places(a, b, by_id)):
            return "id", by_id
    same = partners([*map(_key, a)], [*map(_key, b)])
    return "question", partners([*map(_asked, a)], [*map(_asked, b)], same)


def _asks_otherwise(x: Result, y: Result) -> bool:
    question = _question(x)
    other = _question(y)
    return question is not None and other is not None and question != other


def _are_places(a: Sequence[Result], b: Sequence[Result], found: dict[int, int]) -> bool:
    """Tell whether the ids number the samples, as Promptfoo's do, in other places in B.

    An id of A then stands at another question in B, and its own question at another id.
    """
    questions = {_question(each) for each in b}
    others = [_question(a[i]) for i, j in found.items() if _asks_otherwise(a[i], b[j])]
    return not questions.isdisjoint(others)


def _ids(results: Sequence[Result], run: str) -> list[str]:
    """Return the ids of a run. Raises `InputError` if one occurs twice."""
    ids = [result.id for result in results]
    name, times = Counter(ids).most_common(1)[0]
    if times > 1:
        hint = "give every sample its own id"
        raise InputError("each sample once", f"{name!r} {times} times", where=run, hint=hint)
    return ids


def _called(result: Result) -> str:
    """Return what a person knows the sample by: its id, or its question if the id is a key."""
    sample = result.sample
    if sample is None or result.id != sample.key:
        return result.id
    return sample.user_input or result.id
