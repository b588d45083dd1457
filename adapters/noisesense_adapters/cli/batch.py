"""``noisesense batch``: judging through a provider's batch files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.output import say, show_json, tell
from noisesense_adapters.cli.progress import RunProgress

if TYPE_CHECKING:
    from noisesense_adapters.batch import Round

_OWN = {"dataset", "model", "out", "max_requests", "max_megabytes", "force", "as_json"}
"""The parameters that ``score`` lacks, or that mean something else there."""

_STORE = option("The store of judged calls.", "FILE", required=True)


class Export(Command):
    """Write the next round's requests.

    In OpenAI's batch form, which vLLM's run-batch and LiteLLM's proxy take as well. Answers that
    the store has are not asked for; what failed, expired or was unusable is asked again. A lazy
    plan asks the fewest requests, in three rounds; a full one for every verdict, in two.

    Exit status: 0 done (nothing is left to ask if no file was written); 2 an error; 3 done, but
    some samples cannot be judged (they are named on stderr); 130 interrupted, and nothing written.
    """

    dataset: Path = argument("The dataset, as `noisesense score` takes it.", "INPUT")
    source: options.Input
    store: Path = _STORE
    model: str = option("The model that judges, e.g. gpt-4.1-mini.", "MODEL", required=True)
    out: Path = option(
        "The .jsonl file for the requests; of too many, the next are FILE-2, FILE-3, …",
        "FILE",
        required=True,
    )
    base_url: str | None = options.BASE_URL
    temperature: float | None = options.TEMPERATURE
    plan: str = options.PLAN
    text_chars: int | None = options.TEXT_CHARS
    votes: int | None = options.VOTES
    max_requests: int = option("At most so many requests in a file.", "N", default=50_000)
    max_megabytes: int = option("A file's size at most.", "MB", default=200)
    force: bool = option(
        "Export even if requests about other samples, or of another judge, are open."
    )
    as_json: bool = options.JSON

    def run(self) -> int:
        # They load SQLite and pydantic.
        from noisesense.judging.prompts import Budget
        from noisesense_adapters.batch import export_batch

        budget = None if self.text_chars is None else Budget.of(self.text_chars)
        with RunProgress(self.dataset) as progress:
            export = export_batch(
                self.dataset,
                store=self.store,
                model=self.model,
                out=self.out,
                base_url=self.base_url,
                temperature=self.temperature,
                **self.source.reading(),
                most_requests=self.max_requests,
                most_bytes=self.max_megabytes * 1_000_000,
                force=self.force,
                on_done=lambda: progress.add(None),
                on_error=progress.fail,
                plan=self.plan,
                votes=self.votes or 1,
                budget=budget,
            )
        if self.as_json:
            show_json(export.to_dict())
        else:
            self._show(export)
        return options.SOME_FAILED if export.failed else 0

    def _show(self, export: Round) -> None:
        remaining = export.samples - export.judged - export.failed
        say(
            f"{self.dataset.name}: {counted(export.samples, 'sample')}, {export.judged:,} judged, "
            f"{remaining:,} to go, {export.failed:,} failed"
        )
        if export.requests:
            files = ", ".join(export.files)
            repeats = ""
            if export.asked_before:
                repeats = f", {export.asked_before:,} of them asked before"
            say(f"wrote {counted(export.requests, 'request')} to {files}{repeats}")
        else:
            model = self.model.removeprefix("openai:")
            command = ["score", str(self.dataset), "--judge", f"openai:{model}"]
            command += _options_of_score()
            say(f"nothing left to ask: noisesense {shlex.join(command)}")


def _options_of_score() -> Iterator[str]:
    """The user's options of the export that ``score`` needs to have the same judge."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params[name]
        if name in _OWN or value in (None, parameter.default):
            continue
        values = value if parameter.multiple else (value,)
        for part in values:
            yield parameter.opts[0]
            yield str(part)


class Import(Command):
    """Take the answers to exported requests into the store.

    Requests that failed or expired stay open: the next export asks them again. Importing a file
    again, or after an interrupt, takes what is new.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read or answer requests
    that this store did not make.
    """

    answers: tuple[Path, ...] = argument("The batch's output and error files.", "ANSWERS...")
    store: Path = _STORE
    as_json: bool = options.JSON

    def run(self) -> int:
        from noisesense_adapters.batch import import_answers

        reading = options.Reading()
        imported = import_answers(*self.answers, store=self.store, on_error=reading.tell)
        if self.as_json:
            show_json(imported.to_dict())
        else:
            say(f"{counted(imported.taken, 'answer')} taken")
            if imported.known:
                say(f"{counted(imported.known, 'answer')} known before")
            for reason, count in imported.open.items():
                say(f"{counted(count, 'request')} without an answer: {reason}")
            if imported.left:
                say(f"{counted(imported.left, 'request')} still open; the next export asks again")
        if imported.foreign:
            tell(f"{counted(imported.foreign, 'answer')} to requests that this store did not make")
        return options.SOME_FAILED if imported.foreign else reading.status
