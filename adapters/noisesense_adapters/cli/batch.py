"""``noisesense batch``: judging through a provider's batch files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisesense.errors import NoiseSenseError
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.progress import RunProgress
from noisesense_adapters.cli.score import columns_of

app = typer.Typer(
    help="Judge through batch files, for half the price.\n\n"
    "Export, let the provider answer, import; until nothing is left to ask.",
    no_args_is_help=True,
)

StoreOption = Annotated[
    Path, typer.Option(metavar="FILE", help="The store of judged calls.", show_default=False)
]
_SHOWN = 20


@app.command()
def export(
    dataset: Annotated[
        Path, typer.Argument(metavar="INPUT", help="The dataset, as `noisesense score` takes it.")
    ],
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
    mapping: options.MapOption = None,
    split_contexts: options.SplitOption = None,
    base_url: Annotated[
        str | None, typer.Option(help="The endpoint, if not OpenAI's own.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="The model's temperature.  [default: its own]")
    ] = None,
    plan: Annotated[
        str,
        typer.Option(
            metavar="lazy|full",
            help="lazy: the fewest requests, in three rounds; full: every verdict, in two.",
        ),
    ] = "lazy",
    votes: Annotated[int, typer.Option(min=1, help="Ask for each verdict this many times.")] = 1,
    chunks_per_call: Annotated[
        int, typer.Option(min=1, help="How many chunks one request may ask about.")
    ] = 1,
    max_requests: Annotated[
        int, typer.Option(min=1, metavar="N", help="At most so many requests in a file.")
    ] = 50_000,
    max_megabytes: Annotated[
        float, typer.Option(min=0.001, metavar="MB", help="A file's size at most.")
    ] = 200,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Although requests about other samples, or of another judge, are open."
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
    from noisesense_adapters.batch import export_batch  # here, since SQLite takes its time

    progress = RunProgress(dataset)

    def failed(error: NoiseSenseError) -> None:
        progress.failed += 1
        if progress.failed <= _SHOWN:
            progress.say(f"failed: {error}")

    with progress:
        made = export_batch(
            dataset,
            store=store,
            model=model,
            out=out,
            base_url=base_url,
            temperature=temperature,
            columns=columns_of(mapping or []),
            split_contexts=split_contexts,
            most_requests=max_requests,
            most_bytes=int(max_megabytes * 1_000_000),
            force=force,
            on_done=lambda: progress.add(None),
            on_error=failed,
            plan=plan,
            votes=votes,
            chunks_per_call=chunks_per_call,
        )
    if as_json:
        output.show_json(made.to_dict())
    else:
        left = made.samples - made.judged - made.failed
        parts = [f"{made.judged:,} judged", f"{left:,} to go", f"{made.failed:,} failed"]
        head = f"{dataset.name}: {counted(made.samples, 'sample')}, {', '.join(parts)}"
        output.say(head, *(f"wrote {path}" for path in made.files))
        if made.requests:
            before = f", {made.asked_before:,} of them asked before" if made.asked_before else ""
            output.say(f"{counted(made.requests, 'request')}{before}")
        else:
            output.say(f"nothing left to ask: noisesense score {dataset} --store {store}")
    raise typer.Exit(options.SOME_FAILED if made.failed else 0)


@app.command(name="import")
def take(
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

    told = 0

    def broken(error: NoiseSenseError) -> None:
        nonlocal told
        told += 1
        if told <= _SHOWN:
            output.tell(output.one_line(f"cannot be read: {error}"))

    made = import_answers(*answers, store=store, on_error=broken)
    if as_json:
        output.show_json(made.to_dict())
    else:
        unusable = f", {made.unusable:,} of them unusable" if made.unusable else ""
        output.say(f"{counted(made.taken, 'answer')} taken{unusable}")
        if made.known:
            output.say(f"{counted(made.known, 'answer')} known before")
        for reason, times in made.open.items():
            output.say(f"{counted(times, 'request')} without an answer: {reason}")
        if made.left:
            output.say(f"{counted(made.left, 'request')} still open; the next export asks again")
    if made.foreign:
        output.tell(f"{made.foreign:,} answers to requests that this store did not make")
    raise typer.Exit(options.SOME_FAILED if made.foreign or made.broken else 0)
