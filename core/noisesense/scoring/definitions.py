"""The four published definitions: which incorrect claims each mode counts, in three-valued logic.

For a response claim *i* and chunk *j*: ``noise_rel(i) = ∃j relevant(j) ∧ entails(j,i)`` and
``noise_irr(i) = ∃j ¬relevant(j) ∧ entails(j,i)``. Undetermined is None (Kleene).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from noisesense.errors import InputError, check_choice, describe

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


class Facts(NamedTuple):
    """What is known of one response claim."""

    incorrect: Truth
    noise_rel: Truth
    noise_irr: Truth
    source_irrelevant: Truth
    """Is the first chunk that entails the claim irrelevant? False if no chunk entails it."""


Rule = Callable[[Facts], Truth]
Known = tuple[Truth, Truth, Truth, Truth]
"""The fields of `Facts`, which would double the time to make."""

Category = Literal["correct", "relevant", "irrelevant", "hallucination", "undetermined"]

Outcomes = dict[Known, tuple[Truth, Truth, Category]]
"""By `Facts`: does the relevant mode count the claim, does the irrelevant mode, and its kind."""


@dataclass(frozen=True)
class Definition:
    """One published definition.

    Attributes:
        name: as passed to ``score(definition=…)``.
        relevant: does the relevant mode count this claim?
        irrelevant: does the irrelevant mode? ``None`` if the definition has no such mode.
        formula: both modes in words.
        stated_by: who uses it.
    """

    name: DefinitionName
    relevant: Rule
    irrelevant: Rule | None
    formula: str
    stated_by: str


DEFINITIONS: dict[DefinitionName, Definition] = {
    definition.name: definition
    for definition in (
        Definition(
            "ragas",
            lambda facts: all_of(facts.incorrect, facts.noise_rel),
            lambda facts: all_of(
                all_of(facts.incorrect, facts.noise_irr), negate(facts.noise_rel)
            ),
            "relevant: incorrect and entailed by a relevant chunk; "
            "irrelevant: incorrect, entailed by an irrelevant chunk and by no relevant one",
            "ragas 0.2 to 0.4 and RAGChecker's code",
        ),
        Definition(
            "paper",
            lambda facts: all_of(facts.incorrect, facts.noise_rel),
            lambda facts: all_of(facts.incorrect, facts.noise_irr),
            "relevant: incorrect and entailed by a relevant chunk; "
            "irrelevant: incorrect and entailed by an irrelevant chunk, in both if so",
            "the RAGChecker paper and ragas' how-to page",
        ),
        Definition(
            "promptfoo",
            lambda facts: facts.incorrect,
            lambda facts: all_of(facts.incorrect, facts.source_irrelevant),
            "relevant: incorrect; "
            "irrelevant: incorrect and the first chunk that entails it is irrelevant",
            "an unmerged Promptfoo assertion and its comparison page",
        ),
        Definition(
            "validmind",
            lambda facts: facts.incorrect,
            None,
            "incorrect; there is no irrelevant mode",
            "ValidMind's test and the formula printed in ragas' documents",
        ),
    )
}


def check_definition(name: str) -> Definition:
    """The definition of that name. Raises `InputError`."""
    definition = DEFINITIONS.get(cast(DefinitionName, name)) if isinstance(name, str) else None
    if definition is None:
        options = ", ".join(map(repr, DEFINITIONS))
        raise InputError(f"one of {options}", describe(name), where="definition")
    return definition


def modes_of(name: DefinitionName) -> tuple[Mode, ...]:
    """The modes that the definition has."""
    return MODES if DEFINITIONS[name].irrelevant else MODES[:1]


@cache
def outcomes(name: DefinitionName) -> Outcomes:
    """Does each mode count a claim? For all 81 possible facts: scoring looks them up."""
    rules = DEFINITIONS[name]
    return {
        facts: (
            rules.relevant(facts),
            rules.irrelevant(facts) if rules.irrelevant else None,
            _category(facts),
        )
        for facts in map(Facts._make, product((True, False, None), repeat=4))
    }


@cache
def chunk_modes(name: DefinitionName) -> tuple[Mode, ...]:
    """The modes that count only what comes from a chunk: no wrong claim that no chunk entails."""
    counted = outcomes(name)[True, False, False, False][:2]
    return tuple(
        mode for mode, is_counted in zip(MODES, counted, strict=True) if is_counted is False
    )


def check_mode(mode: str) -> Mode:
    """The mode of that name. Raises `InputError`."""
    return check_choice(mode, MODES, "mode")


CORRECT: Known = (False, None, None, None)


class Relevance(NamedTuple):
    """Two sets of chunk positions; a chunk in neither is irrelevant."""

    yes: set[int]
    """Relevant."""
    perhaps: set[int]
    """Relevant or undetermined."""


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
    return Relevance(yes, yes | unknown if unknown else yes)


def claim_facts(claim: ResponseClaimForm, relevant: Relevance) -> Known:
    """What is known of a claim. A correct one cannot count, however its cells fall."""
    correct = claim.correct
    if correct:
        return CORRECT
    sure, maybe = claim.entailed_by, claim.undetermined
    possible = sure + maybe if maybe else sure
    yes, perhaps = relevant
    noise_rel: Truth = None
    if not yes.isdisjoint(sure):
        noise_rel = True
    elif perhaps.isdisjoint(possible):
        noise_rel = False
    noise_irr = source_irr = None
    if yes.issuperset(possible):
        noise_irr = source_irr = False
    else:
        if not perhaps.issuperset(sure):
            noise_irr = True
        source_irr = _source_irrelevant(sure, maybe, relevant)
    return (None if correct is None else True), noise_rel, noise_irr, source_irr


def _source_irrelevant(
    sure: tuple[int, ...], maybe: tuple[int, ...], relevant: Relevance
) -> Truth:
    """Is the first entailing chunk irrelevant? Every chunk that may be the first has its say."""
    candidates = sure[:1]
    if maybe:
        candidates += tuple(j for j in maybe if not sure or j < sure[0])
    if relevant.yes.issuperset(candidates):
        return False
    # Without a certain source there may be none, and a claim without one does not count.
    return True if sure and relevant.perhaps.isdisjoint(candidates) else None


def _category(facts: Facts) -> Category:
    """The part of the partition a claim is in; undetermined if more than one is possible."""
    incorrect, noise_rel, noise_irr, _ = facts
    if incorrect is False:
        return "correct"
    if incorrect is None or noise_rel is None or (not noise_rel and noise_irr is None):
        return "undetermined"
    if noise_rel:
        return "relevant"
    return "irrelevant" if noise_irr else "hallucination"
