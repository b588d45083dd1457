"""The demo's values beside those derived by hand and those that the sources publish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from noisesense.fixtures import ReferenceExample
from noisesense.scoring.definitions import MODES, DefinitionName, Mode

Pair = tuple[float | None, float | None]
"""The values of a run in the order of `MODES`; None is undefined."""

DOCUMENTED = "documented"
"""The name of the published figures, beside those of the places."""
TOLERANCE = 1e-12


class Run(NamedTuple):
    """One example under one definition."""

    example: ReferenceExample
    definition: DefinitionName


def runs_of(examples: Sequence[ReferenceExample]) -> list[Run]:
    """All examples under ragas' definition, then those of other definitions under their own."""
    runs = [Run(example, "ragas") for example in examples]
    for example in examples:
        if example.documented_definition != "ragas":
            runs.append(Run(example, example.documented_definition))
    return runs


class Place(NamedTuple):
    """The core, or one entry point of a framework.

    Attributes:
        name: e.g. ``"DeepEval"``.
        state: whether there are values.
        detail: the version, or why there are no values.
        figures: the values of each run, in the order of the runs.
    """

    name: str
    state: Literal["compared", "not installed", "failed"]
    detail: str
    figures: Sequence[Pair] = ()


@dataclass(frozen=True)
class Row:
    """One example under one definition, in one mode.

    Attributes:
        expected: the value derived by hand.
        figures: the value of each place, and the published one if it follows this definition.
    """

    example: str
    mode: Mode
    definition: DefinitionName
    expected: float | None
    figures: dict[str, float | None]

    def agrees(self, name: str) -> bool:
        """Is the figure the expected value? A published one is compared to its precision."""
        figure = self.figures[name]
        expected = self.expected
        if figure is None or expected is None:
            return figure is expected
        if name == DOCUMENTED:
            decimals = str(figure).partition(".")[2]
            expected = round(expected, len(decimals))
        return abs(figure - expected) <= TOLERANCE


@dataclass(frozen=True)
class Report:
    """All places, and all values side by side."""

    places: Sequence[Place]
    rows: Sequence[Row]

    @property
    def differing(self) -> list[str]:
        """The values that are not the expected ones, in words."""
        sentences: list[str] = []
        for row in self.rows:
            subject = f"{row.example}, {row.mode}, definition {row.definition}"
            expected = shown(row.expected)
            for name, figure in row.figures.items():
                if not row.agrees(name):
                    sentences.append(f"{subject}: {name} is {shown(figure)}, not {expected}")
        return sentences

    @property
    def failed(self) -> list[str]:
        """The names of the places that failed."""
        return [place.name for place in self.places if place.state == "failed"]

    @property
    def agrees(self) -> bool:
        """Whether no value differs, and no place failed."""
        return not self.differing and not self.failed

    @property
    def verdict(self) -> str:
        """The last line: the number of comparisons, and whether the values agree."""
        total = sum(len(row.figures) for row in self.rows)
        if self.differing:
            return f"{len(self.differing)} of {total} comparisons differ"
        if self.failed:
            return f"{', '.join(self.failed)} failed"
        return f"all {total} comparisons agree"

    @property
    def notes(self) -> Iterator[str]:
        """A line for each place without values, and for each value that differs."""
        for place in self.places:
            if place.state != "compared":
                yield f"{place.name}: {place.state}. {place.detail}"
        for text in self.differing:
            yield f"Differs: {text}."

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        places = {place.name: f"{place.state}: {place.detail}" for place in self.places}
        rows = [asdict(row) for row in self.rows]
        return {"agrees": self.agrees, "verdict": self.verdict, "places": places, "rows": rows}


def compare(runs: Sequence[Run], places: Sequence[Place]) -> Report:
    """Compare all places and all sources with the values derived by hand."""
    rows: list[Row] = []
    compared = [place for place in places if place.state == "compared"]
    for number, (example, definition) in enumerate(runs):
        for position, mode in enumerate(MODES):
            figures: dict[str, float | None] = {}
            if mode in example.documented and definition == example.documented_definition:
                figures[DOCUMENTED] = example.documented[mode]
            for place in compared:
                figures[place.name] = place.figures[number][position]
            expected = example.expected[definition][position]
            rows.append(Row(example.id, mode, definition, expected, figures))
    return Report(places, rows)


def shown(figure: float | None) -> str:
    """A value as the demo prints it."""
    return "undefined" if figure is None else f"{figure:.4f}"
