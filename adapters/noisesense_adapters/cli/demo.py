"""``noisesense demo``: a stale document, from the first number to the mended gate."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from noisesense import Result, offenders, summarize, write_results
from noisesense.stats.gate import gate_run
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.output import say, show_table
from noisesense_adapters.datasets.score import check_output
from noisesense_adapters.demo.catch import run_catch
from noisesense_adapters.evaluate.tables import mean_table
from noisesense_adapters.evaluate.wording import cause_sentence, headline

_LIMIT = 0.1
"""The limit of the gate for each mean."""


@click.command("demo")
@click.argument("folder", type=options.FILE, default="demo")
@options.force
def command(folder: Path, force: bool) -> int:
    """Catch a stale document in a small RAG system.

    A library's assistant also has a handbook of 2019, which nobody removed. Its noise is counted,
    the document is named, the assistant answers again without it, and the mended one passes the
    gate. Writes the results, and a report where the extra `report` is installed, to FOLDER, over
    those of an earlier run. Needs no key and no network.

    Exit status: 0 done; 2 an error.
    """
    stale = folder / "stale.jsonl"
    mended = folder / "mended.jsonl"
    report = folder / "report.html"
    is_drawn = find_spec("jinja2") is not None
    folder.mkdir(parents=True, exist_ok=True)
    if not force:
        check_output(stale, mended)
        check_output(mended, stale)
        if is_drawn:
            options.check_report(report)
    catch = run_catch()
    write_results(stale, catch.stale)
    write_results(mended, catch.mended)
    worst = offenders(catch.stale).documents[0]
    say("1. Count")
    _show_run(catch.stale)
    say("", f"2. Name: {counted(worst.claims, 'claim')} from {worst.document}, such as")
    say(f'"{worst.offences[0].claim}"')
    say("", "3. Cause: the assistant answers again without that document")
    say(str(cause_sentence(catch.ablation)))
    say("", "4. Mend: that document is gone, and all questions are answered anew")
    _show_run(catch.mended)
    say("", f"wrote {stale} and {mended}; a gate before and after, with status 1 and 0:")
    for path in (stale, mended):
        say(f"   noisesense score {path} --fail-above {_LIMIT}")
    if is_drawn:
        title = "a library's assistant"
        options.write_report(report, catch.stale, title, ablation=catch.ablation)
    return 0


def _show_run(results: list[Result]) -> None:
    summary = summarize(results)
    say(f"{headline(summary).message}.")
    outcomes = [gate_run(summary, _LIMIT, mode=figures.mode).outcome for figures in summary.modes]
    table = mean_table(summary)
    table.rows.append((f"at most {_LIMIT}", *outcomes))
    show_table(table)
