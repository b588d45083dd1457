"""The four definitions once more, from their words, for tables without open questions.

Written without looking at the core's way: nested lists, quantifiers, exact fractions.
"""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from itertools import product
from typing import Any

from noisesense import Matrices

Counted = dict[tuple[str, str], list[bool]]


def relevant_chunks(table: Matrices) -> list[bool]:
    """Labeled so, or, without a label, entailing a claim of the reference."""
    reference = table["chunks_to_reference"] or []
    labels = table["relevant"] or []
    return [
        any(row[j] for row in reference) if label is None else label
        for j, label in enumerate(labels)
    ]


def counted_by_words(table: Matrices) -> Counted:
    """For each definition and mode: is each response claim counted?"""
    relevant = relevant_chunks(table)
    claims = zip(table["reference_to_response"], table["chunks_to_response"], strict=True)
    found: Counted = {}
    for correct, row in claims:
        sources = [relevant[j] for j, entails in enumerate(row) if entails]
        for key, counts in _counts(sources).items():
            found.setdefault(key, []).append(counts and not correct)
    if not relevant:  # nothing retrieved: only who asks for no chunk has something to measure
        whatever = {("promptfoo", "relevant"), ("validmind", "relevant")}
        return {key: answers for key, answers in found.items() if key in whatever}
    return found


def _counts(sources: list[bool]) -> dict[tuple[str, str], bool]:
    """Is an incorrect claim counted? By whether each chunk that entails it is relevant."""
    return {
        ("ragas", "relevant"): True in sources,
        ("ragas", "irrelevant"): False in sources and True not in sources,
        ("paper", "relevant"): True in sources,
        ("paper", "irrelevant"): False in sources,
        ("promptfoo", "relevant"): True,
        ("promptfoo", "irrelevant"): sources[:1] == [False],
        ("validmind", "relevant"): True,
    }


def category_by_words(table: Matrices, i: int) -> str:
    """The one of the four kinds that response claim *i* is of."""
    if table["reference_to_response"][i]:
        return "correct"
    relevant = relevant_chunks(table)
    sources = [relevant[j] for j, entails in enumerate(table["chunks_to_response"][i]) if entails]
    if not sources:
        return "hallucination"
    return "relevant" if any(sources) else "irrelevant"


def by_words(table: Matrices, definition: str, mode: str) -> Fraction | None:
    """The value; None without response claims, or chunks, or where there is no such mode."""
    counted = counted_by_words(table).get((definition, mode))
    return None if not counted else Fraction(sum(counted), len(counted))


def open_cells(table: Matrices) -> list[tuple[Any, ...]]:
    """Every place where a verdict is missing: (name, row, column) or (name, position)."""
    places: list[tuple[Any, ...]] = []
    for i, cell in enumerate(table["reference_to_response"]):
        if cell is None:
            places.append(("reference_to_response", i))
    for name in ("chunks_to_response", "chunks_to_reference"):
        for i, row in enumerate(table[name] or []):  # type: ignore[literal-required]
            places += [(name, i, j) for j, cell in enumerate(row) if cell is None]
    if not table["chunks_to_reference"]:
        # Nothing derives a chunk's relevance: the missing label itself is the open question.
        places += [
            ("relevant", j) for j, label in enumerate(table["relevant"] or []) if label is None
        ]
    return places


def completions(table: Matrices) -> list[Matrices]:
    """Every way the missing verdicts may fall: 2ⁿ tables for n of them."""
    places = open_cells(table)
    found: list[Matrices] = []
    for values in product((True, False), repeat=len(places)):
        filled: Any = deepcopy(table)
        for (name, *where), value in zip(places, values, strict=True):
            target = filled[name]
            for index in where[:-1]:
                target = target[index]
            target[where[-1]] = value
        found.append(filled)
    return found
