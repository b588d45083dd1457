"""What a reader of a summary must know beside the figures."""

from __future__ import annotations

from noisesense.stats.summary import ModeSummary

__all__ = ["FEW_NOISY", "FEW_UNITS", "counted", "mode_warnings", "run_warnings"]

FEW_UNITS = 30
"""Below this an interval means little: its measured coverage begins here."""

FEW_NOISY = 5
"""With fewer samples that differ from the commonest value, an interval hangs on single ones."""


def run_warnings(
    *, samples: int, failed: int, unanswered: int, partly_clustered: bool
) -> list[str]:
    """Of the run as a whole."""
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
    if partly_clustered:
        found.append(
            "Only some samples name a cluster: the intervals are over single samples and may be "
            "too narrow."
        )
    return found


def mode_warnings(mode: ModeSummary, count: int, unit: str) -> list[str]:
    """Of one mode; its interval is over ``count`` of ``unit``, ``"sample"`` or ``"cluster"``."""
    if not mode.defined:
        return [f"{mode.mode}: no sample has a value."] if mode.undefined else []
    found: list[str] = []
    if count < FEW_UNITS:
        found.append(
            f"{mode.mode}: {counted(count, unit)}; below {FEW_UNITS} an interval means little."
        )
    if mode.interval and mode.interval.method == "exact":
        found.append(
            f"{mode.mode}: all {count} {unit}s have the same value; the interval says only what "
            "so many can have missed."
        )
    elif mode.interval and mode.defined >= FEW_UNITS:
        different = mode.defined - max(times for _, times in mode.distribution)
        if different < FEW_NOISY:
            found.append(
                f"{mode.mode}: only {different} of {mode.defined} samples differ from the "
                "commonest value; the interval hangs on them."
            )
    return found


def counted(count: int, unit: str) -> str:
    """``"1 pair"``, ``"2,000 pairs"``."""
    return f"{count:,} {unit}{'' if count == 1 else 's'}"
