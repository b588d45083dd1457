"""Questions to results: ``noisesense offenders``, ``sensitivity`` and ``stability``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from noisesense import offenders, sensitivity_band, stability
from noisesense.stats.pairing import PairedBy
from noisesense.stats.stability import ModeStability
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import COUNT, Command, argument, option
from noisesense_adapters.cli.output import cut, modes_of, one_line, percent, shown
from noisesense_adapters.toolbox.wording import culprit, headline

_WIDTH, _NARROW = 60, 30


class Offenders(Command):
    """Rank the documents that mislead.

    By how many claims come from each that the reference does not support. "open" counts those of
    which the judge left open whether they do, "only" those that no other retrieved chunk entails;
    "rate" is how often a document misleads when it is retrieved, with its interval.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    top: int = option("How many documents to show.", type=COUNT, default=10)
    examples: int = option("How many claims of each to show.", type=COUNT, default=3)
    as_json: bool = options.JSON

    def run(self) -> int:
        reading = options.Reading()
        found = offenders(reading.tallied(self.results))
        first, ranking = culprit(found), found[: max(self.top, 1)]
        if self.as_json:
            output.show_json([offender.to_dict() for offender in ranking])
            return reading.status
        summary = reading.tally.summary()
        output.say(f"{headline(summary).message}." if summary.scored else summary.warnings[0])
        if not ranking:
            return reading.status
        if first is not None:
            output.say(f"Look first at {_name(first.document)}: {first.claims:,} of them.")
        elif ranking[0].claims:
            output.say("No document stands out: another has as many of them, or may have.")
        output.say("")
        output.show_table(
            [">claims", ">open", ">only", ">samples", ">rate", "interval", "document"],
            [
                [
                    *(each.claims, each.undetermined, each.alone),
                    f"{each.samples:,} of {each.retrieved:,}",
                    f"{each.rate:.0%}{' or more' * bool(each.undetermined)}",
                    "" if each.undetermined else shown(each.interval, ".0%"),
                    _name(each.document, _NARROW),
                ]
                for each in ranking
            ],
        )
        for each in ranking:
            told = each.offences[: self.examples]
            said = [f'  "{one_line(o.claim)}" ({reading.heads[o.sample]})' for o in told]
            output.section(f"{_name(each.document)}:", said)
        return reading.status


def _name(document: str, width: int = _WIDTH) -> str:
    return cut(document, width).rstrip(".") or "(no id and no text)"


class Sensitivity(Command):
    """Show where a judge's errors would move the means.

    The recorded verdicts are taken as true, and errors are added at random. What a judge's errors
    did to your results is another question: label some of them, and ask "noisesense trust".

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    scoring: options.Definition
    false_yes: float = option("How often a no is said as yes.", "SHARE", default=0.02)
    false_no: float = option("How often a yes is said as no.", "SHARE", default=0.0)
    as_json: bool = options.JSON

    def run(self) -> int:
        scored_as = self.scoring.of_file(self.results)
        definition = scored_as.definition
        reading = options.Reading(**scored_as._asdict())
        rates: dict[str, Any] = {"false_yes": self.false_yes, "false_no": self.false_no}
        band = sensitivity_band(reading.results(self.results), definition=definition, **rates)
        if self.as_json:
            output.show_json({"definition": definition, **rates, **band.to_dict()})
            return reading.status
        failed = f" ({band.failed:,} more failed)" if band.failed else ""
        output.say(
            f"{counted(band.samples, 'sample')}{failed}; definition {definition}",
            f"assumed: the verdicts are true; errors: {self.false_yes:.1%} of no said as yes, "
            f"{self.false_no:.1%} of yes said as no, each verdict on its own",
            "",
        )
        output.show_modes(
            {
                each.mode: {
                    "mean": each.mean,
                    "moves to": each.moved,
                    "  95% of the simulations": each.band,
                }
                for each in modes_of(band)
            }
        )
        return reading.status


class Stability(Command):
    """Show how far a judge agrees with itself.

    Of several judgings of the same samples: how much of a value is the judge's own variance, and
    which samples change (with --limit: change sides). Judge into another --out each time: a store
    gives the first answers again.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read; 6 too few samples
    are in all runs.
    """

    runs: tuple[Path, ...] = argument("The same samples, judged twice or more.", "RESULTS...")
    limit: float | None = option("Which samples are above X in some repeats only?", "X")
    pair_by: str | None = options.PAIR_BY
    scoring: options.Definition
    top: int = options.TOP
    as_json: bool = options.JSON

    def run(self) -> int:
        reading = options.Reading(definition=self.scoring.definition)
        runs = (reading.results(path) for path in self.runs)
        pair_by = cast("PairedBy | None", self.pair_by)
        found = stability(runs, limit=self.limit, pair_by=pair_by)
        if self.as_json:
            output.show_json({"runs": [str(path) for path in self.runs], **found.to_dict()})
            return reading.status
        output.say(f"{counted(found.samples, 'sample')}, judged {found.repeats} times")
        if found.unpaired:
            output.say(f"{counted(found.unpaired, 'more sample')} not in every run: in no figure")
        output.say("")
        output.show_modes({each.mode: _stable(each, self.limit) for each in modes_of(found)})
        for mode in modes_of(found):
            moved = [each for each in mode.changed if each.crosses or self.limit is None]
            changed = [
                f"  {reading.heads[each.id]}: {', '.join(map(shown, each.values))}"
                for each in moved[: self.top]
            ]
            what = "whose value changes" if self.limit is None else "on both sides of the limit"
            output.section(f"{mode.mode}: {counted(len(moved), 'sample')} {what}", changed)
        return reading.status


def _stable(mode: ModeStability, limit: float | None) -> dict[str, object]:
    crossing = sum(each.crosses for each in mode.changed)
    return {
        "samples": mode.samples,
        "left out": mode.left_out,
        "lowest mean": min(mode.means, default=None),
        "highest mean": max(mode.means, default=None),
        "judge's share of the variance": percent(mode.judge_share),
        "  its interval": percent(mode.judge_share_interval),
        "scatter of the mean": mode.mean_error,
        **({} if limit is None else {f"samples on both sides of {limit:g}": crossing}),
    }
