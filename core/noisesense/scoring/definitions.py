"""The four published definitions: which incorrect claims each mode counts, in three-valued logic.

For a response claim *i* and chunk *j*: ``noise_rel(i) = ∃j relevant(j) ∧ entails(j,i)`` and
``noise_irr(i) = ∃j ¬relevant(j) ∧ entails(j,i)``. Undetermined is None (Kleene).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from noisesense.errors import check_choice

if TYPE_CHECKING:
    from noisesense.verdicts.form import ResponseClaimForm, VerdictsForm

Truth = bool | None


def negate(value: Truth) -> Truth:
    """¬value: what is undetermined stays so."""
    return None if value is None else not value


def all_of(left: Truth, right: Truth) -> Truth:
    """left ∧ right: false wins over undetermined."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


Mode = Literal["relevant", "irrelevant"]
DefinitionName = Literal["ragas", "paper", "promptfoo", "validmind"]

MODES: tuple[Mode, ...] = get_args(Mode)
_NAMES: tuple[DefinitionName, ...] = get_args(DefinitionName)


class Facts(NamedTuple):
    """What is known of one response claim."""

    incorrect: Truth
    entailed: Truth
    """Does a chunk entail the claim?"""
    noise_rel: Truth
    noise_irr: Truth
    source_irrelevant: Truth
    """Is the first chunk that entails the claim irrelevant? False if no chunk entails it."""


Rule = Callable[[Facts], Truth]
Known = tuple[Truth, Truth, Truth, Truth, Truth]
"""The fields of `Facts`, which would double the time to make."""

Category = Literal["correct", "relevant", "irrelevant", "hallucination", "undetermined"]


class Outcome(NamedTuple):
    """What became of one response claim."""

    category: Category
    relevant: Truth
    """Does the relevant mode count it?"""
    irrelevant: Truth
    """Does the irrelevant mode? None, too, if the definition has no such mode."""
    from_a_chunk: Truth
    """Is it incorrect and entailed by a chunk, relevant or not?"""


TRUTHS: tuple[Truth, ...] = (True, False, None)
OUTCOMES = tuple(map(Outcome._make, product(get_args(Category), *[TRUTHS] * 3)))
"""Scores keep an outcome as its number here: one byte a claim."""


@dataclass(frozen=True)
class Definition:
    """One published definition.

    Attributes:
        name: as passed to ``score(definition=…)``.
        relevant: does the relevant mode count this claim, if it is incorrect?
        irrelevant: does the irrelevant mode? ``None`` if the definition has no such mode.
        words: what each mode counts, after "not supported by the reference".
        stated_by: who uses it.
    """

    name: DefinitionName
    relevant: Rule
    irrelevant: Rule | None
    words: tuple[str, ...]
    stated_by: str


DEFINITIONS: dict[DefinitionName, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            "ragas",
            lambda facts: facts.noise_rel,
            lambda facts: all_of(facts.noise_irr, negate(facts.noise_rel)),
            (" but entailed by a relevant chunk", " but entailed by irrelevant chunks only"),
            "ragas 0.2 to 0.4 and RAGChecker's code",
        ),
        Definition(
            "paper",
            lambda facts: facts.noise_rel,
            lambda facts: facts.noise_irr,
            (" but entailed by a relevant chunk", " but entailed by an irrelevant chunk"),
            "the RAGChecker paper and ragas' how-to page",
        ),
        Definition(
            "promptfoo",
            lambda _: True,
            lambda facts: facts.source_irrelevant,
            ("", ", with an irrelevant chunk as its source"),
            "an unmerged Promptfoo assertion and its comparison page",
        ),
        Definition(
            "validmind",
            lambda _: True,
            None,
            ("",),
            "ValidMind's test and the formula printed in ragas' documents",
        ),
    )
}


def check_definition(name: str) -> Definition:
    """The definition of that name. Raises `InputError`."""
    known: DefinitionName = check_choice(name, _NAMES, "definition")
    return DEFINITIONS[known]


