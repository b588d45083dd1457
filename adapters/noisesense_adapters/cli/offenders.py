"""``noisesense offenders``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import click

from noisesense import Offender, offenders
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.gate import UNMEASURED, explain
from noisesense_adapters.cli.output import Heads, one_line
from noisesense_adapters.evaluate.tables import offender_legend, offender_table
from noisesense_adapters.evaluate.wording import document_name, headline


@click.command("offenders")
@options.results
@click.option(
    "--top",
    type=options.COUNT,
    default=10,
    metavar="N",
    help="How many documents to show, at least 1.",
)
@options.as_json
def command(results: Path, top: int, as_json: bool) -> int:
    """Rank the documents that mislead.

    By how often each misleads for certain when it is retrieved: the low end of the interval.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 5 nothing was
    measured.
    """
    reading = options.Reading()
    ranking = offenders(reading.tallied(results))
    documents = ranking.documents[: max(top, 1)]
    if as_json:
        output.show_json({"documents": [document.to_dict() for document in documents]})
    summary = reading.tally.summary()
    if not summary.scored:
        return explain(UNMEASURED, summary.warnings[0])
    if as_json:
        return reading.status
    output.say(f"{headline(summary).message}.", "")
    if not documents:
        output.say("No document misled.")
        return reading.status
    _show_documents(documents, reading.heads)
    next_command = f"noisesense ablation plan {quote(str(results))} --out todo.jsonl"
    output.section("Next, do they cause these claims?", [f"  {next_command}"])
    return reading.status


_UNNAMED = (
    "note: no chunk names its document, so each text counts as one: give chunks an id, or score"
    " with --map retrieved_context_ids=COLUMN"
)
_SHOWN_CLAIMS = 3


def _show_documents(documents: Sequence[Offender], heads: Heads) -> None:
    """Print the ranking, and each document's claims."""
    table = offender_table(documents)
    output.show_table(table)
    output.say(offender_legend(table))
    if all(document.document == document.text for document in documents):
        output.tell(_UNNAMED)
    for document in documents:
        _show_claims(document, heads)


def _show_claims(document: Offender, heads: Heads) -> None:
    """Print the first claims that came from a document, and how many more there are."""
    lines: list[str] = []
    for offence in document.offences[:_SHOWN_CLAIMS]:
        lines.append(f'  "{one_line(offence.claim)}" ({heads[offence.sample]})')
    more = len(document.offences) - len(lines)
    if more:
        lines.append(f"  and {more:,} more: --json lists all")
    output.section(f"{document_name(document.document)}:", lines)
