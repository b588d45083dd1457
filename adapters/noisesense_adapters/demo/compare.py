"""The demo's figures side by side: what agrees, what differs, what cannot be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

from noisesense.fixtures import ReferenceExample
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName, Mode


class ExampleRun(NamedTuple):
    """One example under one definition; ``key`` names it in texts and results."""

    example: ReferenceExample
    definition: DefinitionName

    @property
    def key(self) -> str:
        """Unique among the runs, e.g. ``mona-lisa/ragas``."""
        return f"{self.example.id}/{self.definition}"

    @property
    def expected(self) -> Pair:
        """The figures derived by hand."""
        return Pair(*self.example.expected[self.definition])


class Pair(NamedTuple):
    """Both modes of one run, as a place gave them; None where it says undefined."""

    relevant: float | None
    irrelevant: float | None

    def value(self, mode: Mode) -> float | None:
        return self.relevant if mode == "relevant" else self.irrelevant


class NotComparable(NamedTuple):
    """Why a place cannot compute a run's figures at all."""

    reason: str


Figures = Mapping[str, "Pair | NotComparable"]


class Results(NamedTuple):
    """One framework's results: for each of its places the figures by ``ExampleRun.key``."""

    version: str
    places: Mapping[str, Figures]


Framework = Callable[[Sequence[ExampleRun], Path], Results]
"""Computes the runs in one framework, with the verdicts of a recording."""


def example_runs(examples: Sequence[ReferenceExample]) -> tuple[ExampleRun, ...]:
    """Every example under ragas' definition, then each with another one under its own."""
    default: DefinitionName = "ragas"
    others = [e for e in examples if e.documented_definition != default]
    return (
        *(ExampleRun(example, default) for example in examples),
        *(ExampleRun(example, example.documented_definition) for example in others),
    )


def by_definition(runs: Sequence[ExampleRun]) -> list[list[ExampleRun]]:
    """The runs in groups that a framework can evaluate at once."""
    names = dict.fromkeys(run.definition for run in runs)
    return [[run for run in runs if run.definition == name] for name in names]


TOLERANCE = 1e-12

State = Literal["compared", "not installed", "failed"]


@dataclass(frozen=True)
class Place:
    """A place that computes figures: the core, or one entry point of a framework.

    Attributes:
        name: e.g. ``"DeepEval evaluate"``.
        framework: the package it needs; empty for the core.
        state: whether it could compute anything.
        detail: the version, or why there are no figures.
        figures: by ``ExampleRun.key``.
    """

    name: str
    framework: str
    state: State
    detail: str
    figures: Mapping[str, Pair | NotComparable] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Cell:
    """One place's figure in one row. ``agrees`` is None where nothing was compared."""

    value: float | None
    agrees: bool | None


@dataclass(frozen=True)
class Row:
    """One example, mode and definition.

    Attributes:
        expected: the figure derived by hand.
        documented: the figure the source prints, whichever definition it follows.
        documented_fits: whether ``expected`` is the documented figure; None if there is none.
            If the source follows another definition, this counts as no comparison.
    """

    example: str
    mode: Mode
    definition: DefinitionName
    expected: float | None
    documented: float | None
    documented_definition: DefinitionName
    documented_fits: bool | None
    cells: Mapping[str, Cell]

    @property
    def documented_agrees(self) -> bool | None:
        """As ``documented_fits``; None if the source follows another definition."""
        return self.documented_fits if self.definition == self.documented_definition else None


@dataclass(frozen=True)
class Report:
    places: Sequence[Place]
    rows: Sequence[Row]
    missing: Sequence[str]
    """Frameworks that were required and are not installed."""

    @property
    def checks(self) -> list[tuple[str, bool]]:
        """Every comparison in words, and whether the figures agree."""
        checks: list[tuple[str, bool]] = []
        for row in self.rows:
            at = f"{row.example}, {row.mode}, definition {row.definition}"
            for name, cell in row.cells.items():
                if cell.agrees is not None:
                    got, want = as_printed(cell.value), as_printed(row.expected)
                    checks.append((f"{at}: {name} gives {got}, not {want}", cell.agrees))
            if row.documented_agrees is not None:
                got, want = as_printed(row.expected), as_documented(row.documented)
                checks.append((f"{at}: documented is {want}, not {got}", row.documented_agrees))
        return checks

    @property
    def agrees(self) -> bool:
        """Nothing differs, no framework failed, and none that was required is missing."""
        failed = any(place.state == "failed" for place in self.places)
        return not failed and not self.missing and all(agrees for _, agrees in self.checks)


def compare(runs: Sequence[ExampleRun], places: Sequence[Place], missing: Sequence[str]) -> Report:
    """Every place against the figures derived by hand, and those against the documented ones."""
    rows = [_row(run, mode, places) for run in runs for mode in MODES]
    return Report(places, rows, missing)


