"""The words and tables of results, which the terminal and the report share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from noisesense import Comparison, Interval, Offender, Offenders, Summary, Trust
from noisesense.scoring.definitions import MODES
from noisesense.scoring.outcomes import extent, number_text, percent_text
from noisesense.stats.figures import Figure, FigureComparison
from noisesense.stats.interval import Estimate, interval_text
from noisesense.stats.labels_cells import CellKind, Rate
from noisesense.stats.powered_mean import PPIMean
from noisesense.stats.summarize import counted

if TYPE_CHECKING:  # only the command `ablation` needs it
    from noisesense.ablation import Ablation, Cause, Fate


class Table(NamedTuple):
    """Figures as texts.

    Attributes:
        titles: of the columns. The first column names the rows, the others have figures.
        rows: as many cells each.
        caption: what the table shows.
    """

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]
    caption: str = ""

    def without_zeros(self) -> Table:
        """The table without the columns in which every cell is 0 or empty."""
        kept = [0]
        for i in range(1, len(self.titles)):
            if any(row[i] not in ("0", "") for row in self.rows):
                kept.append(i)
        titles = tuple(self.titles[i] for i in kept)
        rows = [tuple(row[i] for i in kept) for row in self.rows]
        return Table(titles, rows, self.caption)


def shown(value: Any, form: str = ".4f") -> str:
    """A figure as text: ``-`` where there is none, one number where both ends of a range meet.

    An interval has its own number of digits, see `interval_text`.
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Interval):
        return interval_text(value, percent=form.endswith("%"))
    if isinstance(value, float):
        return number_text(value, form)
    return extent((value[0], value[1]), form)


class Headline(NamedTuple):
    """The main message, and the counts behind it."""

    message: str
    rest: str


def headline(summary: Summary) -> Headline:
    """How many claims are wrong and came from a document, and what could not be measured.

    Does not depend on the definition.
    """
    kinds = summary.partition
    noise = summary.from_chunks
    if not kinds.total:
        reason = summary.unmeasured or "There are no results"
        return Headline("Nothing was measured", f"{reason}.")
    amount = f"{noise.noisy:,}"
    if noise.highest != noise.noisy:
        amount += f" to {noise.highest:,}"
    verb = "is" if amount == "1" or kinds.total == 1 else "are"
    claims = counted(kinds.total, "claim")
    message = f"{amount} of {claims} {verb} wrong and came from a retrieved document"
    if summary.unmeasured:
        message += f"; {summary.unmeasured}"
    rest = [
        f"{kinds.relevant:,} from relevant documents, {kinds.irrelevant:,} from irrelevant ones"
    ]
    if kinds.hallucination:
        verb = "is" if kinds.hallucination == 1 else "are"
        rest.append(f"{kinds.hallucination:,} more {verb} wrong and in no retrieved document")
    if kinds.undetermined:
        rest.append(f"the judge left {kinds.undetermined:,} open")
    return Headline(message, "; ".join(rest) + ".")


def mean_table(summary: Summary) -> Table:
    """The mean of each mode, with its interval."""
    names = [mode.mode for mode in summary.modes]
    means = [shown(mode.mean) for mode in summary.modes]
    intervals = [shown(mode.interval) for mode in summary.modes]
    confidence = f"{percent_text(summary.confidence)} interval"
    return Table(("", *names), [("mean", *means), (confidence, *intervals)])


def sample_table(summary: Summary) -> Table:
    """How many samples are in the mean of each mode, and what to do about the others."""
    modes = summary.modes
    counts = {
        "measured": [mode.determined for mode in modes],
        "left open by the judge": [mode.undetermined for mode in modes],
        "nothing to measure": [mode.undefined for mode in modes],
        "failed": [summary.failed for _ in modes],
    }
    rows: list[tuple[str, ...]] = []
    for name, numbers in counts.items():
        if any(numbers):
            rows.append((name, *map(shown, numbers), _ADVICE[name]))
    titles = ("", *(mode.mode for mode in modes), "what to do")
    return Table(titles, rows, "Samples")


_ADVICE = {
    "measured": "",
    "left open by the judge": "rerun: only these are asked again",
    "nothing to measure": "see the answers and the retriever",
    "failed": "see their errors, then rerun",
}


def document_name(document: str, width: int = 60) -> str:
    """A document in one line of at most so many characters."""
    name = " ".join(document.split())
    if len(name) > width:
        name = f"{name[: width - 1].rstrip()}…"
    return name.rstrip(".") or "(no id and no text)"


def guiltiest(causes: Iterable[Cause]) -> Cause | None:
    """The document without which most claims vanish; None if no claim does for certain."""
    first: Cause | None = None
    most = 0.0
    for cause in causes:
        if cause.gone.low > most:
            first = cause
            most = cause.gone.low
    return first


