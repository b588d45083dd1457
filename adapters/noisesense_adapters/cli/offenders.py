"""``noisesense offenders``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, cast

import typer
from rich.console import Console

from noisesense import ClaimOutcome, Offender, Result
from noisesense import offenders as rank_offenders
from noisesense.stats.offenders import GroupBy
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import JsonOption, Reading, ResultsPath
from noisesense_adapters.cli.output import one_line, short

_WIDTH = 60


def offenders(
    results: ResultsPath,
    by: Annotated[
        str, typer.Option(metavar="id|text", help="What makes two chunks one document.")
    ] = "id",
    top: Annotated[int, typer.Option(min=1, help="How many documents to show.")] = 10,
    examples: Annotated[int, typer.Option(min=0, help="How many claims of each to show.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Rank the documents that mislead.

    By how often they entail an incorrect claim when they are retrieved, with an interval; those
    that were retrieved a few times count for less. "alone" counts the claims that no other
    retrieved chunk entails.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    reading, open_claims = Reading(), 0

    def counting() -> Iterator[Result]:
        nonlocal open_claims
        for result in reading.results(results):
            if result.score is not None:
                open_claims += sum(map(_is_open, result.score.claims))
            yield result

    ranking = rank_offenders(counting(), group_by=cast("GroupBy", by), top=top, examples=examples)
    if as_json:
        output.show_json([offender.to_dict() for offender in ranking])
    elif ranking:
        _show(output.console(), ranking)
        if open_claims:
            line = (
                f"for {counted(open_claims, 'claim')} the judge left open whether it is incorrect "
                "or which documents entail it; it is undetermined under each of those documents"
            )
            output.show_lines(output.console(), "", line)
    else:
        output.show_lines(output.console(), "no retrieved document entails an incorrect claim")
    raise typer.Exit(reading.status)


def _show(out: Console, ranking: tuple[Offender, ...]) -> None:
    counts = ("claims", "undetermined", "alone", "relevant", "irrelevant", "samples", "retrieved")
    rows = [
        [
            *(f"{getattr(offender, count):,}" for count in counts),
            output.figure(offender.rate),
            output.span(offender.interval),
            _name(offender),
        ]
        for offender in ranking
    ]
    columns = [
        *output.numeric(*counts, "rate"),
        output.Column("interval"),
        output.Column("document"),
    ]
    output.show_table(out, columns, rows)
    for offender in ranking:
        if offender.offences:
            output.show_lines(out, "", f"{_name(offender)}:")
            for offence in offender.offences:
                output.show_lines(out, f'  "{one_line(offence.claim)}" ({short(offence.sample)})')


def _is_open(claim: ClaimOutcome) -> bool:
    """Do open verdicts decide whether a document misled to it?"""
    if claim.correct is None:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        return bool(entailing or claim.undetermined_chunks)
    return not claim.correct and bool(claim.undetermined_chunks)


def _name(offender: Offender) -> str:
    text = one_line(offender.document) or "(no id and no text)"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
