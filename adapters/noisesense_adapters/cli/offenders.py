"""``noisesense offenders``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from noisesense import Offender, Range, offenders
from noisesense.errors import InputError
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.gate import UNMEASURED, explain
from noisesense_adapters.cli.output import Heads, one_line
from noisesense_adapters.evaluate.tables import cause_table, offender_legend, offender_table
from noisesense_adapters.evaluate.wording import document_name, headline

if TYPE_CHECKING:
    from noisesense.ablation import Cause


@click.command("offenders")
@options.results
@click.option(
    "--top", type=options.COUNT, default=10, metavar="N", help="How many documents to show."
)
@click.option(
    "--ablation", type=options.FILE, help='What "ablation report --json" printed of them.'
)
@options.as_json
def command(results: Path, top: int, ablation: Path | None, as_json: bool) -> int:
    """Rank the documents that mislead.

    By how often each misleads for certain when it is retrieved: the low end of the interval. With
    --ablation, first the wrong claims that vanish without each document, beside those that vanish
    without others.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 5 nothing was
    measured.
    """
    if as_json and ablation is not None:
        raise InputError("--json or --ablation", "both", where="offenders")
    reading = options.Reading()
    causes = _read_causes(ablation)[: max(top, 1)]
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
    if causes:
        output.show_table(cause_table(causes))
        output.say("")
    if not documents:
        output.say("No document misled.")
        return reading.status
    _show_documents(documents, reading.heads)
    if not causes:
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
    if lines and more:
        lines.append(f"  and {more:,} more")
    output.section(f"{document_name(document.document)}:", lines)


def _read_causes(path: Path | None) -> tuple[Cause, ...]:
    """Read the causes in a report of an ablation, if there is one. Raise `InputError`."""
    if path is None:
        return ()
    from noisesense.ablation import Cause

    causes: list[Cause] = []
    try:
        for data in json.loads(path.read_text(encoding="utf-8"))["causes"]:
            others = data["gone_without_others"]
            shares: dict[str, Any] = {
                "gone": _range(data["gone"]),
                "gone_without_others": None if others is None else _range(others),
            }
            causes.append(Cause(**{**data, **shares}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = 'write it with "noisesense ablation report … --json > FILE"'
        got = f"{type(error).__name__}: {error}"
        raise InputError("an ablation as JSON", got, where=str(path), hint=hint) from error
    return tuple(causes)


def _range(ends: dict[str, float]) -> Range:
    return Range(float(ends["low"]), float(ends["high"]))
