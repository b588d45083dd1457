"""Which retrieved documents mislead: ranked by how often each does when it is retrieved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from statistics import fmean
from typing import NamedTuple

from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.scoring.scoring import Score
from noisesense.stats.clusters import cluster_of
from noisesense.stats.interval import Interval
from noisesense.stats.shrinkage import Hits, shrunken


class Offence(NamedTuple):
    """One incorrect claim that a document entails.

    Attributes:
        sample: the result's id.
        claim: the claim's text.
        position: of the claim in the response.
        relevant: was the document relevant there? None: undetermined.
    """

    sample: str
    claim: str
    position: int
    relevant: bool | None


_ANYTHING = Range(0.0, 1.0)
_NOT = Range(0.0, 0.0)
_SURELY = Range(1.0, 1.0)
_UNKNOWN = Interval(0.0, 1.0, 0.95, "posterior", 0)


@dataclass
class Offender(Record):
    """A document that misled, or of which the judge left open whether it did.

    Attributes:
        document: its id, or its text where it has none; empty where it has neither.
        text: as retrieved.
        retrieved: in how many scored samples it was retrieved.
        clusters: in how many of their clusters; each counts as one in the rate.
        samples: in how many it entails an incorrect claim for certain.
        undetermined: further claims of which open verdicts decide whether they are incorrect and
            it entails them: at most ``claims + undetermined`` are.
        offences: the incorrect claims it entails for certain, in the order of the results.
        rate: how often it misleads when it is retrieved, estimated: ``samples / retrieved``, of
            each cluster on average, drawn towards the rates of all documents, the more the fewer
            the clusters are. A range where verdicts are open.
        interval: of the rate, 95%, over the range; see `noisesense.stats.shrinkage`.
    """

    _derived = ("claims",)

    document: str
    text: str
    retrieved: int = 0
    clusters: int = 0
    samples: int = 0
    undetermined: int = 0
    offences: list[Offence] = field(default_factory=list[Offence])
    rate: Range = _ANYTHING
    interval: Interval = _UNKNOWN

    @property
    def claims(self) -> int:
        """Incorrect claims it entails for certain."""
        return len(self.offences)


@dataclass(frozen=True)
class Offenders(Record):
    """The documents that mislead.

    Attributes:
        documents: those that entail incorrect claims, or may; the surest first.
        retrieved: how many different documents were retrieved, whether they mislead or not.
    """

    documents: tuple[Offender, ...]
    retrieved: int


def offenders(results: Iterable[Result]) -> Offenders:
    """Return the documents that entail incorrect claims, the surest first: by the low end of the
    interval of their rate, how often a document misleads when it is retrieved.

    A claim counts for every retrieved document that entails it. A document is what has the same
    id, or the same text where there is none; it is counted once a sample, even if it was retrieved
    twice.
    Documents of which the judge left open whether they entail an incorrect claim are listed too,
    after those that do for certain: an empty list means that none did.

    Args:
        results: read once; failed ones are left out.

    Raises:
        InputError: something else than results, or results that were not scored alike.
    """
    documents: dict[str, Offender] = {}
    guilt = defaultdict[str, defaultdict[Hashable, list[Range]]](lambda: defaultdict(list))
    first_scored: Result | None = None
    for place, result in enumerate(results):
        scored = result_in(result).score
        if scored is None:
            continue
        first_scored = first_scored or result
        check_scored_alike((first_scored, result), "results")
        cluster = cluster_of(result)
        unit = place if cluster is None else cluster
        for name, misled in _add(documents, result.id, scored).items():
            guilt[name][unit].append(misled)
    _estimate(documents, guilt)
    ranked = [each for each in documents.values() if each.claims or each.undetermined]
    ranked.sort(key=_order)
    return Offenders(documents=tuple(ranked), retrieved=len(documents))


def _order(each: Offender) -> tuple[object, ...]:
    # Rounded: the same counts are one.
    low = round(each.interval.low, 12)
    return not each.claims, -low, -each.claims, -each.undetermined, each.document


def _add(documents: dict[str, Offender], sample: str, score: Score) -> dict[str, Range]:
    """Count a sample for each document that was retrieved, and tell which misled in it."""
    names = _retrieved(documents, score)
    misled = dict.fromkeys(names, _NOT)
    for claim in score.claims:
        if claim.correct:
            continue
        entailing = (*claim.relevant_chunks, *claim.irrelevant_chunks, *claim.unlabeled_chunks)
        sure = {names[j]: j for j in sorted(entailing, reverse=True)}
        perhaps = {names[j] for j in claim.undetermined_chunks} - sure.keys()
        if claim.correct is None:
            perhaps |= sure.keys()
            sure = {}
        for name, j in sure.items():
            relevant = score.chunk_relevance[j]
            offence = Offence(sample, claim.text, claim.index, relevant)
            documents[name].offences.append(offence)
            misled[name] = _SURELY
        for name in perhaps:
            documents[name].undetermined += 1
            misled[name] = misled[name]._replace(high=1.0)
    for name, ends in misled.items():
        documents[name].samples += ends == _SURELY
    return misled


def _retrieved(documents: dict[str, Offender], score: Score) -> list[str]:
    """Return the documents' names by position. Each document is counted as retrieved."""
    chunks = score.verdicts.chunks or ()
    names = [chunk.id or chunk.text for chunk in chunks]
    names = names or [""] * score.verdicts.chunk_count
    for name in dict.fromkeys(names):
        text = chunks[names.index(name)].text if chunks else ""
        document = documents.setdefault(name, Offender(name, text))
        document.retrieved += 1
    return names


def _estimate(
    documents: dict[str, Offender], guilt: Mapping[str, Mapping[Hashable, list[Range]]]
) -> None:
    """The rates, once with the fewest samples that each can have misled and once with the most."""
    fewest: dict[str, Hits] = {}
    most: dict[str, Hits] = {}
    for name, by_unit in guilt.items():
        units = by_unit.values()
        lows = [fmean(misled.low for misled in unit) for unit in units]
        highs = [fmean(misled.high for misled in unit) for unit in units]
        fewest[name] = Hits(round(fsum(lows), 9), len(lows))
        most[name] = Hits(round(fsum(highs), 9), len(highs))
    least = shrunken(Counter(fewest.values()))
    greatest = least if fewest == most else shrunken(Counter(most.values()))
    for name, each in documents.items():
        low = least[fewest[name]]
        high = greatest[most[name]]
        each.clusters = fewest[name].cases
        each.rate = Range(low.mean, max(low.mean, high.mean))
        each.interval = _UNKNOWN._replace(low=low.low, high=high.high, units=each.clusters)
