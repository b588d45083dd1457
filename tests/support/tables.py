"""Random verdict tables: from a seed (the same on every machine), and as hypothesis strategies."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from noisesense import Matrices, Sample, Verdicts


@dataclass(frozen=True)
class Shape:
    """What a random table may look like: inclusive ranges, and the odds of the rarer cells."""

    response_claims: tuple[int, int] = (0, 12)
    reference_claims: tuple[int, int] = (1, 8)
    chunks: tuple[int, int] = (1, 15)
    undetermined: float = 0.0
    labeled: float = 0.0


DEFAULT = Shape()


def random_matrices(rng: random.Random, shape: Shape = DEFAULT) -> Matrices:
    """One table. How often cells are true differs from table to table, so that all cases occur."""
    responses = rng.randint(*shape.response_claims)
    references = rng.randint(*shape.reference_claims)
    chunks = rng.randint(*shape.chunks)
    correct = rng.random()
    entailed = rng.random() ** 2
    relevant = rng.random() ** 2

    def cell(odds: float) -> bool | None:
        value = rng.random() < odds
        return None if rng.random() < shape.undetermined else value

    return {
        "reference_to_response": [cell(correct) for _ in range(responses)],
        "chunks_to_response": [[cell(entailed) for _ in range(chunks)] for _ in range(responses)],
        "chunks_to_reference": [
            [cell(relevant) for _ in range(chunks)] for _ in range(references)
        ],
        "relevant": [
            rng.random() < 0.5 if rng.random() < shape.labeled else None for _ in range(chunks)
        ],
    }


def sample_of(verdicts: Verdicts, question: str, **texts: str) -> Sample:
    """A response and a reference that are their claims, one after another."""
    said = {
        "response": " ".join(claim.text for claim in verdicts.response_claims),
        "reference": " ".join(claim.text for claim in verdicts.reference_claims),
    }
    chunks = verdicts.chunks or ()
    return Sample(user_input=question, retrieved_contexts=chunks, **{**said, **texts})


def random_pair(seed: int, shape: Shape = DEFAULT) -> tuple[Sample, Verdicts]:
    """A table with texts. The sample's contexts carry the labels.

    No text is part of another, within and across seeds, so that a scripted model can tell from
    a prompt which sample, claims and chunks it is asked about.
    """
    table = random_matrices(random.Random(seed), shape)
    name = f"({seed})"
    labels = table["relevant"] or []
    responses = len(table["reference_to_response"])
    references = len(table["chunks_to_reference"] or [])
    response_claims = [f"Response {name} claims fact {i}." for i in range(responses)]
    reference_claims = [f"Reference {name} states fact {g}." for g in range(references)]
    chunks = [f"Passage {name} number {j} of the archive." for j in range(len(labels))]
    verdicts = Verdicts.from_matrices(
        **table, response_claims=response_claims, reference_claims=reference_claims, chunks=chunks
    )
    texts: dict[str, str] = {}
    if not responses:
        texts["response"] = f"I cannot tell about case {name}."
    if not references:
        texts["reference"] = f"Nothing is known of case {name}."
    return sample_of(verdicts, f"What does the archive say about case {name}?", **texts), verdicts


def random_pairs(
    count: int, *, seed: int = 0, shape: Shape = DEFAULT
) -> Iterator[tuple[Sample, Verdicts]]:
    """``count`` different pairs; the same for the same arguments."""
    for i in range(count):
        yield random_pair(seed + i, shape)


@st.composite
def matrices(
    draw: st.DrawFn,
    *,
    response_claims: tuple[int, int] = (0, 6),
    reference_claims: tuple[int, int] = (0, 4),
    chunks: tuple[int, int] = (0, 6),
    undetermined: bool = True,
    labels: bool = True,
) -> Matrices:
    """Tables as hypothesis draws and shrinks them."""
    cell = st.sampled_from([False, True, None] if undetermined else [False, True])
    width = draw(st.integers(*chunks))
    height = draw(st.integers(*response_claims))
    depth = draw(st.integers(*reference_claims))
    row = st.lists(cell, min_size=width, max_size=width)
    label = st.sampled_from([None, False, True]) if labels else st.none()
    return {
        "reference_to_response": draw(st.lists(cell, min_size=height, max_size=height)),
        "chunks_to_response": draw(st.lists(row, min_size=height, max_size=height)),
        "chunks_to_reference": draw(st.lists(row, min_size=depth, max_size=depth)),
        "relevant": draw(st.lists(label, min_size=width, max_size=width)),
    }


def verdicts(**shape: Any) -> st.SearchStrategy[Verdicts]:
    """As `matrices`, with its arguments, read as `Verdicts`."""
    return matrices(**shape).map(lambda table: Verdicts.from_matrices(**table))