@cache
def modes_of(name: DefinitionName) -> tuple[Mode, ...]:
    """The modes that the definition has."""
    return MODES if DEFINITIONS[name].irrelevant else MODES[:1]


@cache
def outcome_numbers(name: DefinitionName) -> dict[Known, int]:
    """The number in `OUTCOMES` of what becomes of a claim, by all possible facts."""
    definition, numbers = DEFINITIONS[name], dict[Known, int]()
    rules = definition.relevant, definition.irrelevant
    for facts in map(Facts._make, product(TRUTHS, repeat=len(Facts._fields))):
        counts = [all_of(facts.incorrect, rule(facts)) if rule else None for rule in rules]
        counts.append(all_of(facts.incorrect, facts.entailed))
        numbers[facts] = OUTCOMES.index(Outcome(_category(facts), *counts))
    return numbers


@cache
def chunk_modes(name: DefinitionName) -> tuple[Mode, ...]:
    """The modes that count only what comes from a chunk: no wrong claim that no chunk entails."""
    made_up = OUTCOMES[outcome_numbers(name)[Facts(True, *[False] * 4)]]
    return tuple(mode for mode in MODES if getattr(made_up, mode) is False)


def check_mode(mode: str) -> Mode:
    """The mode of that name. Raises `InputError`."""
    return check_choice(mode, MODES, "mode")


CORRECT: Known = (False, None, None, None, None)
"""A correct claim cannot count, however its cells fall."""


Relevance = tuple[set[int], set[int]]
"""The positions of the relevant chunks, and of those that are relevant or undetermined."""


def relevance(verdicts: VerdictsForm) -> Relevance:
    """Which chunks are relevant: by label, else iff they entail a reference claim."""
    yes: set[int] = set()
    unknown: set[int] = set()
    for claim in verdicts.reference_claims:
        if sure := claim.entailed_by:
            yes.update(sure)
        if maybe := claim.undetermined:
            unknown.update(maybe)
    if not verdicts.reference_claims:
        unknown.update(range(verdicts.chunk_count))
    labels = [chunk.relevant for chunk in verdicts.chunks or ()]
    if labels.count(None) < len(labels):
        unlabeled = {j for j, label in enumerate(labels) if label is None}
        yes = yes & unlabeled | {j for j, label in enumerate(labels) if label}
        unknown &= unlabeled
    return yes, yes | unknown if unknown else yes


def claim_facts(claim: ResponseClaimForm, relevant: Relevance) -> Known:
    """What is known of a claim that is not correct. Of one that is, `CORRECT` is enough."""
    incorrect = None if claim.correct is None else True
    sure, maybe = claim.entailed_by, claim.undetermined
    possible = sure + maybe if maybe else sure
    entailed = True if sure else None if maybe else False
    yes, perhaps = relevant
    noise_rel = not yes.isdisjoint(sure) or (False if perhaps.isdisjoint(possible) else None)
    if yes.issuperset(possible):
        return incorrect, entailed, noise_rel, False, False
    # Every chunk that may be the first to entail the claim has its say on the source. Without a
    # certain source there may be none, and a claim without one does not count.
    first = sure[:1]
    if maybe:
        first += tuple(j for j in maybe if not sure or j < sure[0])
    is_irrelevant = bool(sure) and perhaps.isdisjoint(first)
    source_irrelevant = is_irrelevant or (False if yes.issuperset(first) else None)
    noise_irr = not perhaps.issuperset(sure) or None
    return incorrect, entailed, noise_rel, noise_irr, source_irrelevant


def _category(facts: Facts) -> Category:
    """The part of the partition a claim is in; undetermined if more than one is possible."""
    incorrect, _, noise_rel, noise_irr, _ = facts
    if incorrect is False:
        return "correct"
    if incorrect is None or noise_rel is None or (not noise_rel and noise_irr is None):
        return "undetermined"
    if noise_rel:
        return "relevant"
    return "irrelevant" if noise_irr else "hallucination"