def offender_sentences(found: Offenders, causes: Iterable[Cause] = ()) -> Iterator[str]:
    """Where to look first, and what may be wrong with that."""
    guilty = guiltiest(causes)
    if guilty is not None:
        yield f"By the ablation, most claims vanish without {document_name(guilty.document)}."
    misleading = [document for document in found.documents if document.claims]
    if found.first is not None:
        claims = counted(found.first.claims, "wrong claim")
        yield f"Look first at {document_name(found.first.document)}: {claims} came from it."
    elif len(misleading) > 1:
        leading = document_name(found.documents[0].document)
        yield f"{leading} stands first. Where the intervals overlap, the order may be chance."
    if found.terse:
        claims = counted(found.true_looking, "claim")
        verb = "is" if found.unmentioned == 1 else "are"
        yield (
            f"Of {claims} that the reference or a relevant document supports, "
            f"{found.unmentioned:,} {verb} in no reference. If the references leave out what is "
            'true, correct documents stand first: "noisesense ablation" shows which ones cause '
            "anything."
        )


_LEGEND = {
    "claims": "wrong ones that came from it",
    "open": "the judge left open whether they are",
    "only": "in no other document",
    "samples": "with such a claim, of those that retrieved it",
    "rate": "that share, drawn towards the share of all documents, the more so the less often it "
    "was retrieved",
    "gone": "of the claims that recur, those that vanish without their documents",
}


def offender_legend(table: Table) -> str:
    """What the columns of the table mean."""
    parts: list[str] = []
    for title in table.titles:
        if title in _LEGEND:
            parts.append(f"{title}: {_LEGEND[title]}")
    return f"{'; '.join(parts)}."


_SHORT = 28
"""The table then fits into 80 columns."""


def offender_table(documents: Iterable[Offender], causes: Mapping[str, Cause]) -> Table:
    """What is known of each document."""
    titles = ("document", "claims", "open", "only", "samples", "rate", "95% interval", "gone")
    rows: list[tuple[str, ...]] = []
    for document in documents:
        cause = causes.get(document.document)
        gone = "" if cause is None else _part(cause.gone, cause.again)
        row = (
            document_name(document.document, _SHORT),
            shown(document.claims),
            shown(document.undetermined),
            shown(document.alone),
            f"{document.samples:,} of {document.retrieved:,}",
            shown(document.rate, ".0%"),
            shown(document.interval, ".0%"),
            gone,
        )
        rows.append(row)
    return Table(titles, rows).without_zeros()


def _part(count: tuple[float, float], whole: tuple[float, float]) -> str:
    return f"{extent(count, '.0f')} of {extent(whole, '.0f')}"


FIGURE_NAMES: dict[Figure, str] = {
    "relevant": "the relevant mode",
    "irrelevant": "the irrelevant mode",
    "any": "all claims from documents",
    "correct": "correct claims",
}
_OF_NOISE = {"worse": "is noisier", "better": "is less noisy"}
_OF_CORRECT = {"worse": "has fewer correct claims", "better": "has more correct claims"}


def comparison_sentences(comparison: Comparison, b: str = "B") -> Iterator[str]:
    """In what B surely differs from A, be it by less than the margin. ``b`` begins a sentence."""
    whole = comparison.any
    for found in (whole, comparison.relevant, comparison.irrelevant, comparison.correct):
        if found is None or found.side is None:
            continue
        is_mode = found.figure in MODES
        if is_mode and whole is not None and whole.side == found.side:
            continue
        words = _OF_CORRECT if found.figure == "correct" else _OF_NOISE
        where = f" in {FIGURE_NAMES[found.figure]}" if is_mode else ""
        yield f"{b} {words[found.side]}{where}{_beyond(found)}."
    if whole is not None and whole.decision == "undecided" and whole.seen is not None:
        yield (
            f"{b} is called noisier{by_more(whole)} in 80 of 100 comparisons of as many pairs, if "
            f"it is so by {whole.seen:.2g}."
        )


def by_more(found: FigureComparison) -> str:
    """By how much it is asked whether B is worse."""
    return f" by more than {found.margin:.3g}" if found.margin else ""


def _beyond(found: FigureComparison) -> str:
    """Whether B differs by more than the margin."""
    more = by_more(found)
    if found.decision == "same":
        return f", but not{more}"
    if found.decision == "undecided":
        return f"; whether{more} is not decided"
    return more


