"""The same sample in two runs: one rule for `compare`, and labels beside results.

All of a run is paired by one rule: by the ids that the user supplied, else by what does not change
between versions of a system, the question and the reference. An id that was made from the
sample's content is no name for it: it is another one as soon as the answer changes, and pairing by
it would keep exactly the samples that stayed the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence, Set
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
    pairs: list[tuple[Result, Result]]
    positions: list[tuple[int, int]]
    """Of each pair, in the two runs: a run may hold one object twice."""
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    warnings: tuple[str, ...]
    """What a reader must know of the pairing, in words."""


def partners(
    a: Sequence[Hashable], b: Sequence[Hashable], found: dict[int, int] | None = None
) -> dict[int, int]:
    """By position in A, that of the first free one in B of the same name; None names nothing.

    ``found`` are partners already; they stay.
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
    """By position in A, that of the same claim in B; white space and case do not matter."""
    return partners([*map(_normal, a)], [*map(_normal, b)])


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def _key(result: Result) -> str | None:
    return None if result.sample is None else result.sample.key


def question_of(result: Result) -> tuple[str, str] | None:
    """What a sample asks, and the reference; None where the texts are not known."""
    sample = result.sample
    return None if sample is None else (sample.user_input, sample.reference)


def _asked(result: Result) -> Hashable:
    """What a sample asks. A row that could not be read has its place alone, which is its id."""
    question = question_of(result)
    return result.id if question is None and result.score is None else question


def _asks_otherwise(x: Result, y: Result) -> bool:
    question = question_of(x)
    other = question_of(y)
    return question is not None and other is not None and question != other


def same_texts(a: Result, b: Result) -> bool:
    """Are all texts the same, answer included? Where they are not known, the ids say so."""
    key = _key(a)
    other = _key(b)
    return key is None or other is None or key == other


def pair(
    a: Sequence[Result],
    b: Sequence[Result],
    by: PairedBy | None = None,
    *,
    runs: tuple[str, str] = ("A", "B"),
    min_paired: float = 0.0,
    same_first: bool = False,
) -> Paired:
    """Find each sample of A in B.

    By id if every id of both runs was supplied, some are in both, and they do not only number the
    samples; else by question and reference, the n-th sample of a question with the n-th. ``by``
    chooses the rule.

    Args:
        runs: what messages call the two.
        min_paired: the least share of A that must have a partner in B, whichever is larger.
        same_first: of the same question, pair first what has the same texts in both.

    Raises:
        InputError: an unknown rule, a run without samples, or an id twice in one.
        PairingError: nothing, or too little, has a partner.
    """
    if by is not None:
        check_choice(by, get_args(PairedBy), "pair_by")
    for run, results in zip(runs, (a, b), strict=True):
        if not results:
            raise InputError("at least one result", "none", where=run)
    check_limit(min_paired, "min_paired")
    first, *others = (by,) if by else _rules(a, b)
    paired = _pair(a, b, first, runs, same_first)
    for rule in others:
        if paired.pairs and not _are_places(paired, b):
            break
        by_rule = _pair(a, b, rule, runs, same_first)
        if by_rule.pairs:
            paired = by_rule
    if not paired.pairs or len(paired.pairs) < min_paired * len(a) - 1e-9:
        raise _too_few(paired, a, b, runs, min_paired)
    return paired


def _are_places(paired: Paired, b: Sequence[Result]) -> bool:
    """Do the ids number the samples, as Promptfoo's do, and has B them in other places?

    An id of A then stands at another question in B, and its own question at another id.
    """
    if paired.by != "id":
        return False
    questions = {question_of(each) for each in b} - {None}
    return any(question_of(x) in questions for x, y in paired.pairs if _asks_otherwise(x, y))


def _rules(a: Sequence[Result], b: Sequence[Result]) -> tuple[PairedBy, ...]:
    """Which to try, best first. An id without texts counts as supplied."""
    results = [*a, *b]
    if all(each.id != _key(each) for each in results):
        return "id", "question"
    # Where the texts are not known, ids are all there is.
    return ("question",) if all(each.sample for each in results) else ("question", "id")


def _pair(
    a: Sequence[Result], b: Sequence[Result], by: PairedBy, runs: tuple[str, str], same_first: bool
) -> Paired:
    if by == "id":
        positions = partners(_ids(a, runs[0]), _ids(b, runs[1]))
    else:
        same = partners([*map(_key, a)], [*map(_key, b)]) if same_first else None
        positions = partners([*map(_asked, a)], [*map(_asked, b)], same)
    pairs = [(a[i], b[j]) for i, j in positions.items()]
    warnings = _of_ids(pairs) if by == "id" else _of_questions(a, b)
    return Paired(
        by=by,
        pairs=pairs,
        positions=[*positions.items()],
        only_a=_ids_except(a, positions.keys()),
        only_b=_ids_except(b, {*positions.values()}),
        warnings=tuple(warnings),
    )


def _ids_except(results: Sequence[Result], positions: Set[int]) -> tuple[str, ...]:
    ids: list[str] = []
    for i, result in enumerate(results):
        if i not in positions:
            ids.append(result.id)
    return tuple(ids)


def _of_ids(pairs: Sequence[tuple[Result, Result]]) -> Iterator[str]:
    doubtful = sum(_asks_otherwise(x, y) for x, y in pairs)
    if doubtful:
        yield (
            f"{doubtful:,} of {len(pairs):,} pairs have the same id and another question or "
            "reference: if they are not the same sample, pair by question (--pair-by question, "
            "in Python pair_by=)."
        )


def _of_questions(*runs: Sequence[Result]) -> Iterator[str]:
    for results in runs:
        questions = [question for question in map(question_of, results) if question]
        if len({*questions}) < len(questions):
            yield (
                "Several samples have the same question and reference; they are paired in order, "
                "the first with the first. Ids would say which belong together."
            )
            return


def _ids(results: Sequence[Result], run: str) -> list[str]:
    ids = [result.id for result in results]
    name, times = Counter(ids).most_common(1)[0]
    if times > 1:
        hint = "give every sample its own id"
        raise InputError("each sample once", f"{name!r} {times} times", where=run, hint=hint)
    return ids


def _too_few(
    paired: Paired,
    a: Sequence[Result],
    b: Sequence[Result],
    runs: tuple[str, str],
    min_paired: float,
) -> PairingError:
    only: list[str] = []
    alone = ((a, paired.only_a), (b, paired.only_b))
    for run, (results, ids) in zip(runs, alone, strict=True):
        if ids:
            names = {each.id: _called(each) for each in results}
            shown = [describe(names[name]) for name in ids[:2]]
            if len(ids) > len(shown):
                shown.append("…")
            only.append(f"only in {run}: {', '.join(shown)}")
    count = len(paired.pairs)
    expected = "samples that both runs have"
    got = "none"
    hint = "give the samples of both runs the same ids"
    if count:
        expected = f"at least {percent_text(min_paired)} of {runs[0]} in {runs[1]}"
        got = f"{count} of {len(a)}"
        allowed = 100 * count // len(a) / 100  # never more than there are
        hint += f", or allow fewer: --min-paired {allowed:g} (in Python min_paired=) or less"
    got = f"{got} ({', '.join(only)})"
    return PairingError(expected, got, where=f"paired by {paired.by}", hint=hint)


def _called(result: Result) -> str:
    """What a person knows the sample by: its id, or the question where the id is made of it."""
    sample = result.sample
    if sample is None or result.id != sample.key:
        return result.id
    return sample.user_input or result.id
