"""What a summary keeps of each sample: nothing but how often each triple of counts occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple

from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import Counts
from noisesense.scoring.scoring import Score, Undetermined
from noisesense.stats.interval import Bounds, Unit

End = int
"""Of a range: 0 is the low one, 1 the high one."""

Distribution = tuple[tuple[float, int], ...]
"""Distinct values, ascending, and how many samples have each."""


class Cells(NamedTuple):
    """How many verdicts a score needs, and how many of them have no answer."""

    needed: int
    open: int


def cells_of(score: Score) -> Cells:
    """What a lazy plan asks of this sample; see `noisesense.Summary`."""
    verdicts = score.verdicts
    claims = verdicts.response_claims
    needed = len(claims)
    suspects = [claim for claim in claims if not claim.correct]
    if not suspects:
        return Cells(needed, 0)
    missing = sum((claim.correct is None) + len(claim.undetermined) for claim in suspects)
    chunks = verdicts.chunk_count
    needed += chunks * len(suspects)
    labeled = {j for j, c in enumerate(verdicts.chunks or ()) if c.relevant is not None}
    unlabeled = chunks - len(labeled)
    reference = verdicts.reference_claims
    if not reference:
        return Cells(needed + unlabeled, missing + unlabeled)
    needed += unlabeled * len(reference)
    missing += sum(j not in labeled for claim in reference for j in claim.undetermined)
    return Cells(needed, missing)


def undetermined_cells(score: Score) -> int:
    """How many verdicts are missing behind the claims whose kind is undetermined.

    For each such claim: whether the reference entails it, and each chunk of which it is unknown
    whether it entails the claim; once for the sample: each pair of reference claim and chunk that
    leaves the relevance of a chunk open.
    """
    relevant = score.chunk_relevance
    both = zip(score.verdicts.response_claims, score.claims, strict=True)
    claims = [claim for claim, outcome in both if outcome.category == "undetermined"]
    own = sum((claim.correct is None) + len(claim.undetermined) for claim in claims)
    matters = {
        j
        for claim in claims
        for j in (*claim.entailed_by, *claim.undetermined)
        if relevant[j] is None
    }
    return own + sum(
        j in matters for claim in score.verdicts.reference_claims for j in claim.undetermined
    )


@dataclass
class ModeTally:
    """One mode's counts over all samples.

    Memory: one entry for each distinct ``(noisy, determined, total)``, of which responses of up to
    ``R`` claims have at most ``R³``, however many samples there are; and six numbers a cluster.
    """

    mode: Mode
    undetermined: Undetermined
    times: Counter[Counts] = field(default_factory=Counter[Counts])
    """Samples with bounds."""
    undefined: int = 0
    bounds: dict[Counts, Bounds] = field(default_factory=dict[Counts, Bounds])
    clusters: dict[str, list[float]] = field(default_factory=dict[str, "list[float]"])

    def add(self, score: Score, cluster: str | None) -> None:
        """Count one sample. The definition has this mode."""
        counts = score.counts(self.mode)
        if counts is None:
            return
        # Samples without claims are defined or not by the score's own convention.
        bounds = self.bounds.get(counts) if counts.total else None
        if bounds is None:
            bounds = score.bounds(self.mode)
            if bounds is None:
                self.undefined += 1
                return
            self.bounds[counts] = bounds
        self.times[counts] += 1
        if cluster is not None:
            sums = self.clusters.setdefault(cluster, [0.0, 0.0, 0, 0, 0, 0])
            for i, part in enumerate((*bounds, 1, counts.noisy, counts.highest, counts.total)):
                sums[i] += part

    @property
    def samples(self) -> int:
        """How many have bounds."""
        return self.times.total()

    @property
    def open(self) -> int:
        """How many are undetermined."""
        return sum(times for counts, times in self.times.items() if counts.undetermined)

    def distribution(self) -> Distribution:
        """Of the samples with a value."""
        if self.undetermined != "none":
            return self.ends(int(self.undetermined == "high"))
        return self._distinct(lambda bounds: bounds[0] if bounds[0] == bounds[1] else None)

    def ends(self, end: End) -> Distribution:
        """Of all samples, their lowest or their highest values."""
        return self._distinct(lambda bounds: bounds[end])

    def middles(self) -> Distribution:
        """Of all samples, the middle of their range."""
        return self._distinct(lambda bounds: sum(bounds) / 2)

    def _distinct(self, value_of: Callable[[Bounds], float | None]) -> Distribution:
        values: Counter[float] = Counter()
        for counts, times in self.times.items():
            if (value := value_of(self.bounds[counts])) is not None:
                values[value] += times
        return tuple(sorted(values.items()))

    def sums(self) -> Counts:
        """All claims of all samples."""
        parts = [[n * times for n in counts] for counts, times in self.times.items()]
        return Counts(*map(sum, zip(*parts, strict=True))) if parts else Counts(0, 0, 0)

    def mean_bounds(self) -> Bounds | None:
        """The means of the lows and of the highs, over the samples that have bounds."""
        if not self.times:
            return None
        low, high = (
            fsum(value * times for value, times in self.ends(end)) / self.samples for end in (0, 1)
        )
        return low, high

    def distance_from_middles(self) -> float:
        """``Σ (half of a sample's range)²``: how far open verdicts move all values together."""
        ranges = ((*self.bounds[counts], times) for counts, times in self.times.items())
        return fsum(times * ((high - low) / 2) ** 2 for low, high, times in ranges)

    def mean_units(self, end: End, *, clustered: bool) -> Counter[Unit]:
        """What each sample (or cluster) adds to that end's mean: ``(Σ value, how many)``."""
        if not clustered:
            return Counter({(value, 1.0): times for value, times in self.ends(end)})
        # Rounded: the last digit of a sum depends on the order of the samples.
        return Counter((round(s[end], 12), s[2]) for s in self.clusters.values())

    def claim_units(self, end: End, *, clustered: bool) -> Counter[Unit]:
        """What each adds to that end's share of claims: ``(Σ noisy or highest, Σ total)``."""
        if clustered:
            return Counter((s[3 + end], s[5]) for s in self.clusters.values() if s[5])
        units: Counter[Unit] = Counter()
        for counts, times in self.times.items():
            if counts.total:
                counted = counts.highest if end else counts.noisy
                units[float(counted), float(counts.total)] += times
        return units
