"""The tables of results, which the terminal and the report render."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from noisesense import Comparison, Interval, Offender, Summary, Trust
from noisesense.scoring.outcomes import extent, number_text, percent_text
from noisesense.stats.interval import Estimate, interval_text
from noisesense.stats.labels_cells import CellKind, Rate
from noisesense.stats.powered_mean import PPIMean
from noisesense_adapters.evaluate.wording import document_name, standing

if TYPE_CHECKING:  # only the command `ablation` needs it
    from noisesense.ablation import Ablation, Cause, Effect


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
        """Return the table without columns in which every cell is ``"0"`` or empty.

        The first column stays. A table without rows keeps no other.
        """
        kept = [0]
        for i in range(1, len(self.titles)):
            if any(row[i] not in ("0", "") for row in self.rows):
                kept.append(i)
        titles = tuple(self.titles[i] for i in kept)
        rows = [tuple(row[i] for i in kept) for row in self.rows]
        return Table(titles, rows, self.caption)


def shown(value: Any, form: str = ".4f") -> str:
    """Write a figure: ``-`` for None, one number where both ends of a range meet.

    The form is that of floats and ranges. A text stays as it is, a whole number has commas
    between thousands. Of an interval the form says only whether it is in percent: it has its own
    number of digits, see `interval_text`.
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


def mean_table(summary: Summary) -> Table:
    """Return the mean of each mode, with its interval."""
    names = [mode.mode for mode in summary.modes]
    means = [shown(mode.mean) for mode in summary.modes]
    intervals = [shown(mode.interval) for mode in summary.modes]
    confidence = f"{percent_text(summary.confidence)} interval"
    return Table(("", *names), [("mean of samples", *means), (confidence, *intervals)])


def sample_table(summary: Summary) -> Table:
    """Count the samples in the mean of each mode, and say what to do about the others.

    A row that counts no sample in any mode is left out.
    """
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
    titles = ("samples", *(mode.mode for mode in modes), "what to do")
    return Table(titles, rows, "How many samples are in the means")


_ADVICE = {
    "measured": "",
    "left open by the judge": "rerun: asks only these; or another model",
    "nothing to measure": "see the answers and the retriever",
    "failed": "see their errors, then rerun",
}


_LEGEND = {
    "claims": "wrong ones that came from it",
    "open": "the judge left open whether they are",
    "samples": "with such a claim, of those that retrieved it",
    "adjusted": "that share, drawn towards the share of all documents, the more so the less often "
    "it was retrieved",
}


def offender_legend(table: Table) -> str:
    """Explain the columns and the order of an `offender_table`, which has rows."""
    parts: list[str] = []
    for title in table.titles:
        if title in _LEGEND:
            parts.append(f"{title}: {_LEGEND[title]}")
    order = "Ranked by the low end of the interval; where they overlap, the order may be chance."
    return f"{'; '.join(parts)}. {order}"


_SHORT = 28
"""The table then fits into 80 columns."""


def offender_table(documents: Iterable[Offender]) -> Table:
    """Return what is known of each document, in the given order, without columns of zeros."""
    titles = ("document", "claims", "open", "samples", "adjusted", "95% interval")
    rows: list[tuple[str, ...]] = []
    for document in documents:
        row = (
            document_name(document.document, _SHORT),
            shown(document.claims),
            shown(document.undetermined),
            f"{document.samples:,} of {document.retrieved:,}",
            shown(document.rate, ".0%"),
            shown(document.interval, ".0%"),
        )
        rows.append(row)
    return Table(titles, rows).without_zeros()


def comparison_table(comparison: Comparison, a: str = "A", b: str = "B") -> Table:
    """Return each figure of both versions, which the columns call ``a`` and ``b``.

    Columns of zeros are left out.
    """
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
    caption = "Shares of claims, lower is better; correct claims in an answer, higher is better"
    return Table(("figure", *titles), rows, caption).without_zeros()


_DOCUMENTS = 10


def ablation_tables(found: Ablation) -> list[Table]:
    """Return what became of wrong claims, the variants and the first ten documents.

    A table that would have no rows is left out.
    """
    tables: list[Table] = []
    if found.effect is not None:
        tables.append(_effect_table(found.effect))
    tables.append(_variant_table(found))
    tables.append(cause_table(found.causes[:_DOCUMENTS]))
    return [table for table in tables if table.rows]


