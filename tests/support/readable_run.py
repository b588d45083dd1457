"""A small made-up world with readable texts, and runs in it whose verdicts follow from the texts.

Each bridge has facts. Documents state some of them: a guide truly, an old survey partly wrong, a
travel blog mostly wrong. A response repeats what one of its documents says, or makes it up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from noisesense import Chunk, Result, Sample, Verdicts, score
from noisesense.fixtures import reference_examples

_NAMES = """
Alder Gate, Birchholm, Calder Weir, Dunmore, Eastrill, Fenwick Ferry, Garrow, Hollin Mill,
Ironside, Juniper Lock, Kestrel, Larkford, Mossgill, Netherby, Oakhanger, Penrose, Quarrywell,
Ravensdale, Silverlode, Thornley
"""
_BRIDGES = [name.strip() for name in _NAMES.split(",")]
_ARCHITECTS = ("Ada Lindqvist", "Tomás Ferreira", "Ruth Okafor", "Ivo Hartmann", "Mei Tanaka")
_TOLD: dict[str, Sequence[object]] = {
    "{} Bridge opened in {}": range(1820, 1940),
    "{} Bridge was designed by {}": _ARCHITECTS,
    "{} Bridge is {} metres long": range(90, 641),
    "The towers of {} Bridge are {} metres high": range(18, 96),
    "{} Bridge has {} spans": range(3, 15),
    "{} Bridge was closed for repairs in {}": range(1946, 2020),
}
"""What is told of a bridge, and the values that it may have."""
_SOURCES = (("guide", 0.0), ("survey-1998", 0.45), ("travel-blog", 0.85))
"""Documents, and how often they are wrong."""


class _Document(NamedTuple):
    bridge: str
    id: str
    claims: dict[str, str]
    """By what is told."""


def _text(claims: Sequence[str]) -> str:
    return " ".join(f"{claim}." for claim in claims)


def readable_run(count: int, *, seed: int = 7, open_cells: float = 0.01) -> Iterator[Result]:
    """The documented reference examples, then ``count`` samples about bridges; some failed."""
    for example in reference_examples():
        yield Result(example.id, score(example.verdicts), sample=example.sample)
    rng = random.Random(seed)

    def some(bridge: str, told: str) -> str:
        return told.format(bridge, rng.choice(_TOLD[told]))

    truth = {bridge: {told: some(bridge, told) for told in _TOLD} for bridge in _BRIDGES}
    documents: list[_Document] = []
    for bridge in _BRIDGES:
        for source, wrong in _SOURCES:
            claims = {
                told: some(bridge, told) if rng.random() < wrong else truth[bridge][told]
                for told in rng.sample(list(_TOLD), 4)
            }
            path = f"{source}/{bridge.lower().replace(' ', '-')}.md"
            documents.append(_Document(bridge, path, claims))

    def claimed(bridge: str, told: str) -> str:
        """Mostly the truth, else a document's word, or something made up."""
        if rng.random() < 0.45:
            return truth[bridge][told]
        if rng.random() < 0.15:
            return some(bridge, told)
        stated = [d.claims[told] for d in documents if d.bridge == bridge and told in d.claims]
        return rng.choice(stated or [truth[bridge][told]])

    def cell(value: bool) -> bool | None:
        return None if rng.random() < open_cells else value

    for i in range(count):
        bridge = rng.choice(_BRIDGES)
        own = [d for d in documents if d.bridge == bridge]
        others = [d for d in documents if d.bridge != bridge]
        found = rng.sample(own, rng.randint(2, 3)) + rng.sample(others, rng.randint(2, 5))
        rng.shuffle(found)
        topics = rng.sample(list(_TOLD), rng.randint(2, 5))
        response = [claimed(bridge, told) for told in topics]
        reference = [truth[bridge][told] for told in topics]
        sample = Sample(
            user_input=f"What is known about {bridge} Bridge?",
            response=_text(response),
            reference=_text(reference),
            retrieved_contexts=[Chunk(text=_text([*d.claims.values()]), id=d.id) for d in found],
        )
        if rng.random() < 0.012:
            error = "JudgeError: the model could not be asked: connection reset by peer"
            yield Result(f"bridge-{i:04d}", error=error, sample=sample)
            continue
        verdicts = Verdicts.from_matrices(
            [cell(claim in reference) for claim in response],
            [[cell(claim in d.claims.values()) for d in found] for claim in response],
            [[claim in d.claims.values() for d in found] for claim in reference],
            response_claims=response,
            reference_claims=reference,
        )
        scored = score(verdicts.with_sample(sample))
        yield Result(f"bridge-{i:04d}", scored, sample=sample, judge="example judge")
