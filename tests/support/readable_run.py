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


class _World:
    """Bridges, what is true of each, and what documents say of them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.truth = {bridge: self._anything(bridge) for bridge in _BRIDGES}
        self.documents: list[_Document] = []
        for bridge in _BRIDGES:
            for source, wrong in _SOURCES:
                path = f"{source}/{bridge.lower().replace(' ', '-')}.md"
                self.documents.append(_Document(bridge, path, self._stated(bridge, wrong)))

    def _some(self, bridge: str, told: str) -> str:
        return told.format(bridge, self.rng.choice(_TOLD[told]))

    def _anything(self, bridge: str) -> dict[str, str]:
        return {told: self._some(bridge, told) for told in _TOLD}

    def _stated(self, bridge: str, wrong: float) -> dict[str, str]:
        """Four claims of a document that is wrong so often."""
        claims: dict[str, str] = {}
        for told in self.rng.sample(list(_TOLD), 4):
            is_wrong = self.rng.random() < wrong
            claims[told] = self._some(bridge, told) if is_wrong else self.truth[bridge][told]
        return claims

    def claimed(self, bridge: str, told: str) -> str:
        """Mostly the truth, else a document's word, or something made up."""
        if self.rng.random() < 0.45:
            return self.truth[bridge][told]
        if self.rng.random() < 0.15:
            return self._some(bridge, told)
        stated = [each.claims[told] for each in self.about(bridge) if told in each.claims]
        return self.rng.choice(stated or [self.truth[bridge][told]])

    def about(self, bridge: str) -> list[_Document]:
        return [each for each in self.documents if each.bridge == bridge]

    def retrieved(self, bridge: str) -> list[_Document]:
        own = self.about(bridge)
        others = [each for each in self.documents if each.bridge != bridge]
        found = self.rng.sample(own, self.rng.randint(2, 3))
        found += self.rng.sample(others, self.rng.randint(2, 5))
        self.rng.shuffle(found)
        return found

    def result(self, name: str, open_cells: float) -> Result:
        bridge = self.rng.choice(_BRIDGES)
        found = self.retrieved(bridge)
        topics = self.rng.sample(list(_TOLD), self.rng.randint(2, 5))
        response = [self.claimed(bridge, told) for told in topics]
        reference = [self.truth[bridge][told] for told in topics]
        sample = Sample(
            user_input=f"What is known about {bridge} Bridge?",
            response=_text(response),
            reference=_text(reference),
            retrieved_contexts=[Chunk(text=_text([*d.claims.values()]), id=d.id) for d in found],
        )
        if self.rng.random() < 0.012:
            error = "JudgeError: the model could not be asked: connection reset by peer"
            return Result(name, error=error, sample=sample)

        def cell(value: bool) -> bool | None:
            return None if self.rng.random() < open_cells else value

        said = [[*d.claims.values()] for d in found]
        verdicts = Verdicts.from_matrices(
            [cell(claim in reference) for claim in response],
            [[cell(claim in claims) for claims in said] for claim in response],
            [[claim in claims for claims in said] for claim in reference],
            response_claims=response,
            reference_claims=reference,
        )
        scored = score(verdicts.with_sample(sample))
        return Result(name, scored, sample=sample, judge="example judge")


def readable_run(count: int, *, seed: int = 7, open_cells: float = 0.01) -> Iterator[Result]:
    """The documented reference examples, then ``count`` samples about bridges; some failed."""
    for example in reference_examples():
        yield Result(example.id, score(example.verdicts), sample=example.sample)
    world = _World(random.Random(seed))
    for i in range(count):
        yield world.result(f"bridge-{i:04d}", open_cells)
