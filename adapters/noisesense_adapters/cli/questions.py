"""``noisesense offenders``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from noisesense import Offender, Range, offenders
from noisesense.errors import InputError
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import COUNT, Command, option
from noisesense_adapters.cli.output import Heads, one_line, shown
from noisesense_adapters.evaluate.wording import (
    Caused,
    document_name,
    headline,
    offender_sentences,
    shared_text,
)

_NARROW = 30
_LEGEND = (
    "claims: wrong ones from it; open: the judge left open whether they are; only: from no other "
    "chunk; samples: with such a claim, of those that retrieved it; adj. rate: that share, shrunk "
    "towards those of all documents, the more so the less often it was retrieved"
)
_OF_GONE = "; gone: of the claims said again with the same chunks, not said without theirs"
_OF_SHARED = "; shared: of those, where other documents were taken away, too"


class Offenders(Command):
    """Rank the documents that mislead.

    By the low end of the rate's interval. "adj. rate" is how often a document misleads when it is
    retrieved, shrunk towards those of all documents, the more so the less often it was retrieved.
    "claims" come from it and are not supported by the reference; "open" counts those of which the
    judge left open whether they do, "only" those that no other retrieved chunk entails. With
    --ablation, the documents with which most claims go stand first.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    top: int = option("How many documents to show.", type=COUNT, default=10)
    examples: int = option("How many claims of each to show.", type=COUNT, default=3)
    ablation: Path | None = option('What "ablation report --json" printed of them.', "FILE")
    as_json: bool = options.JSON

    def run(self) -> int:
        reading = options.Reading()
        causes = {} if self.ablation is None else _read_causes(self.ablation)
        ranking = offenders(reading.tallied(self.results))
        documents = _by_cause(ranking.documents, causes)[: max(self.top, 1)]
        sentences = list(offender_sentences(ranking, causes.values()))
        if self.as_json:
            data = {
                "sentences": sentences,
                "true_looking": ranking.true_looking,
                "unmentioned": ranking.unmentioned,
                "documents": [document.to_dict() for document in documents],
            }
            output.show_json(data)
            return reading.status
        summary = reading.tally.summary()
        output.say(f"{headline(summary).message}." if summary.scored else summary.warnings[0])
        if not documents:
            return reading.status
        output.say(*sentences, "")
        _show_table(documents, causes)
        for document in documents:
            self._show_claims(document, reading.heads)
        if not causes and reading.has_texts:
            command = f"noisesense ablation plan {quote(str(self.results))} --out todo.jsonl"
            output.section("Next, do they cause these claims?", [f"  {command}"])
        return reading.status

    def _show_claims(self, document: Offender, heads: Heads) -> None:
        """Print the first claims that come from a document, and how many more there are."""
        lines: list[str] = []
        for offence in document.offences[: self.examples]:
            lines.append(f'  "{one_line(offence.claim)}" ({heads[offence.sample]})')
        more = len(document.offences) - len(lines)
        if lines and more:
            lines.append(f"  {more:,} more: --examples {len(document.offences)}")
        output.section(f"{document_name(document.document)}:", lines)


def _by_cause(documents: Sequence[Offender], causes: Mapping[str, Caused]) -> list[Offender]:
    """The documents with which most claims go by the ablation first; else the order stays."""

    def claims_gone(document: Offender) -> float:
        cause = causes.get(document.document)
        return 0.0 if cause is None else cause.gone.low

    return sorted(documents, key=claims_gone, reverse=True)


def _show_table(documents: Sequence[Offender], causes: Mapping[str, Caused]) -> None:
    titles = [">claims", ">open", ">only", ">samples", ">adj. rate", "interval"]
    legend = _LEGEND
    if causes:
        titles.append(">gone")
        legend += _OF_GONE
    titles.append("…document")
    output.show_table(titles, [_row(document, causes) for document in documents])
    for document in documents:
        cause = causes.get(document.document)
        if cause is not None and shared_text(cause.shared):
            legend += _OF_SHARED
            break
    output.say(f"{legend}.")


def _row(document: Offender, causes: Mapping[str, Caused]) -> list[object]:
    row: list[object] = [
        document.claims,
        document.undetermined,
        document.alone,
        f"{document.samples:,} of {document.retrieved:,}",
        shown(document.rate, ".0%"),
        shown(document.interval, ".0%"),
    ]
    if causes:
        cause = causes.get(document.document)
        row.append("" if cause is None else _gone(cause))
    row.append(document_name(document.document, _NARROW))
    return row


def _gone(cause: Caused) -> str:
    """How many claims went with the document, of those that were said again."""
    amount = f"{shown(cause.gone, '.0f')} of {shown(cause.again, '.0f')}"
    return f"{amount}{shared_text(cause.shared)}"


def _read_causes(path: Path) -> dict[str, Caused]:
    """The causes in a report of an ablation, by document. Raises `InputError`."""
    causes: dict[str, Caused] = {}
    try:
        for cause in json.loads(path.read_text(encoding="utf-8"))["causes"]:
            name: str = cause["document"]
            shared = _range(cause["shared"]) if "shared" in cause else None
            causes[name] = Caused(name, _range(cause["again"]), _range(cause["gone"]), shared)
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = 'write it with "noisesense ablation report … --json > FILE"'
        got = f"{type(error).__name__}: {error}"
        raise InputError("an ablation as JSON", got, where=str(path), hint=hint) from error
    return causes


def _range(ends: dict[str, float]) -> Range:
    return Range(float(ends["low"]), float(ends["high"]))
