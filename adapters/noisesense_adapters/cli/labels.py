"""``noisesense trust export-labels`` and ``import-labels``: sheets for people's labels."""

from __future__ import annotations

from pathlib import Path

from noisesense.errors import InputError
from noisesense.stats.summary import counted
from noisesense_adapters.cli import options
from noisesense_adapters.cli.commands import Command, argument, option
from noisesense_adapters.cli.output import say, tell
from noisesense_adapters.datasets.sheets import LABEL, write_labels


class ExportLabels(Command):
    """Write a sheet for people's labels of a judge's claims.

    Each row asks whether a source (the reference or a chunk) says what a statement (a claim)
    says. Write yes or no in the last column, in as many rows as you like, and give the sheet to
    "noisesense trust --for RESULTS --on SHEET".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    sheet: Path = argument("A new file: .csv or .tsv.")
    samples: int | None = option(
        "Draw N samples, in proportion from those with noise, without, and undetermined ones; by "
        "default all.",
        "N",
    )
    seed: int = option("The seed of the draw.", default=0)
    show_verdicts: bool = option("Add what the judge said, with which people tend to agree.")
    force: bool = options.FORCE

    def run(self) -> int:
        options.check_new(self.sheet, force=self.force)
        reading = options.Reading()
        written = write_labels(
            reading.results(self.results),
            self.sheet,
            samples=self.samples,
            seed=self.seed,
            show_verdicts=self.show_verdicts,
        )
        if written.left_out:
            tell(f"note: {counted(written.left_out, 'sample')} left out: without texts or claims")
        rows, chosen = counted(written.rows, "question"), counted(written.samples, "sample")
        say(
            f"wrote {rows} on {chosen} to {self.sheet}",
            f"write yes or no into the column {LABEL!r}; what is left empty stays undetermined",
        )
        return reading.status


class ImportLabels(Command):
    """Turn a download of labels into a file for trust.

    WiCE is yours to download, under its license.
    """

    source: str = argument("Whose labels they are.", "wice")
    download: Path = argument("A file such as claim/dev.jsonl.")
    out: Path = argument("The file to write.")
    sentences: int = option("Of the evidence, in a chunk.", default=8)
    sha256: str | None = option("The checksum that the download must have.", "HEX")
    force: bool = options.FORCE

    def run(self) -> int:
        from noisesense_adapters.datasets.labels import import_labels  # it loads SQLite

        if self.source != "wice":
            hint = "turn other labels into results or a recording, or use export-labels"
            raise InputError("wice", repr(self.source), where="import-labels", hint=hint)
        options.check_new(self.out, force=self.force)
        imported = import_labels(
            self.download, self.out, sentences=self.sentences, sha256=self.sha256
        )
        say(
            f"wrote {counted(imported.samples, 'sample')} to {self.out}: {imported.yes:,} yes, "
            f"{imported.no:,} no, {imported.undecided:,} undecided",
            f"SHA-256 of the download: {imported.sha256}",
        )
        return 0
