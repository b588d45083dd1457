"""What a reader of a summary must know beside the figures."""

from __future__ import annotations

from noisesense.stats.summary import ModeSummary

__all__ = ["FEW_NOISY", "FEW_UNITS", "counted", "mode_warnings", "run_warnings"]

FEW_UNITS = 30
"""Below this an interval means little: its measured coverage begins here."""

FEW_NOISY = 5
"""With fewer samples that differ from the commonest value, an interval hangs on single ones."""


def run_warnings(
    *,
    samples: int,
    failed: int,
    unanswered: int,
    cells: tuple[int, int],
    partly_clustered: bool,
) -> list[str]:
    """Of the run as a whole; ``cells`` are those without an answer, and those that were needed."""
    found: list[str] = []
    if not samples:
        found.append("There are no results.")
    if failed:
        found.append(
            f"{failed} of {samples} samples failed and are in no figure: if they are the hard "
            "ones, every figure is too good."
        )
    if unanswered:
        found.append(
            f"The judge left {unanswered} verdicts unanswered; the bounds say how far the "
            "figures could move."
        )
    missing, needed = cells
    if missing:
        found.append(
            f"{missing:,} of the {needed:,} verdicts that the scores need "
            f"({_percent(missing / needed)}) have no answer: where they decide a score, it is a "
            "range."
        )
    if partly_clustered:
        found.append(
            "Only some samples name a cluster: the intervals are over single samples and may be "
            "too narrow."
        )
    return found


def mode_warnings(mode: ModeSummary, count: int, unit: str, *, differing: int) -> list[str]:
    """Of one mode; its interval is over ``count`` of ``unit``, ``"sample"`` or ``"cluster"``."""
    samples = mode.determined + mode.undetermined
    if not samples:
        words = "no sample has response claims: there is nothing to measure."
        return [f"{mode.mode}: {words}"] if mode.undefined else []
    found: list[str] = []
    if mode.undetermined and mode.bounds:
        low, high = mode.bounds
        are = "is" if mode.undetermined == 1 else "are"
        found.append(
            f"{mode.mode}: {mode.undetermined:,} of {counted(samples, 'sample')} {are} "
            f"undetermined; the mean lies between {low:.4g} and {high:.4g}, and the verdicts do "
            "not decide where."
        )
    if count < FEW_UNITS:
        found.append(
            f"{mode.mode}: {counted(count, unit)}; below {FEW_UNITS} an interval means little."
        )
    if mode.interval and mode.interval.method == "exact":
        found.append(
            f"{mode.mode}: all {count} {unit}s have the same value; the interval says only what "
            "so many can have missed."
        )
    elif mode.interval and samples >= FEW_UNITS and differing < FEW_NOISY:
        found.append(
            f"{mode.mode}: only {differing} of {samples} samples differ from the "
            "commonest value; the interval hangs on them."
        )
    return found


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.001 else f"{share:.1%}"


def counted(count: int, unit: str) -> str:
    """``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
