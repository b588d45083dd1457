"""``noisesense offenders``: what it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from noisesense import ClaimOutcome, Offender, Result, offenders
from noisesense.stats.offenders import GroupBy
from noisesense.stats.summary import counted
from noisesense_adapters.cli.options import Reading
from noisesense_adapters.cli.output import Column, console, show_lines, show_table
from noisesense_adapters.cli.summary import short

__all__ = ["run_offenders"]

_WIDTH = 60


def run_offenders(path: Path, by: str, top: int, examples: int, *, as_json: bool) -> int:
    """Rank and show. Returns the exit status."""
    reading, left_open = Reading(), 0

    def counted_open() -> Iterator[Result]:
        nonlocal left_open
        for result in reading.results(path):
            if result.score is not None:
                left_open += sum(map(_is_open, result.score.claims))
            yield result

    found = offenders(counted_open(), group_by=cast("GroupBy", by), top=top, examples=examples)
    if as_json:
        print(json.dumps([each.to_dict() for each in found], indent=2))
    elif found:
        _show(console(), found)
        if left_open:
            line = (
                f"of {counted(left_open, 'claim')} the judge left open whether it is incorrect or "
                "which documents entail it; under each of these documents it is undetermined"
            )
            show_lines(console(), ["", line])
    else:
        show_lines(console(), ["no retrieved document entails an incorrect claim"])
    return reading.status


def _show(out: Console, found: tuple[Offender, ...]) -> None:
    titles = (
        *("claims", "undetermined", "alone", "relevant", "irrelevant", "samples", "retrieved"),
    )
    columns = [*(Column(title, numeric=True) for title in titles), Column("document")]
    rows = [
        [*(Text(f"{getattr(each, title):,}") for title in titles), Text(_named(each))]
        for each in found
    ]
    show_table(out, columns, rows)
    for each in found:
        if each.offences:
            show_lines(out, ["", f"{_named(each)}:"])
            show_lines(
                out,
                [
                    f'  "{_line(offence.claim)}" ({short(offence.sample)})'
                    for offence in each.offences
                ],
            )


def _is_open(claim: ClaimOutcome) -> bool:
    """Do open verdicts decide whether a document misled to it?"""
    if claim.correct is None:
        entailing = claim.relevant_chunks or claim.irrelevant_chunks or claim.unlabelled_chunks
        return bool(entailing or claim.undetermined_chunks)
    return not claim.correct and bool(claim.undetermined_chunks)


def _named(each: Offender) -> str:
    text = _line(each.document) or "(no id and no text)"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _line(text: str) -> str:
    return " ".join(text.split())
