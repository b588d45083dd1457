"""What a comparison says, in the words that its command and the report share."""

from __future__ import annotations

from collections.abc import Iterator

from noisesense import Comparison, Range
from noisesense.scoring.outcomes import extent
from noisesense.stats.figures import Figure, FigureComparison
from noisesense.stats.interval import interval_text
from noisesense.stats.summarize import counted

NAMES: dict[Figure, str] = {
    "relevant": "the relevant mode",
    "irrelevant": "the irrelevant mode",
    "any": "all claims from chunks",
    "correct": "correct claims",
}


def comparison_sentences(comparison: Comparison, a: str = "A", b: str = "B") -> Iterator[str]:
    """In what B surely differs from A, be it by less than the margin. ``b`` begins a sentence."""
    for figure in _noisier_or_less(comparison):
        yield _noise(figure, comparison, a, b)
    correct = comparison.correct
    if correct is not None and correct.side is not None:
        yield _correct(correct, comparison, a, b)


def _noisier_or_less(comparison: Comparison) -> Iterator[FigureComparison]:
    """All claims from chunks, and the modes that say something else or something more."""
    whole = comparison.any
    if whole is not None and whole.side is None:
        whole = None
    if whole is not None:
        yield whole
    for mode in (comparison.relevant, comparison.irrelevant):
        if mode is None or mode.side is None:
            continue
        says_more = whole is not None and mode.decision == mode.side != whole.decision
        if whole is None or mode.side != whole.side or says_more:
            yield mode


def _noise(found: FigureComparison, comparison: Comparison, a: str, b: str) -> str:
    noisier = "noisier" if found.side == "worse" else "less noisy"
    lead = f"{b} is {noisier}{_at_most(found, comparison, a)}"
    if found.figure == "any":
        lead += f": in {NAMES[found.figure]}"
    else:
        lead += f" in {NAMES[found.figure]}:"
    means = f"its mean is {_number(found.mean_b)}, that of {a} {_number(found.mean_a)}"
    return f"{lead} {means} ({_difference(found)}){_whether(found, comparison, a)}."


def _correct(found: FigureComparison, comparison: Comparison, a: str, b: str) -> str:
    fewer = "fewer" if found.side == "worse" else "more"
    means = f"{_number(found.mean_b)} an answer, {a} has {_number(found.mean_a)}"
    lead = f"{b} has {fewer} correct claims{_at_most(found, comparison, a)}"
    return f"{lead}: {means} ({_difference(found)}){_whether(found, comparison, a)}."


def _at_most(found: FigureComparison, comparison: Comparison, a: str) -> str:
    """By how much B differs, where that is decided."""
    if found.decision == "undecided":
        return ""
    more = by_more(found, comparison.margin, a)
    return f", but not{more}" if found.decision == "same" else more


def _whether(found: FigureComparison, comparison: Comparison, a: str) -> str:
    """That it is not decided whether the difference is more than the margin."""
    if found.decision != "undecided":
        return ""
    whether = f"; whether{by_more(found, comparison.margin, a)}"
    if found.left_open and found.side == "worse":
        return f"{whether} depends on verdicts that the judge left open"
    return f"{whether}, these {counted(found.pairs, 'pair')} do not tell"


def by_more(found: FigureComparison, margin: float, a: str = "A") -> str:
    """By how much it is asked whether B is worse; of correct claims that is a share of A's."""
    if not found.margin:
        return ""
    by = f" by more than {found.margin:.3g}"
    if found.figure == "correct" and found.mean_a is not None:
        by += f" ({margin:.3g} of {a}'s {extent(found.mean_a, '.4f')})"
    return by


def _number(mean: Range | None) -> str:
    return "-" if mean is None else extent(mean, ".2f")


def _difference(found: FigureComparison) -> str:
    return "" if found.interval is None else f"difference {interval_text(found.interval)}"


def standing(found: FigureComparison) -> str:
    """What is known of B beside A by one figure, in a few words."""
    within = f"within {found.margin:.3g}"
    if found.decision == "same":
        return f"the same {within}"
    if found.decision != "undecided":
        return found.decision
    if found.worsening is None or found.too_few:
        return "too few to say"
    if found.side is not None:
        return f"{found.side}, perhaps {within}"
    if found.left_open:
        return "left open by the judge"
    if not found.margin:
        return "not clearly different"
    if is_not_worse(found):
        return "not worse"
    if _is_not_better(*found.worsening, found.margin):
        return "not better"
    return "too few to say"  # it reaches beyond the margin to both sides


def is_not_worse(found: FigureComparison) -> bool:
    """Does the interval reach beyond the margin only to the side on which B is better?"""
    if found.worsening is None or found.too_few:
        return False
    low, high = found.worsening
    return low < -found.margin and high <= found.margin


def _is_not_better(low: float, high: float, margin: float) -> bool:
    """Does the interval reach beyond the margin only to the side on which B is worse?"""
    return low >= -margin and high > margin


def undecided_sentence(found: FigureComparison) -> str | None:
    """What the pairs do not tell of a figure; None if they decide it, or nothing is known."""
    if found.decision != "undecided":
        return None
    if not found.differing:
        return _alike(found)
    if found.seen is None:
        return None
    if is_not_worse(found) and found.margin:
        pairs = counted(found.pairs, "pair")
        return f"whether B is better by more than {found.margin:.3g}, these {pairs} do not tell"
    return seen(found)


def _alike(found: FigureComparison) -> str | None:
    """That no pair differs, and what so many pairs do not rule out all the same."""
    if found.worsening is None:
        return None
    farthest = max(map(abs, found.worsening))
    do_not = "does not" if found.pairs == 1 else "do not"
    return (
        f"no pair differs, but {counted(found.pairs, 'pair')} {do_not} rule out a difference of "
        f"up to {farthest:.2g}"
    )


def seen(found: FigureComparison) -> str | None:
    """What as many pairs are likely to tell; None where that is not known."""
    if found.seen is None:
        return None
    lead = "with as many pairs, 80 of 100 comparisons"
    if not found.margin:
        return f"{lead} find a difference of {found.seen:.2g}"
    return f"{lead} find that a difference of {found.seen:.2g} is more than {found.margin:.3g}"
