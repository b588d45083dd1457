"""What a reader of a summary must know beside the figures."""

from __future__ import annotations

from noisesense.stats.summary import ModeSummary

__all__ = ["FEW_NOISY", "FEW_UNITS", "mode_warnings", "run_warnings"]

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


def mode_warnings(mode: ModeSummary, units: str) -> list[str]:
    """Of one mode; ``units`` is ``"samples"`` or ``"clusters"``."""
    found: list[str] = []
    count = mode.interval.units if mode.interval else mode.defined
    if mode.defined and count < FEW_UNITS:
        counted = f"{count} {units if count != 1 else units[:-1]}"
        found.append(f"{mode.mode}: {counted}; below {FEW_UNITS} an interval means little.")
    if mode.interval and mode.interval.method == "exact":
        found.append(
            f"{mode.mode}: all {count} {units} have the same value; the interval says only what "
            "so many can have missed."
        )
    elif mode.defined >= FEW_UNITS:
        different = mode.defined - max(times for _, times in mode.distribution)
        if different < FEW_NOISY:
            found.append(
                f"{mode.mode}: only {different} of {mode.defined} samples differ from the "
                "commonest value; the interval hangs on them."
            )
    return found