def standing(found: FigureComparison) -> str:
    """What is known of B beside A by one figure, in a few words."""
    within = f"within {found.margin:.3g}"
    if found.decision == "same":
        return f"the same {within}"
    if found.decision != "undecided":
        return found.decision
    if found.worsening is None or found.too_few:
        return "too few to say"
    if found.side is not None:
        return f"{found.side}, maybe {within}"
    if found.left_open:
        return "left open by the judge"
    if not found.margin:
        return "not clearly different"
    low, high = found.worsening
    if high <= found.margin:
        return "not worse"
    return "not better" if low >= -found.margin else "too few to say"


def comparison_table(comparison: Comparison, a: str = "A", b: str = "B") -> Table:
    """Each figure of both versions; of correct claims how many an answer has, else shares."""
    confidence = ""
    rows: list[tuple[str, ...]] = []
    for found in comparison.figures:
        interval = "-"
        if found.interval is not None:
            confidence = f"{percent_text(found.interval.confidence)} "
            interval = extent(found.interval[:2])
        row = (
            found.figure,
            shown(found.mean_a, ".3f"),
            shown(found.mean_b, ".3f"),
            shown(found.difference, "+.3f"),
            interval,
            standing(found),
            shown(found.undetermined),
            shown(found.undefined),
        )
        rows.append(row)
    result = f"{b} against {a}"
    titles = (a, b, "difference", f"{confidence}interval", result, "open", "not measured")
    caption = "Shares of claims, lower is better; of correct claims how many an answer has"
    return Table(("", *titles), rows, caption).without_zeros()


def cause_sentence(found: Ablation) -> str | None:
    """What became of the claims without their documents; None where that cannot be told."""
    without = found.without
    if without is None or without.gone is None:
        return None
    sentence = f"Of the claims that recur, {_amount(without.gone)} when we remove their documents"
    sham = found.without_other
    if sham is not None and sham.gone is not None:
        sentence += f"; {_amount(sham.gone)} when we remove others"
    return f"{sentence}."


def _amount(gone: Estimate) -> str:
    """How many claims vanish, without figures where it is all or none."""
    if gone.value is None:
        return f"{extent(gone[:2], '.0%')} vanish"
    if gone.value in (0.0, 1.0):
        return "all vanish" if gone.value else "none vanish"
    return f"{gone.value:.0%} vanish"


def ablation_sentences(found: Ablation) -> Iterator[str]:
    """What an ablation found."""
    from noisesense.ablation import direction
    from noisesense.stats.paired import MIN_PAIRS

    if not found.claims:
        yield "No wrong claim came from a document: none was removed."
    cause = cause_sentence(found)
    if cause is not None:
        yield cause
        if found.effect is None:
            yield "No effect is shown: how many vanish without other documents is not known."
        elif found.effect.interval is None or found.effect.interval.units < MIN_PAIRS:
            yield f"Too few samples to tell whether these documents matter: it takes {MIN_PAIRS}."
        else:
            yield _EFFECTS[direction(found.effect)]
    elif found.without is not None:
        yield "No claim recurs: what the documents do cannot be told."
    if found.trend is not None:
        yield f"At each step of more distractors {found.trend} of a response's claims are wrong."
    for reason, count in found.left_out.items():
        nouns, _, rest = reason.partition(" ")
        yield f"Note: {counted(count, nouns.removesuffix('s'))} {rest}."


_EFFECTS = {
    "more": "So these documents matter.",
    "less": "The other documents matter more.",
    None: "No effect of these documents is shown.",
}
_DOCUMENTS = 10


def ablation_tables(found: Ablation) -> list[Table]:
    """What became of wrong claims, the variants, and the documents; each if there is something."""
    fates = {
        "without their documents": found.without,
        "without any document": found.no_context,
        "without other documents": found.without_other,
    }
    rows = [_fate_row(name, fate) for name, fate in fates.items() if fate is not None]
    if found.effect is not None:
        rows.append(("difference", "", "", _points(found.effect), _points_interval(found.effect)))
    caption = (
        "Wrong claims that came from a document: how many recur with the same documents, and how "
        "many of those vanish when some are removed"
    )
    titles = ("removed", "claims", "recur", "vanish", "95% interval")
    tables = [Table(titles, rows, caption)]
    tables.append(_variant_table(found))
    documents: list[tuple[str, ...]] = []
    for cause in found.causes[:_DOCUMENTS]:
        others = ""
        if cause.gone_with_others is not None:
            others = _part(cause.gone_with_others, cause.again_of_others)
        row = (
            document_name(cause.document),
            shown(cause.claims),
            _part(cause.gone, cause.again),
            shown(cause.shared, ".0f"),
            others,
        )
        documents.append(row)
    caption = (
        "How many of each document's recurring claims vanish without it. Shared: another document "
        "was removed with it"
    )
    titles = ("document", "claims", "vanish", "shared", "without others")
    tables.append(Table(titles, documents, caption).without_zeros())
    return [table for table in tables if table.rows]


