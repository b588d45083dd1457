"""RAGChecker's noise sensitivity, written anew over numpy the way it computes it.

It reads label lists, turns each row into an array of its own, stacks the rows, and takes maxima
over axes: the same steps as its code, in which an unlabeled cell is a no.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from noisesense import Matrices


class Labels(NamedTuple):
    """One sample as RAGChecker's files hold it."""

    answer2response: list[str]
    retrieved2response: list[list[str]]
    retrieved2answer: list[list[str]]


def as_labels(table: Matrices) -> Labels:
    """A table without labeled chunks in RAGChecker's words; what is missing becomes Neutral."""
    return Labels(
        [_label(cell) for cell in table["reference_to_response"]],
        [[_label(cell) for cell in row] for row in table["chunks_to_response"]],
        [[_label(cell) for cell in row] for row in table["chunks_to_reference"] or []],
    )


def _label(cell: bool | None) -> str:
    return "Entailment" if cell else "Neutral"


def as_arrays(labels: Any) -> Any:
    """Nested labels as nested arrays, row by row."""
    if isinstance(labels, str):
        return labels == "Entailment"
    return np.array([as_arrays(label) for label in labels])


def noise_sensitivity_of_labels(labels: Labels) -> tuple[float, float]:
    """(relevant, irrelevant), the conversion included."""
    correct, response, reference = map(as_arrays, labels)
    return noise_sensitivity(correct, response, reference)


def noise_sensitivity(correct: Any, response: Any, reference: Any) -> tuple[float, float]:
    """(relevant, irrelevant) from arrays: ``[R]``, ``[R][C]`` and ``[G][C]``."""
    if not len(correct) or not len(response[0]) or not len(reference):
        return 0.0, 0.0
    useful = np.max(reference, axis=0, keepdims=True)
    from_useful = np.max(useful & response, axis=1)
    useless = ~np.max(reference, axis=0, keepdims=True)  # anew, as there
    from_useless = np.max(useless & response, axis=1)
    from_useless &= ~from_useful
    wrong = ~correct
    return float(np.mean(from_useful & wrong)), float(np.mean(from_useless & wrong))
