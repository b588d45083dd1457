"""The reference examples and the deviations: what the shipped data says is what is computed."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import Score, Verdicts, score
from noisesense.fixtures import ReferenceExample, reference_examples
from noisesense.scoring.definitions import DEFINITIONS
from support.published import Deviation, RagcheckerExample, deviations, ragchecker_examples

EXAMPLES = reference_examples()
CHECKED = [deviation for deviation in deviations() if "figures" in deviation.evidence]


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_reference_examples_have_their_figures_in_each_definition(
    example: ReferenceExample, definition: Any
) -> None:
    result = score(example.verdicts, definition=definition)
    assert (result.relevant, result.irrelevant) == example.expected[definition]
    for mode, value in zip(("relevant", "irrelevant"), example.expected[definition], strict=True):
        assert result.bounds(mode) == (None if value is None else (value, value))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_documented_figures_are_those_of_their_definition(example: ReferenceExample) -> None:
    result = score(example.verdicts, definition=example.documented_definition)
    assert example.documented
    for mode, printed in example.documented.items():
        # As many digits as are printed.
        digits = len(str(printed).partition(".")[2])
        value = result.value(mode)
        assert value is not None
        assert round(value, digits) == printed


def test_every_definition_is_pinned() -> None:
    """No two definitions give the same figures on all examples and deviations."""
    verdicts = [example.verdicts for example in EXAMPLES]
    verdicts += [_verdicts(deviation) for deviation in CHECKED]
    figures = {
        name: [(s.relevant, s.irrelevant) for s in (score(v, definition=name) for v in verdicts)]
        for name in DEFINITIONS
    }
    assert len({str(found) for found in figures.values()}) == len(DEFINITIONS)


@pytest.mark.parametrize("example", ragchecker_examples(), ids=lambda example: example.id)
def test_ragcheckers_published_figures_are_what_is_computed(example: RagcheckerExample) -> None:
    """None has irrelevant noise: what tells the modes apart is tested above."""
    result = score(example.verdicts)
    expected = example.expected
    chunks = result.chunk_relevance
    found = {
        "noise_sensitivity_in_relevant": result.relevant,
        "noise_sensitivity_in_irrelevant": result.irrelevant,
        "hallucination": result.partition.share("hallucination"),
        "precision": result.partition.share("correct"),
        "context_precision": chunks.count(True) / len(chunks),
    }
    for name, value in found.items():
        assert value == pytest.approx(expected[name], abs=1e-12), name


@pytest.mark.parametrize("deviation", CHECKED, ids=lambda d: f"{d.peer} {d.id}")
def test_deviations_are_what_is_computed(deviation: Deviation) -> None:
    evidence = deviation.evidence
    verdicts = _verdicts(deviation)
    assert _figures(score(verdicts)) == evidence["noisesense"]
    arguments = {name: evidence[name] for name in ("definition", "empty") if name in evidence}
    if arguments:
        assert _figures(score(verdicts, **arguments)) == evidence["figures"]


def _verdicts(deviation: Deviation) -> Verdicts:
    if "table" in deviation.evidence:
        return Verdicts.from_matrices(**deviation.evidence["table"])
    (example,) = (e for e in EXAMPLES if e.id == deviation.evidence["example"])
    return example.verdicts


def _figures(result: Score) -> dict[str, float | None]:
    return {"relevant": result.relevant, "irrelevant": result.irrelevant}
