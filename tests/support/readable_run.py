"""A small made-up world with readable texts, and runs in it whose verdicts follow from the texts.

Each bridge has facts. Documents state some of them: a guide truly, an old survey partly wrong, a
travel blog mostly wrong. A response repeats what one of its documents says, or makes it up.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from noisesense import Chunk, Result, Sample, Verdicts, score
from noisesense.fixtures import reference_examples

__all__ = ["readable_run"]

_NAMES = """
Alder Gate, Birchholm, Calder Weir, Dunmore, Eastrill, Fenwick Ferry, Garrow, Hollin Mill,
Ironside, Juniper Lock, Kestrel, Larkford, Mossgill, Netherby, Oakhanger, Penrose, Quarrywell,
Ravensdale, Silverlode, Thornley
"""
_BRIDGES = [name.strip() for name in _NAMES.split(",")]
_PHRASES = {
    "opened": "{name} Bridge opened in {value}",
    "architect": "{name} Bridge was designed by {value}",
    "length": "{name} Bridge is {value} metres long",
    "height": "The towers of {name} Bridge are {value} metres high",
    "spans": "{name} Bridge has {value} spans",
    "closed": "{name} Bridge was closed for repairs in {value}",
}
_RANGES = {
    "opened": (1820, 1939),
    "length": (90, 640),
    "height": (18, 95),
    "spans": (3, 14),
    "closed": (1946, 2019),
}
_ARCHITECTS = ("Ada Lindqvist", "Tomás Ferreira", "Ruth Okafor", "Ivo Hartmann", "Mei Tanaka")
_SOURCES = (("guide", 0.0), ("survey-1998", 0.45), ("travel-blog", 0.85))


Fact = tuple[str, str, str]
"""Of a bridge: its name, what is told, and the value."""


class _Document(NamedTuple):
    id: str
    text: str
    facts: list[Fact]


class _World:
    """The truth, documents about it, and what a response says."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.truth = {(name, key): self._value(key) for name in _BRIDGES for key in _PHRASES}
        self.documents = [
            self._document(name, source, wrong) for name in _BRIDGES for source, wrong in _SOURCES
        ]

    def _value(self, key: str) -> str:
        if key == "architect":
            return self._rng.choice(_ARCHITECTS)
        return str(self._rng.randint(*_RANGES[key]))

    def _document(self, name: str, source: str, wrong: float) -> _Document:
        keys = self._rng.sample(list(_PHRASES), 4)
        facts = [
            (name, key, self._value(key) if self._rng.random() < wrong else self.truth[name, key])
            for key in keys
        ]
        path = f"{source}/{name.lower().replace(' ', '-')}.md"
        return _Document(path, _text(facts), facts)

    def claimed(self, name: str, key: str, own: list[_Document]) -> Fact:
        """Mostly the truth, else a document's word, or something made up."""
        if self._rng.random() < 0.45:
            return name, key, self.truth[name, key]
        if self._rng.random() < 0.15:
            return name, key, self._value(key)
        stated = [fact for document in own for fact in document.facts if fact[1] == key]
        return self._rng.choice(stated or [(name, key, self.truth[name, key])])


def _claims(facts: list[Fact]) -> list[str]:
    return [_PHRASES[key].format(name=name, value=value) for name, key, value in facts]


def _text(facts: list[Fact]) -> str:
    return " ".join(f"{claim}." for claim in _claims(facts))


def readable_run(count: int, *, seed: int = 7, open_cells: float = 0.01) -> Iterator[Result]:
    """The documented reference examples, then ``count`` samples about bridges; some failed."""
    for example in reference_examples():
        yield Result(example.id, score(example.verdicts), sample=example.sample)
    rng = random.Random(seed)
    world = _World(rng)
    for i in range(count):
        yield _result(rng, f"bridge-{i:04d}", world, open_cells)


def _result(rng: random.Random, name: str, world: _World, open_cells: float) -> Result:
    bridge = rng.choice(_BRIDGES)
    own = [d for d in world.documents if d.facts[0][0] == bridge]
    others = [d for d in world.documents if d not in own]
    chunks = rng.sample(own, rng.randint(2, 3)) + rng.sample(others, rng.randint(2, 5))
    rng.shuffle(chunks)
    keys = rng.sample(list(_PHRASES), rng.randint(2, 5))
    claimed = [world.claimed(bridge, key, own) for key in keys]
    reference = [(bridge, key, world.truth[bridge, key]) for key in keys]

    def cell(value: bool) -> bool | None:
        return None if rng.random() < open_cells else value

    sample = Sample(
        user_input=f"What is known about {bridge} Bridge?",
        response=_text(claimed),
        reference=_text(reference),
        retrieved_contexts=[Chunk(text=d.text, id=d.id) for d in chunks],
    )
    if rng.random() < 0.012:
        error = "JudgeError: the model could not be asked: connection reset by peer"
        return Result(name, error=error, sample=sample)
    verdicts = Verdicts.from_matrices(
        [cell(fact in reference) for fact in claimed],
        [[cell(fact in d.facts) for d in chunks] for fact in claimed],
        [[fact in d.facts for d in chunks] for fact in reference],
        response_claims=_claims(claimed),
        reference_claims=_claims(reference),
    )
    return Result(name, score(verdicts.beside(sample)), sample=sample, judge="example judge")
