"""Which retrieved documents mislead: ranked by how often each does when it is retrieved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple

from noisesense.scoring.outcomes import ClaimOutcome, Range, Record
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
        alone: did no other retrieved chunk entail the claim? None: undetermined.
    """

    sample: str
    claim: str
    position: int
    relevant: bool | None
    alone: bool | None


_ANYTHING = Range(0.0, 1.0)
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
        open_samples: in how many more open verdicts decide whether it does.
        undetermined: further claims of which open verdicts decide whether they are incorrect and
            it entails them: at most ``claims + undetermined`` are.
        offences: the incorrect claims it entails for certain, in the order of the results.
        rate: how often it misleads when it is retrieved, estimated: ``samples / retrieved``, of
            each cluster on average, drawn towards the rates of all documents, the more the fewer
            the clusters are. A range where verdicts are open.
        interval: of the rate, 95%, over the range; see `noisesense.stats.shrinkage`.
        top_tenth: how likely it is among the tenth of all retrieved documents that mislead most
            often.
    """

    _derived = ("claims", "alone")

    document: str
    text: str
    retrieved: int = 0
    clusters: int = 0
    samples: int = 0
    open_samples: int = 0
    undetermined: int = 0
    offences: list[Offence] = field(default_factory=list[Offence])
    rate: Range = _ANYTHING
    interval: Interval = _UNKNOWN
    top_tenth: float = 0.0

    @property
    def claims(self) -> int:
        """Incorrect claims it entails for certain."""
        return len(self.offences)

    @property
    def alone(self) -> int:
        """Of these, those that for certain no other retrieved chunk entails."""
        return sum(offence.alone is True for offence in self.offences)


@dataclass(frozen=True)
class Offenders(Record):
    """The documents that mislead.

    Attributes:
        documents: those that entail incorrect claims, or may; the surest first.
        first: the first of them, if it is among the tenth of all retrieved documents that mislead
            most often with a probability of at least 90%; else None.
        true_looking: claims that the reference or a relevant chunk supports.
        unmentioned: of these, those that the reference does not support. A terse reference leaves
            out what is true, and what is true then counts as incorrect.
        retrieved: how many different documents were retrieved, whether they mislead or not.
    """

    documents: tuple[Offender, ...]
    first: Offender | None
    true_looking: int
    unmentioned: int
    retrieved: int

    @property
    def terse(self) -> bool:
        """Do the references leave out at least half of what looks true?"""
        return 0 < self.true_looking <= 2 * self.unmentioned


def offenders(results: Iterable[Result]) -> Offenders:
    """The documents that entail incorrect claims, the surest first: by the low end of the
    interval of their rate, how often a document misleads when it is retrieved.

    A claim counts for every retrieved document that entails it; ``alone`` counts those for which
    there is no other. A document is what has the same id, or the same text where there is none; it
    is counted once a sample, even if it was retrieved twice.
    Documents of which the judge left open whether they entail an incorrect claim are listed too,
    after those that do for certain: an empty list means that none did.

    Args:
        results: read once; failed ones are left out.

    Raises:
        InputError: something else than results, or results that were not scored alike.
    """
    documents: dict[str, Offender] = {}
    shares = defaultdict[str, dict[Hashable, _Share]](dict)
    first_scored: Result | None = None
    kinds = Counter[str]()
    for place, result in enumerate(results):
        scored = result_in(result).score
        if scored is None:
            continue
        first_scored = first_scored or result
        check_scored_alike((first_scored, result), "results")
        cluster = cluster_of(result)
        unit = place if cluster is None else cluster
        for name, (misled, may_have) in _add(documents, result.id, scored).items():
            before = shares[name].get(unit, _Share())
            shares[name][unit] = before.plus(misled=misled, may_have=may_have)
        for claim in scored.claims:
            kinds[claim.category] += 1
    _estimate(documents, shares)
    ranked = [each for each in documents.values() if each.claims or each.undetermined]
    ranked.sort(key=_order)
    first = None
    if ranked and ranked[0].top_tenth >= SURE:
        first = ranked[0]
    # A claim of the category "relevant" is incorrect, and a relevant chunk entails it.
    return Offenders(
        documents=tuple(ranked),
        first=first,
        true_looking=kinds["correct"] + kinds["relevant"],
        unmentioned=kinds["relevant"],
        retrieved=len(documents),
    )


SURE = 0.9
"""The first document is named from this probability."""


def _order(each: Offender) -> tuple[object, ...]:
    # Rounded: the same counts are one.
    low = round(each.interval.low, 12)
    return not each.claims, -low, -each.claims, -each.alone, -each.undetermined, each.document


class _Share(NamedTuple):
    """Of one cluster, in how many samples a document was retrieved, and misled.

    Attributes:
        retrieved: in how many it was retrieved.
        misled: in how many it misled for certain.
        may_have: in how many it did if open verdicts say so.
    """

    retrieved: int = 0
    misled: int = 0
    may_have: int = 0

    def plus(self, *, misled: bool, may_have: bool) -> _Share:
        """Count one sample more."""
        return _Share(self.retrieved + 1, self.misled + misled, self.may_have + may_have)


def _hits(shares: Collection[_Share], counts: Iterable[int]) -> Hits:
    """In how many clusters of all, each counted by its share of samples."""
    parts = [count / share.retrieved for count, share in zip(counts, shares, strict=True)]
    return Hits(round(fsum(parts), 9), len(parts))


def _estimate(documents: dict[str, Offender], shares: dict[str, dict[Hashable, _Share]]) -> None:
    """The rates, once with the fewest samples that each can have misled and once with the most."""
    fewest: dict[str, Hits] = {}
    most: dict[str, Hits] = {}
    for name, by_unit in shares.items():
        units = by_unit.values()
        fewest[name] = _hits(units, (share.misled for share in units))
        most[name] = _hits(units, (share.may_have for share in units))
    lows = shrunken(Counter(fewest.values()))
    highs = lows if fewest == most else shrunken(Counter(most.values()))
    for name, each in documents.items():
        low = lows[fewest[name]]
        high = highs[most[name]]
        each.clusters = fewest[name].cases
        each.rate = Range(low.mean, max(low.mean, high.mean))
        each.interval = _UNKNOWN._replace(low=low.low, high=high.high, units=each.clusters)
        each.top_tenth = low.top_tenth


class _Sources(NamedTuple):
    """The documents that entail a claim, with a position of each, and those that may as well."""

    sure: dict[str, int]
    perhaps: set[str]


def _sources(claim: ClaimOutcome, names: Sequence[str]) -> _Sources:
    entailing = {*claim.relevant_chunks, *claim.irrelevant_chunks, *claim.unlabeled_chunks}
    sure = {names[j]: j for j in sorted(entailing, reverse=True)}
    perhaps = {names[j] for j in claim.undetermined_chunks}
    return _Sources(sure, perhaps - sure.keys())


class _Guilt(NamedTuple):
    """Did a document mislead in a sample, for certain or perhaps?"""

    misled: bool
    may_have: bool


def _add(documents: dict[str, Offender], sample: str, score: Score) -> dict[str, _Guilt]:
    """Count a sample for each document that was retrieved, and tell what each did in it."""
    names = _retrieved(documents, score)
    guilty = set[str]()
    suspect = set[str]()
    for claim in score.claims:
        if claim.correct:
            continue
        sure, perhaps = _sources(claim, names)
        if claim.correct is False:
            only = len(sure) == 1
            alone = None if only and perhaps else only
            for name, j in sure.items():
                relevant = score.chunk_relevance[j]
                offence = Offence(sample, claim.text, claim.index, relevant, alone)
                documents[name].offences.append(offence)
            guilty |= sure.keys()
        else:
            perhaps |= sure.keys()
        for name in perhaps:
            documents[name].undetermined += 1
        suspect |= perhaps
    guilt: dict[str, _Guilt] = {}
    for name in dict.fromkeys(names):
        misled = name in guilty
        may_have = misled or name in suspect
        documents[name].samples += misled
        documents[name].open_samples += may_have and not misled
        guilt[name] = _Guilt(misled, may_have)
    return guilt


def _retrieved(documents: dict[str, Offender], score: Score) -> list[str]:
    """The documents' names by position. Each document is counted as retrieved."""
    chunks = score.verdicts.chunks or ()
    names = [chunk.id or chunk.text for chunk in chunks]
    names = names or [""] * score.verdicts.chunk_count
    for name in dict.fromkeys(names):
        text = chunks[names.index(name)].text if chunks else ""
        document = documents.setdefault(name, Offender(name, text))
        document.retrieved += 1
    return names
