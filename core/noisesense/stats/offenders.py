"""Which retrieved documents mislead: ranked by how many wrong claims come from each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from noisesense.scoring.outcomes import Record
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.interval import Interval
from noisesense.stats.resampling import NORMAL


class Offence(NamedTuple):
    """One incorrect claim that a document entails.

    Attributes:
        sample: the result's id.
        claim: the claim's text.
        position: of the claim in the response.
        relevant: was the document relevant there? None: undetermined.
        alone: did no other retrieved chunk entail the claim? None: undetermined.
    """

    sample: str
    claim: str
    position: int
    relevant: bool | None
    alone: bool | None


@dataclass
class Offender(Record):
    """A document that misled, or of which the judge left open whether it did.

    Attributes:
        document: its id, or its text where it has none; empty where it has neither.
        text: as retrieved.
        retrieved: in how many scored samples it was retrieved.
        samples: in how many it entails an incorrect claim for certain.
        undetermined: further claims of which open verdicts decide whether they are incorrect and
            it entails them: at most ``claims + undetermined`` are.
        offences: the incorrect claims it entails for certain, in the order of the results.
    """

    _derived = ("claims", "alone", "rate", "interval")

    document: str
    text: str
    retrieved: int = 0
    samples: int = 0
    undetermined: int = 0
    offences: list[Offence] = field(default_factory=list[Offence])

    @property
    def claims(self) -> int:
        """Incorrect claims it entails for certain."""
        return len(self.offences)

    @property
    def alone(self) -> int:
        """Of these, those that for certain no other retrieved chunk entails."""
        return sum(offence.alone is True for offence in self.offences)

    @property
    def rate(self) -> float:
        """``samples / retrieved``."""
        return self.samples / self.retrieved

    @property
    def interval(self) -> Interval:
        """Of the rate, 95%: all ``p`` with ``(rate − p)² ≤ z² p (1 − p) / retrieved``.

        Source: Wilson (1927), Probable inference, JASA 22.
        """
        hits, count, square = self.samples, self.retrieved, NORMAL.inv_cdf(0.975) ** 2
        middle = (hits + square / 2) / (count + square)
        reach = math.sqrt(square * (hits * (count - hits) / count + square / 4)) / (count + square)
        low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
        return Interval(low, high, 0.95, "wilson", count)


def offenders(results: Iterable[Result]) -> tuple[Offender, ...]:
    """The documents that entail incorrect claims, those that explain most of them first.

    Equal numbers are ranked by the claims that no other document explains, then by the rate: how
    often a document does so when it is retrieved.

    A claim counts for every retrieved document that entails it; ``alone`` counts those for which
    there is no other. A document is what has the same id, or the same text where there is none; it
    is counted once a sample, even if it was retrieved twice.
    Documents of which the judge left open whether they entail an incorrect claim are listed too,
    after those that do for certain: an empty list means that none did.

    Args:
        results: read once; failed ones are left out.

    Raises:
        InputError: no results, or some that were not scored alike.
    """
    found: dict[str, Offender] = {}
    first: Result | None = None
    for result in results:
        scored = result_in(result).score
        if scored is None:
            continue
        first = first or result
        check_scored_alike((first, result), "results")
        _add(found, result.id, scored)
    ranked = [each for each in found.values() if each.claims or each.undetermined]
    ranked.sort(key=lambda o: (-o.claims, -o.alone, -o.rate, -o.undetermined, o.document))
    return tuple(ranked)


def _add(found: dict[str, Offender], sample: str, score: Score) -> None:
    chunks = score.verdicts.chunks
    names = [chunk.id or chunk.text for chunk in chunks or ()]
    names = names or [""] * score.verdicts.chunk_count
    for name in dict.fromkeys(names):
        text = chunks[names.index(name)].text if chunks else ""
        found.setdefault(name, Offender(name, text)).retrieved += 1
    guilty, relevance = set[str](), score.chunk_relevance
    for claim in score.claims:
        if claim.correct:
            continue
        entailing = {*claim.relevant_chunks, *claim.irrelevant_chunks, *claim.unlabelled_chunks}
        sure = {names[j]: j for j in sorted(entailing, reverse=True)}
        perhaps = {names[j] for j in claim.undetermined_chunks} | sure.keys()
        if claim.correct is False:
            alone = None if len(sure) == 1 < len(perhaps) else len(sure) == 1
            for name, j in sure.items():
                offence = Offence(sample, claim.text, claim.index, relevance[j], alone)
                found[name].offences.append(offence)
            guilty |= sure.keys()
            perhaps -= sure.keys()
        for name in perhaps:
            found[name].undetermined += 1
    for name in guilty:
        found[name].samples += 1
