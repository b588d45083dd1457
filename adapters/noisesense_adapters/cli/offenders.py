"""``noisesense offenders``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import click

from noisesense import ClaimOutcome, Offender, Result, offenders
from noisesense.stats.offenders import GroupBy, culprit
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, option
from noisesense_adapters.cli.output import Heads, cut, one_line, say, show_json, show_table, span

_WIDTH, _NARROW = 60, 30


class Offenders(Command):
    """Rank the documents that mislead.

    By how many claims come from each that the reference does not support. "only" counts those
    that no other retrieved chunk entails; "rate" is how often a document misleads when it is
    retrieved, with its interval.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    by: str = option("What makes two chunks one document.", "id|text", default="id")
    top: int = option("How many documents to show.", type=click.IntRange(min=1), default=10)
    examples: int = option(
        "How many claims of each to show.", type=click.IntRange(min=0), default=3
    )
    as_json: bool = options.JSON

    def run(self) -> int:
        reading, seen = options.Reading(), _Seen()
        ranking = offenders(
            seen.counted(reading.results(self.results)),
            group_by=cast("GroupBy", self.by),
            top=self.top + 1,  # whether two share the first place
            examples=self.examples,
        )
        if self.as_json:
            show_json([offender.to_dict() for offender in ranking[: self.top]])
        elif ranking:
            _show(culprit(ranking), ranking[: self.top], seen)
        elif seen.scored:
            say("no claim comes from a retrieved chunk and not from the reference")
        else:
            say(f"no sample has a score{f'; {seen.failure}' if seen.failure else ''}")
        return reading.status


class _Seen:
    """What is counted of the results while they are ranked."""

    def __init__(self) -> None:
        self.heads = Heads()
        self.scored = self.wrong = self.open = 0
        self.failure = ""

    def counted(self, results: Iterator[Result]) -> Iterator[Result]:
        for result in results:
            if result.score is not None:
                self.scored += 1
                self.open += sum(map(_is_open, result.score.claims))
                self.wrong += result.score.from_chunks.noisy
                if result.score.partition.correct < result.score.partition.total:
                    self.heads.note(result)
            self.failure = self.failure or result.error or ""
            yield result


def _is_open(claim: ClaimOutcome) -> bool:
    """Do open verdicts decide whether a document misled to it?"""
    if claim.correct is None:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        return bool(entailing or claim.undetermined_chunks)
    return not claim.correct and bool(claim.undetermined_chunks)


def _show(first: Offender | None, ranking: tuple[Offender, ...], seen: _Seen) -> None:
    wrong = f"{counted(seen.wrong, 'claim')} from a retrieved chunk and not from the reference"
    if first is not None:
        say(f"look first at {_name(first)}: {first.claims:,} of {wrong}", "")
    elif most := ranking[0].claims:
        say(f"no document stands out: each of several has {most:,} of {wrong}", "")
    show_table(
        [">claims", ">open", ">only", ">samples", ">rate", "interval", "document"],
        [
            [
                *(f"{count:,}" for count in (each.claims, each.undetermined, each.alone)),
                f"{each.samples:,} of {each.retrieved:,}",
                f"{each.rate:.0%}",
                span(each.interval, ".0%"),
                _name(each, _NARROW),
            ]
            for each in ranking
        ],
    )
    for each in ranking:
        if each.offences:
            say("", f"{_name(each).rstrip('.')}:")
            for offence in each.offences:
                say(f'  "{one_line(offence.claim)}" ({seen.heads[offence.sample]})')
    if seen.open:
        say(
            "",
            f"for {counted(seen.open, 'claim')} the judge left open whether the reference "
            'supports it or which documents entail it; "open" counts it for each of those',
        )


def _name(offender: Offender, width: int = _WIDTH) -> str:
    return cut(offender.document, width) or "(no id and no text)"
