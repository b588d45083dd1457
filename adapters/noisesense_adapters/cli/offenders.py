"""``noisesense offenders``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, cast

import typer
from rich.console import Console

from noisesense import ClaimOutcome, Offender, Result
from noisesense import offenders as rank_offenders
from noisesense.stats.offenders import GroupBy, culprit
from noisesense.stats.summary import counted
from noisesense_adapters.cli import output
from noisesense_adapters.cli.options import JsonOption, Reading, ResultsPath
from noisesense_adapters.cli.output import cut, one_line

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

    By how many claims come from each that the reference does not support. "only" counts those
    that no other retrieved chunk entails; "rate" is how often a document misleads when it is
    retrieved, with its interval.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """
    reading, heads, open_claims, wrong, scored = Reading(), output.Heads(), 0, 0, 0
    failed = ""

    def counting() -> Iterator[Result]:
        nonlocal open_claims, wrong, scored, failed
        for result in reading.results(results):
            if result.score is not None:
                scored += 1
                open_claims += sum(map(_is_open, result.score.claims))
                wrong += result.score.from_chunks.noisy
                if result.score.partition.correct < result.score.partition.total:
                    heads.note(result)
            failed = failed or result.error or ""
            yield result

    ranking = rank_offenders(
        counting(), group_by=cast("GroupBy", by), top=top + 1, examples=examples
    )
    first, ranking = culprit(ranking), ranking[:top]
    if as_json:
        output.show_json([offender.to_dict() for offender in ranking])
    elif ranking:
        _show(output.console(), first, ranking, wrong, heads)
        if open_claims:
            output.show_lines(
                output.console(),
                "",
                f"for {counted(open_claims, 'claim')} the judge left open whether the reference "
                'supports it or which documents entail it; "open" counts it for each of those',
            )
    else:
        found = "no claim comes from a retrieved chunk and not from the reference"
        unscored = f"no sample has a score{f'; {failed}' if failed else ''}"
        output.show_lines(output.console(), found if scored else unscored)
    raise typer.Exit(reading.status)


def _show(
    out: Console,
    first: Offender | None,
    ranking: tuple[Offender, ...],
    wrong: int,
    heads: output.Heads,
) -> None:
    if first is not None:
        all_claims = "Both claims" if wrong == 2 else f"All {wrong:,} claims"
        claims = (
            f"{first.claims:,} of the {wrong:,} claims" if first.claims < wrong else all_claims
        )
        claims = "The one claim" if wrong == 1 else claims
        all_of, one_of = (f"come{'s' if count == 1 else ''}" for count in (wrong, first.claims))
        output.show_lines(
            out,
            f"{claims} that {all_of} from a retrieved chunk and not from the reference {one_of} "
            f"from {_name(first)}",
            "",
        )
    elif most := ranking[0].claims:
        output.show_lines(
            out,
            f"no document stands out: {most:,} of the {counted(wrong, 'claim')} from a retrieved "
            "chunk and not from the reference "
            f"come{'s' if most == 1 else ''} from each of several",
            "",
        )
    columns = [
        *output.numeric("claims", "open", "only", "samples", "rate"),
        output.Column("interval"),
        output.Column("document"),
    ]
    rows = [
        [
            *(f"{count:,}" for count in (each.claims, each.undetermined, each.alone)),
            f"{each.samples:,} of {each.retrieved:,}",
            f"{each.rate:.0%}",
            f"{each.interval.low:.0%} to {each.interval.high:.0%}",
            _name(each, 80 - 50),
        ]
        for each in ranking
    ]
    output.show_table(out, columns, rows)
    for each in ranking:
        if each.offences:
            output.show_lines(out, "", f"{_name(each).rstrip('.')}:")
            for offence in each.offences:
                output.show_lines(out, f'  "{one_line(offence.claim)}" ({heads[offence.sample]})')


def _is_open(claim: ClaimOutcome) -> bool:
    """Do open verdicts decide whether a document misled to it?"""
    if claim.correct is None:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        return bool(entailing or claim.undetermined_chunks)
    return not claim.correct and bool(claim.undetermined_chunks)


def _name(offender: Offender, width: int = _WIDTH) -> str:
    return cut(offender.document, width) or "(no id and no text)"