def _fate_row(name: str, fate: Fate) -> tuple[str, ...]:
    recur = extent(fate.again, ".0f")
    if fate.gone is None:
        return name, shown(fate.claims), recur, "-", "-"
    interval = "-"
    if fate.gone.interval is not None:
        interval = extent(fate.gone.interval[:2], ".0%")
    return name, shown(fate.claims), recur, extent(fate.gone[:2], ".0%"), interval


def _points(change: Estimate) -> str:
    """A difference of shares, in percentage points."""
    return extent((100 * change.low, 100 * change.high), "+.0f")


def _points_interval(change: Estimate) -> str:
    if change.interval is None:
        return "-"
    return extent((100 * change.interval.low, 100 * change.interval.high), "+.0f")


def _variant_table(found: Ablation) -> Table:
    """The share of wrong claims under each variant, beside the same samples with the same chunks.

    A variant without a sample to compare has only the count of its answers that claim nothing.
    """
    rows: list[tuple[str, ...]] = []
    for name, (before, after, change) in found.changes.items():
        row = (
            name,
            shown(change.size),
            shown(found.silent.get(name, 0)),
            extent(before[:2], ".0%"),
            extent(after[:2], ".0%"),
            _points(change),
            _points_interval(change),
        )
        rows.append(row)
    for name, count in found.silent.items():
        if name not in found.changes:
            rows.append((name, "", shown(count), "", "", "", ""))
    titles = ("variant", "samples", "silent", "same", "variant", "points", "95% interval")
    caption = (
        "Share of wrong claims in a response, with the same documents and in each variant. "
        "Silent: answers that claim nothing"
    )
    return Table(titles, rows, caption).without_zeros()


def trust_sentences(found: Trust) -> Iterator[str]:
    """Whose verdicts were compared."""
    compared = counted(found.compared, "verdict")
    were = "was" if found.compared == 1 else "were"
    yield f"{compared} of {found.judge} {were} compared with people's labels."
    if found.not_asked:
        labels = "label is" if found.not_asked == 1 else "labels are"
        yield (
            f"{found.not_asked:,} more {labels} in no error rate: the judge was not asked there, "
            "as its scores do not need it; score --plan full asks it."
        )


CELL_NAMES: dict[CellKind, str] = {
    "correct": "claim in reference",
    "response": "response claim in chunk",
    "reference": "reference claim in chunk",
}


def trust_tables(found: Trust) -> list[Table]:
    """The means that people would find, and the judge's errors; each where there is something."""
    confidence = ""
    means: list[tuple[str, ...]] = []
    for mode, mean in found.means.items():
        confidence = f"{percent_text(mean.interval.confidence)} "
        interval = "exact" if is_exact(mean) else shown(mean.interval)
        row = (mode, shown(mean.judge_mean), shown(mean.mean), interval, shown(mean.labeled))
        means.append((*row, _judges_error(mean)))
    titles = ("", "judge", "people", f"{confidence}interval", "labeled", "the judge's")
    caption = "The mean by the judge, and the one that people would find in these results"
    tables = [Table(titles, means, caption)]
    errors: list[tuple[str, ...]] = []
    for kind, cells in found.cells.items():
        counts = cells.counts
        if not counts.compared and not counts.judge_open:
            continue
        row = (
            CELL_NAMES[kind],
            shown(counts.compared),
            _rate(cells.false_yes),
            _rate(cells.false_no),
            shown(counts.judge_open - counts.not_asked),
            shown(counts.not_asked),
        )
        errors.append(row)
    titles = ("", "labeled", "false yes", "false no", "no answer", "not asked")
    caption = "How often the judge says yes where people say no, and no where they say yes"
    tables.append(Table(titles, errors, caption).without_zeros())
    return [table for table in tables if table.rows]


def is_exact(mean: PPIMean) -> bool:
    """Is there nothing to estimate? Every sample is labeled, and no label that counts is open."""
    return not mean.unlabeled and mean.mean.value is not None


def _judges_error(mean: PPIMean) -> str:
    """Whether the judge's mean is too low or too high, as far as the labels tell."""
    if mean.interval.low > mean.judge_mean.high:
        return "too low"
    if mean.interval.high < mean.judge_mean.low:
        return "too high"
    return "the same" if is_exact(mean) else "inside it"


def _rate(rate: Rate) -> str:
    value = shown(rate.value, ".1%")
    return value if rate.interval is None else f"{value} ({shown(rate.interval, '.0%')})"
