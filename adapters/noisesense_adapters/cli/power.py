"""``noisesense power``."""

from __future__ import annotations

from pathlib import Path

from noisesense import power
from noisesense.scoring.outcomes import percent_text
from noisesense.stats.paired import POWER
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import Command, argument, option


class Power(Command):
    """Say how many samples a comparison needs to see a change.

    From how a run's values scatter. With a second run over the same samples, best of the same
    system, from how the two differ. Without it, as if a second version answered each question
    independently of the first: where hard questions are hard for both, fewer samples do. With
    --answers, each question is answered so many times and the mean counts.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 6 too few samples
    are in both runs.
    """

    results: Path = options.RESULTS
    other: Path | None = argument("A second run over the same samples.", required=False)
    change: float = option("Of the mean, that should be seen.", "X", default=0.05)
    answers: int = option("To each question, whose mean counts.", "K", default=1)
    often: float = option("How often it should be seen.", "SHARE", default=POWER)
    confidence: float = option("As for compare.", "C", default=0.95)
    scoring: options.Definition
    as_json: bool = options.JSON

    def run(self) -> int:
        scored_as = self.scoring.of_file(self.results)
        reading = options.Reading(**scored_as._asdict())
        other = None if self.other is None else reading.results(self.other)
        needed = power(
            reading.results(self.results),
            other,
            change=self.change,
            answers=self.answers,
            often=self.often,
            confidence=self.confidence,
        )
        if self.as_json:
            output.show_json({"results": str(self.results), **needed.to_dict()})
            return reading.status
        often = percent_text(needed.often)
        change = f"to see a change of {needed.change:g} in {often} of the comparisons"
        if needed.answers > 1:
            change += f", {counted(needed.answers, 'answer')} to each question"
        source = "differences of the two runs"
        if not needed.paired:
            source = "values of one run, as if the other version answered independently"
        output.say(change, f"from the {source}", "")
        columns: dict[str, dict[str, object]] = {}
        for figure in needed.figures:
            columns[figure.figure] = {
                "measured": figure.samples,
                "standard deviation of a difference": figure.scatter,
                "samples needed": figure.pairs,
                "change seen with as many as measured": figure.seen,
            }
        output.show_modes(columns)
        return reading.status
