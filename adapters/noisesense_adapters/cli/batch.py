"""``noisesense batch``: judging through a provider's batch files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.progress import RunProgress

app = typer.Typer(
    help="Judge through batch files, for half the price.\n\n"
    "Export, let the provider answer, import; until nothing is left to ask.",
    no_args_is_help=True,
)

StoreOption = Annotated[
    Path, typer.Option(metavar="FILE", help="The store of judged calls.", show_default=False)
]


@app.command()
@options.grouped
def export(
    dataset: Annotated[
        Path, typer.Argument(metavar="INPUT", help="The dataset, as `noisesense score` takes it.")
    ],
    source: options.Input,
    store: StoreOption,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="The model that judges, e.g. gpt-4.1-mini.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="The .jsonl file for the requests. If they are too many for one file, the next "
            "are FILE-2, FILE-3, …",
        ),
    ],
    base_url: options.BaseUrlOption = None,
    temperature: options.TemperatureOption = None,
    plan: Annotated[
        str,
        typer.Option(
            metavar="lazy|full",
            help="lazy: the fewest requests, in three rounds; full: every verdict, in two.",
        ),
    ] = "lazy",
    votes: options.VotesOption = 1,
    max_requests: Annotated[
        int, typer.Option(min=1, metavar="N", help="At most so many requests in a file.")
    ] = 50_000,
    max_megabytes: Annotated[
        float, typer.Option(min=0.001, metavar="MB", help="A file's size at most.")
    ] = 200,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Export even if requests about other samples, or by another judge, are open.",
        ),
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Write the next round's requests.

    In OpenAI's batch form, which vLLM's run-batch and LiteLLM's proxy take as well. Answers that
    the store has are not asked for; what failed, expired or was unusable is asked again.

    Exit status: 0 done (nothing is left to ask if no file was written); 2 an error; 3 done, but
    some samples cannot be judged (they are named on stderr); 130 interrupted, and nothing written.
    """
    from noisesense_adapters.batch import export_batch  # here, since it loads SQLite

    progress = RunProgress(dataset)
    with progress:
        written = export_batch(
            dataset,
            store=store,
            model=model,
            out=out,
            base_url=base_url,
            temperature=temperature,
            **source.reading(),
            most_requests=max_requests,
            most_bytes=int(max_megabytes * 1_000_000),
            force=force,
            on_done=lambda: progress.add(None),
            on_error=progress.fail,
            plan=plan,
            votes=votes,
        )
    if as_json:
        output.show_json(written.to_dict())
    else:
        left = written.samples - written.judged - written.failed
        parts = [f"{written.judged:,} judged", f"{left:,} to go", f"{written.failed:,} failed"]
        head = f"{dataset.name}: {counted(written.samples, 'sample')}, {', '.join(parts)}"
        output.say(head, *(f"wrote {path}" for path in written.files))
        if written.requests:
            before = (
                f", {written.asked_before:,} of them asked before" if written.asked_before else ""
            )
            output.say(f"{counted(written.requests, 'request')}{before}")
        else:
            then = f"noisesense score {dataset} --judge openai:{model} --store {store}"
            output.say(f"nothing left to ask: {then}")
    raise typer.Exit(options.SOME_FAILED if written.failed else 0)


@app.command(name="import")
def import_(
    answers: Annotated[
        list[Path],
        typer.Argument(metavar="ANSWERS…", help="The batch's output files, and its error files."),
    ],
    store: StoreOption,
    as_json: options.JsonOption = False,
) -> None:
    """Take the answers to exported requests into the store.

    Requests that failed or expired stay open: the next export asks them again. Importing a file
    again, or after an interrupt, takes what is new.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read or answer requests
    that this store did not make.
    """
    from noisesense_adapters.batch import import_answers

    imported = import_answers(*answers, store=store, on_error=options.Reading().tell)
    if as_json:
        output.show_json(imported.to_dict())
    else:
        unusable = f", {imported.unusable:,} of them unusable" if imported.unusable else ""
        output.say(f"{counted(imported.taken, 'answer')} taken{unusable}")
        if imported.known:
            output.say(f"{counted(imported.known, 'answer')} known before")
        for reason, times in imported.open.items():
            output.say(f"{counted(times, 'request')} without an answer: {reason}")
        if imported.left:
            output.say(
                f"{counted(imported.left, 'request')} still open; the next export asks again"
            )
    if imported.foreign:
        output.tell(f"{imported.foreign:,} answers to requests that this store did not make")
    raise typer.Exit(options.SOME_FAILED if imported.foreign or imported.broken else 0)
