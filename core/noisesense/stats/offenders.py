"""Which retrieved documents mislead: ranked by how often each does when it is retrieved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import fmean
from typing import NamedTuple

from noisesense.scoring.outcomes import Range, Record
from noisesense.scoring.results import Result, check_scored_alike, results_in
from noisesense.scoring.scoring import Score
from noisesense.stats.clusters import cluster_of
from noisesense.stats.interval import Interval
from noisesense.stats.shrinkage import Hits, shrunken
from noisesense.verdicts.form import ChunkForm, LightChunk


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


@dataclass(frozen=True)
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
        rate: how often it misleads when it is retrieved, estimated: ``samples / retrieved``, of
            each cluster on average, drawn towards the rates of all documents, the more the fewer
            the clusters are. A range where verdicts are open.
        interval: of the rate, 95%, over the range; see `noisesense.stats.shrinkage`. Its units are
            the clusters that it was retrieved in.
    """

    _derived = ("claims",)

    document: str
    text: str
    retrieved: int
    samples: int
    undetermined: int
    offences: tuple[Offence, ...]
    rate: Range
    interval: Interval

    @property
    def claims(self) -> int:
        """How many incorrect claims it entails for certain."""
        return len(self.offences)


@dataclass(frozen=True)
class Offenders(Record):
    """The documents that mislead.

    Attributes:
        documents: those that entail incorrect claims, or may; the surest first.
    """

    documents: tuple[Offender, ...]


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
        MissingExtraError: SciPy is not installed.
    """
    documents: dict[str, _Seen] = {}
    first_scored: Result | None = None
    for place, result in enumerate(results_in(results)):
        scored = result.score
        if scored is None:
            continue
        first_scored = first_scored or result
        check_scored_alike((first_scored, result), "results")
        cluster = cluster_of(result)
        _count(documents, result.id, place if cluster is None else cluster, scored)
    # A rate is once of the fewest hits and once of the most.
    fewest = {name: _hits(seen, 0) for name, seen in documents.items()}
    most = {name: _hits(seen, 1) for name, seen in documents.items()}
    least = shrunken(Counter(fewest.values()))
    greatest = shrunken(Counter(most.values()))
    ranked: list[Offender] = []
    for name, seen in documents.items():
        if not seen.offences and not seen.undetermined:
            continue
        lowest = least[fewest[name]]
        highest = greatest[most[name]]
        samples = [ends for unit in seen.misled.values() for ends in unit]
        offender = Offender(
            document=name,
            text=seen.text,
            retrieved=len(samples),
            samples=samples.count(_SURELY),
            undetermined=seen.undetermined,
            offences=tuple(seen.offences),
            rate=Range(lowest.mean, max(lowest.mean, highest.mean)),
            interval=Interval(lowest.low, highest.high, 0.95, len(seen.misled)),
        )
        ranked.append(offender)
    ranked.sort(key=_order)
    return Offenders(documents=tuple(ranked))


def _order(each: Offender) -> tuple[object, ...]:
    # Rounded: the same counts are one.
    low = round(each.interval.low, 12)
    return not each.claims, -low, -each.claims, -each.undetermined, each.document


@dataclass
class _Seen:
    """What is known of a document so far. By cluster: of each sample, whether it misled there."""

    text: str
    undetermined: int = 0
    offences: list[Offence] = field(default_factory=list[Offence])
    misled: dict[Hashable, list[Range]] = field(default_factory=dict[Hashable, list[Range]])


_NOT = Range(0.0, 0.0)
_SURELY = Range(1.0, 1.0)


def _count(documents: dict[str, _Seen], sample: str, unit: Hashable, score: Score) -> None:
    """Enter a sample into ``documents``, for each document that was retrieved."""
    verdicts = score.verdicts
    chunks: Sequence[ChunkForm] = verdicts.chunks or [LightChunk("")] * verdicts.chunk_count
    names = [document_of(chunk) for chunk in chunks]
    for name, chunk in zip(names, chunks, strict=True):
        documents.setdefault(name, _Seen(chunk.text))
    misled = dict.fromkeys(names, _NOT)
    for position, claim in enumerate(verdicts.response_claims):
        if claim.correct:
            continue
        sure = {names[j]: j for j in reversed(claim.entailed_by)}
        perhaps = {names[j] for j in claim.undetermined} - sure.keys()
        if claim.correct is None:
            perhaps |= sure.keys()
            sure = {}
        for name, j in sure.items():
            relevant = score.chunk_relevance[j]
            documents[name].offences.append(Offence(sample, claim.text, position, relevant))
            misled[name] = _SURELY
        for name in perhaps:
            documents[name].undetermined += 1
            misled[name] = misled[name]._replace(high=1.0)
    for name, ends in misled.items():
        documents[name].misled.setdefault(unit, []).append(ends)


def document_of(chunk: ChunkForm) -> str:
    """Return the chunk's id, or its text if it has none; empty if it has neither."""
    return chunk.id or chunk.text


def _hits(seen: _Seen, end: int) -> Hits:
    """Return in how many clusters it misled, of each the share of its samples.

    ``end`` is 0 for the fewest samples, 1 for the most that open verdicts allow.
    """
    shares = [fmean(ends[end] for ends in unit) for unit in seen.misled.values()]
    return Hits(round(fsum(shares), 9), len(shares))
