"""The demo's figures beside those derived by hand and those that the sources print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from noisesense.fixtures import ReferenceExample
from noisesense.scoring.definitions import MODES, DefinitionName, Mode

Pair = tuple[float | None, float | None]
"""A run's figures in the order of `MODES`; None where they are undefined."""

DOCUMENTED = "documented"
TOLERANCE = 1e-12


class Run(NamedTuple):
    """One example under one definition."""

    example: ReferenceExample
    definition: DefinitionName


def runs_of(examples: Sequence[ReferenceExample]) -> list[Run]:
    """Every example under ragas' definition, then each with another one under its own."""
    others = [each for each in examples if each.documented_definition != "ragas"]
    return [
        *(Run(each, "ragas") for each in examples),
        *(Run(each, each.documented_definition) for each in others),
    ]


class Place(NamedTuple):
    """The core, or one entry point of a framework.

    Attributes:
        name: e.g. ``"DeepEval evaluate"``.
        state: whether it gave figures.
        detail: the version, or why there are none.
        figures: of each run, in their order.
    """

    name: str
    state: Literal["compared", "not installed", "failed"]
    detail: str
    figures: Sequence[Pair] = ()


@dataclass(frozen=True)
class Row:
    """One example, mode and definition.

    Attributes:
        expected: the figure derived by hand.
        figures: of each place that gave one; and the one that the source prints, where it prints
            one and follows this definition.
    """

    example: str
    mode: Mode
    definition: DefinitionName
    expected: float | None
    figures: dict[str, float | None]

    def agrees(self, name: str) -> bool:
        """Is it the expected figure? A documented one counts to the precision printed."""
        figure, expected = self.figures[name], self.expected
        if figure is None or expected is None:
            return figure is expected
        if name == DOCUMENTED:
            expected = round(expected, len(str(figure).partition(".")[2]))
        return abs(figure - expected) <= TOLERANCE


@dataclass(frozen=True)
class Report:
    """All places, and all figures side by side."""

    places: Sequence[Place]
    rows: Sequence[Row]

    @property
    def differing(self) -> list[str]:
        """The figures that are not the expected ones, in words."""
        return [
            f"{row.example}, {row.mode}, definition {row.definition}: {name} is {shown(figure)}, "
            f"not {shown(row.expected)}"
            for row in self.rows
            for name, figure in row.figures.items()
            if not row.agrees(name)
        ]

    @property
    def agrees(self) -> bool:
        """Nothing differs, and no place failed."""
        return not self.differing and all(place.state != "failed" for place in self.places)

    @property
    def verdict(self) -> str:
        """The last line: the number of comparisons, and whether the figures agree."""
        total, differing = sum(len(row.figures) for row in self.rows), len(self.differing)
        failed = [place.name for place in self.places if place.state == "failed"]
        if differing:
            return f"{differing} of {total} comparisons differ"
        return f"{', '.join(failed)} failed" if failed else f"all {total} comparisons agree"

    @property
    def notes(self) -> Iterator[str]:
        """A line for each place without figures, and for each figure that differs."""
        for place in self.places:
            if place.state != "compared":
                yield f"{place.name}: {place.state}. {place.detail}"
        for text in self.differing:
            yield f"Differs: {text}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        places = {place.name: f"{place.state}: {place.detail}" for place in self.places}
        rows = [asdict(row) for row in self.rows]
        return {"agrees": self.agrees, "verdict": self.verdict, "places": places, "rows": rows}


def compare(runs: Sequence[Run], places: Sequence[Place]) -> Report:
    """Every place, and every source, against the figures derived by hand."""
    rows: list[Row] = []
    for number, (example, definition) in enumerate(runs):
        for end, mode in enumerate(MODES):
            figures = {p.name: p.figures[number][end] for p in places if p.state == "compared"}
            if mode in example.documented and definition == example.documented_definition:
                figures = {DOCUMENTED: example.documented[mode], **figures}
            expected = example.expected[definition][end]
            rows.append(Row(example.id, mode, definition, expected, figures))
    return Report(places, rows)


def shown(figure: float | None) -> str:
    """A figure as the demo prints it."""
    return "undefined" if figure is None else f"{figure:.4f}"