def _row(run: ExampleRun, mode: Mode, places: Sequence[Place]) -> Row:
    example, expected = run.example, run.expected.value(mode)
    documented = example.documented.get(mode)
    return Row(
        example=example.id,
        mode=mode,
        definition=run.definition,
        expected=expected,
        documented=documented,
        documented_definition=example.documented_definition,
        documented_fits=None if documented is None else _prints_as(expected, documented),
        cells={place.name: _cell(place, run, mode, expected) for place in places},
    )


def _cell(place: Place, run: ExampleRun, mode: Mode, expected: float | None) -> Cell:
    if place.state != "compared":
        return Cell(None, None)
    figures = place.figures.get(run.key)
    if isinstance(figures, NotComparable):
        return Cell(None, None)
    # A run that a place silently left out is a disagreement, not a gap.
    value = figures.value(mode) if figures else None
    if value is None or expected is None:
        return Cell(value, figures is not None and value is expected)
    return Cell(value, abs(value - expected) <= TOLERANCE)


def _prints_as(value: float | None, documented: float) -> bool:
    """Does the value, rounded to the printed number of decimals, give the documented figure?"""
    if value is None:
        return False
    return abs(round(value, _decimals(documented)) - documented) <= TOLERANCE


def _decimals(figure: float) -> int:
    exponent = Decimal(repr(figure)).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def as_printed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def as_documented(value: float | None) -> str:
    """A documented figure as its source prints it, at most four decimals."""
    return "-" if value is None else f"{value:.{min(_decimals(value), 4)}f}"


def notes(report: Report) -> list[str]:
    """One paragraph for each figure that was not compared, or that differs."""
    return [
        *_other_definitions(report),
        *_not_comparable(report),
        *_absent(report),
        *(f"Differs: {text}." for text, agrees in report.checks if not agrees),
    ]


def verdict(report: Report) -> str:
    """The last line: the number of comparisons, and whether the figures agree."""
    total = len(report.checks)
    wrong = sum(not agrees for _, agrees in report.checks)
    failed = [place.name for place in report.places if place.state == "failed"]
    trouble = {
        f"{wrong} of {total} comparisons {'differs' if wrong == 1 else 'differ'}": wrong,
        f"{' and '.join(failed)} failed": failed,
        f"required but not installed: {', '.join(report.missing)}": report.missing,
    }
    if any(trouble.values()):
        return "; ".join(text for text, is_so in trouble.items() if is_so)
    absent = [place.name for place in report.places if place.state == "not installed"]
    rest = f" (not installed, so not compared: {', '.join(absent)})" if absent else ""
    return f"all {total} comparisons agree{rest}"


def to_dict(report: Report) -> dict[str, Any]:
    return {
        "agrees": report.agrees,
        "verdict": verdict(report),
        "comparisons": len(report.checks),
        "tolerance": TOLERANCE,
        "differing": [text for text, agrees in report.checks if not agrees],
        "places": [
            {"name": p.name, "framework": p.framework, "state": p.state, "detail": p.detail}
            for p in report.places
        ],
        "rows": [_row_dict(row) for row in report.rows],
        "notes": notes(report),
    }


def _row_dict(row: Row) -> dict[str, Any]:
    return {
        "example": row.example,
        "mode": row.mode,
        "definition": row.definition,
        "documented": row.documented,
        "documented_definition": row.documented_definition,
        "documented_agrees": row.documented_agrees,
        "expected": row.expected,
        "figures": {name: cell.value for name, cell in row.cells.items()},
        "agrees": {name: cell.agrees for name, cell in row.cells.items()},
    }


def _other_definitions(report: Report) -> list[str]:
    by_source: dict[DefinitionName, list[Row]] = {}
    for row in report.rows:
        if row.documented is not None and row.documented_agrees is None:
            by_source.setdefault(row.documented_definition, []).append(row)
    texts: list[str] = []
    for name, rows in by_source.items():
        figures = "; ".join(
            f"{as_printed(row.expected)}, not {as_documented(row.documented)}, "
            f"in {row.example} ({row.mode})"
            for row in rows
            if not row.documented_fits
        )
        texts.append(
            f"(...): the source follows another definition, {name} ({DEFINITIONS[name].formula}); "
            f"its figures are compared in the rows of that definition. "
            f"The definition {rows[0].definition} gives {figures}."
        )
    return texts


def _not_comparable(report: Report) -> list[str]:
    by_reason: dict[tuple[str, str, str], list[str]] = {}
    for place in report.places:
        for key, figures in place.figures.items():
            if isinstance(figures, NotComparable):
                example, _, definition = key.partition("/")
                by_reason.setdefault((place.name, definition, figures.reason), []).append(example)
    return [
        f"n/a: {name}, {' and '.join(examples)} under the definition {definition}: {why}."
        for (name, definition, why), examples in by_reason.items()
    ]


def _absent(report: Report) -> list[str]:
    details: dict[tuple[str, str], list[str]] = {}
    for place in report.places:
        if place.state != "compared":
            details.setdefault((place.state, place.detail), []).append(place.name)
    return [f"{', '.join(names)}: {state}. {why}" for (state, why), names in details.items()]