def _effect_table(effect: Effect) -> Table:
    """Return the wrong claims that vanish without their documents, beside each control."""
    controls = {
        "other claims, same answers": effect.other_claims,
        "the same documents": effect.again,
        "without other documents": effect.other_chunks,
    }
    rows: list[tuple[str, ...]] = []
    for name, control in controls.items():
        if control is not None:
            row = (
                name,
                shown(control.change.size),
                extent(control.after, ".0%"),
                extent(control.before, ".0%"),
                _points(control.change),
                _points(control.change.interval),
            )
            rows.append(row)
    titles = ("beside", "claims", "vanish", "there", "points", "97% interval")
    caption = (
        "Wrong claims from documents: how many vanish without these, and how many there would "
        "vanish anyway"
    )
    return Table(titles, rows, caption)


def cause_table(causes: Iterable[Cause]) -> Table:
    """Return what became of claims without each document; columns of zeros are left out."""
    rows: list[tuple[str, ...]] = []
    for cause in causes:
        effect = "no effect shown"
        if cause.low == -1:
            effect = "cannot be told"
        if cause.is_shown:
            effect = f"at least {100 * cause.low:.0f} points"
        others = "-"
        if cause.gone_without_others is not None:
            others = extent(cause.gone_without_others, ".0%")
        row = (
            document_name(cause.document, _SHORT),
            shown(cause.claims),
            extent(cause.gone, ".0%"),
            others,
            shown(cause.shared),
            effect if cause.entails else f"{effect} (says none of them)",
        )
        rows.append(row)
    titles = ("document", "claims", "vanish", "without others", "shared", "effect")
    caption = (
        "Wrong claims that vanish without each document, and without others. Shared: another "
        "document was removed with it"
    )
    return Table(titles, rows, caption).without_zeros()


def _points(change: Estimate | Interval | None) -> str:
    """Write a difference of shares, or its interval, in percentage points."""
    if change is None:
        return "-"
    return extent((100 * change.low, 100 * change.high), "+.0f")


def _variant_table(found: Ablation) -> Table:
    """Return the share of wrong claims in each variant, beside that with the same documents."""
    rows: list[tuple[str, ...]] = []
    for name, (before, after, change) in found.changes.items():
        row = (
            name,
            shown(change.size),
            extent(before, ".0%"),
            extent(after, ".0%"),
            _points(change),
            _points(change.interval),
        )
        rows.append(row)
    titles = ("variant", "samples", "same", "changed", "points", "95% interval")
    caption = "Share of wrong claims in a response, with the same documents and in each variant"
    return Table(titles, rows, caption).without_zeros()


CELL_NAMES: dict[CellKind, str] = {
    "correct": "claim in reference",
    "response": "response claim in chunk",
    "reference": "reference claim in chunk",
}


def trust_tables(found: Trust) -> list[Table]:
    """Return the means that people would find, and the judge's errors.

    A table that would have no rows is left out.
    """
    confidence = ""
    means: list[tuple[str, ...]] = []
    for mode, mean in found.means.items():
        confidence = f"{percent_text(mean.interval.confidence)} "
        figures = (mean.judge_mean, mean.mean, mean.interval, mean.labeled)
        means.append((mode, *map(shown, figures), _judges_error(mean)))
    titles = ("mode", "judge", "people", f"{confidence}interval", "labeled", "the judge's mean")
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
            shown(counts.judge_open),
        )
        errors.append(row)
    columns = ("verdict", "labeled", "false yes", "false no", "no verdict")
    caption = "How often the judge says yes where people say no, and no where they say yes"
    tables.append(Table(columns, errors, caption).without_zeros())
    return [table for table in tables if table.rows]


def _judges_error(mean: PPIMean) -> str:
    """Say whether the judge's mean is too low or too high, as far as the labels tell."""
    if mean.interval.low > mean.judge_mean.high:
        return "too low"
    if mean.interval.high < mean.judge_mean.low:
        return "too high"
    return "in the interval"


def _rate(rate: Rate) -> str:
    value = shown(rate.value, ".1%")
    return value if rate.interval is None else f"{value} ({shown(rate.interval, '.0%')})"
