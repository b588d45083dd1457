"""Questions to results: ``noisesense offenders``, ``sensitivity`` and ``stability``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, cast

from noisesense import Offender, Range, offenders, sensitivity_band, stability
from noisesense.errors import InputError
from noisesense.stats.interval import interval_text
from noisesense.stats.pairing import PairedBy
from noisesense.stats.sensitivity import Band
from noisesense.stats.stability import ModeStability
from noisesense.stats.summarize import counted
from noisesense_adapters.cli import options, output
from noisesense_adapters.cli.commands import COUNT, Command, argument, option
from noisesense_adapters.cli.output import Heads, modes_of, one_line, percent, shown
from noisesense_adapters.evaluate.wording import (
    Caused,
    document_name,
    headline,
    offender_sentences,
    shared_text,
)

_NARROW = 30
_LEGEND = (
    "claims: wrong ones from it; open: the judge left open whether they are; only: from no other "
    "chunk; samples: with such a claim, of those that retrieved it; adj. rate: that share, drawn "
    "towards those of all documents, the more the less often it was retrieved"
)
_OF_GONE = "; gone: of the claims said again with the same chunks, not said without theirs"
_OF_SHARED = "; shared: of those, where other documents were taken away, too"


class Offenders(Command):
    """Rank the documents that mislead.

    By the low end of the rate's interval. "adj. rate" is how often a document misleads when it is
    retrieved, drawn towards those of all documents, the more the less often it was retrieved.
    "claims" come from it and are not supported by the reference; "open" counts those of which the
    judge left open whether they do, "only" those that no other retrieved chunk entails. With
    --ablation, the documents with which most claims go stand first.

    Exit status: 0 done; 2 an error; 3 done, but some lines could not be read.
    """

    results: Path = options.RESULTS
    top: int = option("How many documents to show.", type=COUNT, default=10)
    examples: int = option("How many claims of each to show.", type=COUNT, default=3)
    ablation: Path | None = option('What "ablation report --json" printed of them.', "FILE")
    as_json: bool = options.JSON

    def run(self) -> int:
        reading = options.Reading()
        caused = {} if self.ablation is None else _caused(self.ablation)
        found = offenders(reading.tallied(self.results))
        by_cause = sorted(found.documents, key=lambda each: -_gone(caused.get(each.document)))
        ranking = by_cause[: max(self.top, 1)]
        sentences = [*offender_sentences(found, caused.values())]
        if self.as_json:
            documents = [offender.to_dict() for offender in ranking]
            terse = {"true_looking": found.true_looking, "unmentioned": found.unmentioned}
            output.show_json({"sentences": sentences, **terse, "documents": documents})
            return reading.status
        summary = reading.tally.summary()
        output.say(f"{headline(summary).message}." if summary.scored else summary.warnings[0])
        if not ranking:
            return reading.status
        output.say(*sentences, "")
        _show_table(ranking, caused)
        for each in ranking:
            told = each.offences[: self.examples]
            said = [f'  "{one_line(o.claim)}" ({reading.heads[o.sample]})' for o in told]
            if said and len(told) < len(each.offences):
                more = len(each.offences) - len(told)
                said.append(f"  {more:,} more: --examples {len(each.offences)}")
            output.section(f"{document_name(each.document)}:", said)
        if not caused and reading.has_texts:
            asks = f"noisesense ablation plan {quote(str(self.results))} --out todo.jsonl"
            output.section("Next, do they cause these claims?", [f"  {asks}"])
        return reading.status


def _show_table(ranking: Sequence[Offender], caused: Mapping[str, Caused]) -> None:
    titles = [">claims", ">open", ">only", ">samples", ">adj. rate", "interval"]
    titles += [">gone", "…document"] if caused else ["…document"]
    output.show_table(titles, [_row(each, caused) for each in ranking])
    legend = _LEGEND
    if caused:
        legend += _OF_GONE
    shown_causes = [caused[each.document] for each in ranking if each.document in caused]
    if any(shared_text(each.shared) for each in shown_causes):
        legend += _OF_SHARED
    output.say(f"{legend}.")


def _row(each: Offender, caused: Mapping[str, Caused]) -> list[object]:
    row: list[object] = [
        each.claims,
        each.undetermined,
        each.alone,
        f"{each.samples:,} of {each.retrieved:,}",
        shown(each.rate, ".0%"),
        shown(each.interval, ".0%"),
    ]
    if caused:
        cause = caused.get(each.document)
        row.append("" if cause is None else _gone_of(cause))
    return [*row, document_name(each.document, _NARROW)]


def _gone_of(cause: Caused) -> str:
    told = f"{shown(cause.gone, '.0f')} of {shown(cause.again, '.0f')}"
    return f"{told}{shared_text(cause.shared)}"


def _gone(cause: Caused | None) -> float:
    return 0.0 if cause is None else cause.gone.low


def _caused(path: Path) -> dict[str, Caused]:
    """By document. Raises `InputError`."""
    found: dict[str, Caused] = {}
    try:
        for cause in json.loads(path.read_text(encoding="utf-8"))["causes"]:
            name: str = cause["document"]
            shared = _range(cause["shared"]) if "shared" in cause else None
            found[name] = Caused(name, _range(cause["again"]), _range(cause["gone"]), shared)
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = 'write it with "noisesense ablation report … --json > FILE"'
        got = f"{type(error).__name__}: {error}"
        raise InputError("an ablation as JSON", got, where=str(path), hint=hint) from error
    return found


def _range(ends: dict[str, float]) -> Range:
    return Range(float(ends["low"]), float(ends["high"]))


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
        output.show_modes({each.mode: _moved(each) for each in modes_of(band)})
        return reading.status


def _moved(mode: Band) -> dict[str, object]:
    return {
        "mean": mode.mean,
        "moves to": mode.moved,
        "  95% of the simulations": None if mode.band is None else interval_text(mode.band),
    }


class Stability(Command):
    """Show how far a judge agrees with itself.

    Of several judgings of the same answers: how much of a value is the judge's own variance, and
    which samples change (with --limit: change sides). Where each run holds several answers to a
    question, also how much is the generator's, and how much the question's. Judge into another
    --out each time: a store gives the first verdicts again.

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
        if not any("generator" in mode.shares for mode in modes_of(found)):
            output.say(
                "",
                "No question has several answers: the question's share and the generator's cannot "
                "be told apart.",
            )
        for mode in modes_of(found):
            self._show_changed(mode, reading.heads)
        return reading.status

    def _show_changed(self, mode: ModeStability, heads: Heads) -> None:
        moved = [*mode.changed]
        what = "whose value changes"
        if self.limit is not None:
            moved = [each for each in mode.changed if each.crosses]
            what = "on both sides of the limit"
        lines = [
            f"  {heads[each.id]}: {', '.join(map(shown, each.values))}"
            for each in moved[: self.top]
        ]
        output.section(f"{mode.mode}: {counted(len(moved), 'sample')} {what}", lines)


def _stable(mode: ModeStability, limit: float | None) -> dict[str, object]:
    crossing = sum(each.crosses for each in mode.changed)
    shares: dict[str, object] = {}
    for source, (share, interval) in mode.shares.items():
        shares[f"{source}'s share of the variance"] = percent(share)
        # Not the same label twice: it would be one row.
        shares[f"  interval of the {source}'s"] = shown(interval, ".0%")
    return {
        "samples": mode.samples,
        "left out": mode.left_out,
        "lowest mean": min(mode.means, default=None),
        "highest mean": max(mode.means, default=None),
        **shares,
        "scatter of the mean": mode.mean_error,
        **({} if limit is None else {f"samples on both sides of {limit:g}": crossing}),
    }
