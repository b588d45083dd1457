"""The demo's figures side by side: what agrees, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from noisesense.fixtures import ReferenceExample
from noisesense.scoring.definitions import MODES, DefinitionName, Mode


class Pair(NamedTuple):
    """Both modes of one run, in the order of `MODES`; None where a place says undefined."""

    relevant: float | None
    irrelevant: float | None


class ExampleRun(NamedTuple):
    """One example under one definition; ``key`` names it in texts and results."""

    example: ReferenceExample
    definition: DefinitionName

    @property
    def key(self) -> str:
        """Unique among the runs, e.g. ``mona-lisa/ragas``."""
        return f"{self.example.id}/{self.definition}"


Figures = Mapping[str, Pair]
"""A place's figures, by `ExampleRun.key`."""


class Results(NamedTuple):
    """What a place computed, and with which version of its framework."""

    version: str
    figures: Figures


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
        figures: what it computed.
    """

    name: str
    framework: str
    state: State
    detail: str
    figures: Figures = field(default_factory=dict[str, Pair])


@dataclass(frozen=True)
class Row:
    """One example, mode and definition.

    Attributes:
        expected: the figure derived by hand.
        documented: the figure that the source prints, whichever definition it follows.
        documented_agrees: whether ``expected`` rounds to it; None if there is none, or if the
            source follows another definition.
        figures: of each place that computed any; a run that it left out is a disagreement.
        agrees: whether they are the expected one.
    """

    example: str
    mode: Mode
    definition: DefinitionName
    expected: float | None
    documented: float | None
    documented_definition: DefinitionName
    documented_agrees: bool | None
    figures: Mapping[str, float | None]
    agrees: Mapping[str, bool]


@dataclass(frozen=True)
class Report:
    """All rows; ``missing`` are frameworks that were required and are not installed."""

    places: Sequence[Place]
    rows: Sequence[Row]
    missing: Sequence[str]

    @property
    def checks(self) -> list[tuple[str, bool]]:
        """Every comparison in words, and whether the figures agree."""
        checks: list[tuple[str, bool]] = []
        for row in self.rows:
            at, want = f"{row.example}, {row.mode}, definition {row.definition}", row.expected
            for name, agrees in row.agrees.items():
                got = as_printed(row.figures[name])
                checks.append((f"{at}: {name} gives {got}, not {as_printed(want)}", agrees))
            if row.documented_agrees is not None:
                text = f"documented is {as_documented(row.documented)}, not {as_printed(want)}"
                checks.append((f"{at}: {text}", row.documented_agrees))
        return checks

    @property
    def agrees(self) -> bool:
        """Nothing differs, no framework failed, and none that was required is missing."""
        failed = any(place.state == "failed" for place in self.places)
        return not failed and not self.missing and all(agrees for _, agrees in self.checks)

    @property
    def verdict(self) -> str:
        """The last line: the number of comparisons, and whether the figures agree."""
        total, wrong = len(self.checks), sum(not agrees for _, agrees in self.checks)
        failed, absent = (
            [place.name for place in self.places if place.state == state]
            for state in ("failed", "not installed")
        )
        trouble = {
            f"{wrong} of {total} comparisons {'differs' if wrong == 1 else 'differ'}": wrong,
            f"{' and '.join(failed)} failed": failed,
            f"required but not installed: {', '.join(self.missing)}": self.missing,
        }
        if any(trouble.values()):
            return "; ".join(text for text, is_so in trouble.items() if is_so)
        rest = f" (not installed, so not compared: {', '.join(absent)})" if absent else ""
        return f"all {total} comparisons agree{rest}"

    @property
    def notes(self) -> list[str]:
        """A line for what was not compared here, and one for each figure that differs."""
        others = {
            row.documented_definition: None
            for row in self.rows
            if row.documented is not None and row.documented_definition != row.definition
        }
        absent: dict[tuple[str, str], list[str]] = {}
        for place in self.places:
            if place.state != "compared":
                absent.setdefault((place.state, place.detail), []).append(place.name)
        return [
            *(
                f"(...): the source follows another definition, {name}; its figures are compared "
                "in the rows of that definition."
                for name in others
            ),
            *(f"{', '.join(names)}: {state}. {why}" for (state, why), names in absent.items()),
            *(f"Differs: {text}." for text, agrees in self.checks if not agrees),
        ]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "agrees": self.agrees,
            "verdict": self.verdict,
            "comparisons": len(self.checks),
            "tolerance": TOLERANCE,
            "differing": [text for text, agrees in self.checks if not agrees],
            "places": [
                {"name": p.name, "framework": p.framework, "state": p.state, "detail": p.detail}
                for p in self.places
            ],
            "rows": [asdict(row) for row in self.rows],
            "notes": self.notes,
        }


def compare(runs: Sequence[ExampleRun], places: Sequence[Place], missing: Sequence[str]) -> Report:
    """Every place against the figures derived by hand, and those against the documented ones."""
    compared = [place for place in places if place.state == "compared"]
    rows = [_row(run, end, compared) for run in runs for end in range(len(MODES))]
    return Report(places, rows, missing)


def _row(run: ExampleRun, end: int, places: Sequence[Place]) -> Row:
    example, mode, nothing = run.example, MODES[end], Pair(None, None)
    expected, documented = example.expected[run.definition][end], example.documented.get(mode)
    comparable = documented is not None and run.definition == example.documented_definition
    return Row(
        example=example.id,
        mode=mode,
        definition=run.definition,
        expected=expected,
        documented=documented,
        documented_definition=example.documented_definition,
        documented_agrees=_prints_as(expected, documented) if comparable else None,
        figures={place.name: place.figures.get(run.key, nothing)[end] for place in places},
        agrees={
            place.name: run.key in place.figures and _same(place.figures[run.key][end], expected)
            for place in places
        },
    )


def _same(value: float | None, expected: float | None) -> bool:
    if value is None or expected is None:
        return value is expected
    return abs(value - expected) <= TOLERANCE


def _prints_as(value: float | None, documented: float | None) -> bool:
    """Does the value, rounded to the printed number of decimals, give the documented figure?"""
    if value is None or documented is None:
        return False
    return _same(round(value, _decimals(documented)), documented)


def _decimals(figure: float) -> int:
    exponent = Decimal(repr(figure)).as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def as_printed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


def as_documented(value: float | None) -> str:
    """A documented figure as its source prints it, at most four decimals."""
    return "-" if value is None else f"{value:.{min(_decimals(value), 4)}f}"
