"""The published definitions: which incorrect claims each mode counts, in three-valued logic.

For a response claim *i* and chunk *j*: ``noise_rel(i) = ∃j relevant(j) ∧ entails(j,i)`` and
``noise_irr(i) = ∃j ¬relevant(j) ∧ entails(j,i)``. Undetermined is None (Kleene's logic).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from noisesense.errors import InputError, check_choice

if TYPE_CHECKING:
    from noisesense.verdicts.form import ClaimForm, VerdictsForm

Truth = bool | None


def negate(value: Truth) -> Truth:
    """Return ¬value: what is undetermined stays so."""
    return None if value is None else not value


def all_of(left: Truth, right: Truth) -> Truth:
    """Return left ∧ right: false wins over undetermined."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def any_of(values: Iterable[Truth]) -> Truth:
    """Return whether any value is true: true wins over undetermined; false without values."""
    result: Truth = False
    for value in values:
        if value:
            return True
        if value is None:
            result = None
    return result


Mode = Literal["relevant", "irrelevant"]
DefinitionName = Literal["ragas", "paper", "promptfoo", "validmind"]

MODES: tuple[Mode, ...] = get_args(Mode)


Evidence = tuple[tuple[Truth, Truth], ...]
"""A pair for each chunk that entails a claim, or may: is it relevant, and does it entail it?

The chunks are in rank order. Others are left out, so no rule can ask what a claim is *not*
entailed by.
"""


class Facts(NamedTuple):
    """What is known of one response claim."""

    incorrect: Truth
    entailed: Truth
    """Does a chunk entail the claim?"""
    noise_rel: Truth
    noise_irr: Truth
    source_irrelevant: Truth
    """Is the first chunk that entails the claim irrelevant? False if no chunk entails it."""

    @staticmethod
    def of(correct: Truth, evidence: Evidence) -> Facts:
        """Return what is known of a claim. Without evidence all but ``incorrect`` are False.

        This module's docstring has the formulas of ``noise_rel`` and ``noise_irr``.
        """
        from_a_chunk: list[Truth] = []
        from_a_relevant: list[Truth] = []
        from_an_irrelevant: list[Truth] = []
        for relevant, entails in evidence:
            from_a_chunk.append(entails)
            from_a_relevant.append(all_of(relevant, entails))
            from_an_irrelevant.append(all_of(negate(relevant), entails))
        return Facts(
            incorrect=negate(correct),
            entailed=any_of(from_a_chunk),
            noise_rel=any_of(from_a_relevant),
            noise_irr=any_of(from_an_irrelevant),
            source_irrelevant=_source_irrelevant(evidence),
        )

    @property
    def category(self) -> Category:
        """The part of the partition the claim is in; undetermined if several are possible.

        Of a claim from chunks of both kinds ``"relevant"``.
        """
        if self.incorrect is False:
            return "correct"
        if self.incorrect is None or self.noise_rel is None:
            return "undetermined"
        if self.noise_rel:
            return "relevant"
        if self.noise_irr is None:
            return "undetermined"
        return "irrelevant" if self.noise_irr else "hallucination"


def _source_irrelevant(evidence: Evidence) -> Truth:
    """Return ¬relevant(j) of the first chunk *j* that entails the claim; False if none does."""
    result: Truth = False
    # Backwards, since a chunk's answer is that of the chunks after it if it does not entail.
    # Each entails the claim or may (None): if both ways give one answer, that is it.
    for relevant, entails in reversed(evidence):
        irrelevant = negate(relevant)
        if entails:
            result = irrelevant
        elif result is not irrelevant:
            result = None
    return result


Rule = Callable[[Facts], Truth]

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


class Definition:
    """One published definition.

    Attributes:
        name: as passed to ``score(definition=…)``.
        relevant: does the relevant mode count this claim, if it is incorrect? Monotone in the
            chunks' relevance, in one direction for all claims: claims share their chunks, and the
            bounds of a score are found claim by claim.
        irrelevant: does the irrelevant mode? ``None`` if the definition has no such mode.
        words: what each of its modes counts, after "wrong".
        stated_by: who uses it.
    """

    def __init__(
        self,
        *,
        name: DefinitionName,
        relevant: Rule,
        irrelevant: Rule | None,
        words: dict[Mode, str],
        stated_by: str,
    ) -> None:
        self.name: DefinitionName = name
        self.relevant = relevant
        self.irrelevant = irrelevant
        self.words = words
        self.stated_by = stated_by


_RAGAS = Definition(
    name="ragas",
    relevant=lambda facts: facts.noise_rel,
    irrelevant=lambda facts: all_of(facts.noise_irr, negate(facts.noise_rel)),
    words={
        "relevant": " and from a relevant chunk",
        "irrelevant": " and from irrelevant chunks only",
    },
    stated_by="ragas 0.2 to 0.4 and RAGChecker's code",
)
_PAPER = Definition(
    name="paper",
    relevant=lambda facts: facts.noise_rel,
    irrelevant=lambda facts: facts.noise_irr,
    words={
        "relevant": " and from a relevant chunk",
        "irrelevant": " and from an irrelevant chunk",
    },
    stated_by="the RAGChecker paper and ragas' how-to page",
)
_PROMPTFOO = Definition(
    name="promptfoo",
    relevant=lambda _: True,
    irrelevant=lambda facts: facts.source_irrelevant,
    words={"relevant": "", "irrelevant": ", with an irrelevant chunk as its source"},
    stated_by="an unmerged Promptfoo assertion and its comparison page",
)
_VALIDMIND = Definition(
    name="validmind",
    relevant=lambda _: True,
    irrelevant=None,
    words={"relevant": ""},
    stated_by="ValidMind's test and the formula printed in ragas' documents",
)

DEFINITIONS: dict[DefinitionName, Definition] = {
    "ragas": _RAGAS,
    "paper": _PAPER,
    "promptfoo": _PROMPTFOO,
    "validmind": _VALIDMIND,
}


def check_definition(name: str) -> Definition:
    """Return the definition of that name. Raises `InputError`."""
    checked: DefinitionName = check_choice(name, tuple(DEFINITIONS), "definition")
    return DEFINITIONS[checked]


@cache
def modes_of(name: DefinitionName) -> tuple[Mode, ...]:
    """Return the modes that the definition has: both, for ``validmind`` only the relevant one."""
    return MODES if DEFINITIONS[name].irrelevant else MODES[:1]


@cache
def chunk_modes(name: DefinitionName) -> tuple[Mode, ...]:
    """Return the modes that never count a claim that no chunk entails; for ``validmind`` none."""
    hallucination = outcome(False, (), name)
    return tuple(mode for mode in MODES if getattr(hallucination, mode) is False)


def check_mode(mode: str) -> Mode:
    """Return the mode of that name. Raises `InputError` for any other, ``"both"`` too."""
    if mode == "both":
        expected = "'relevant' or 'irrelevant'"
        raise InputError(expected, "'both'", where="mode", hint="make one for each")
    return check_choice(mode, MODES, "mode")


def relevance(verdicts: VerdictsForm) -> tuple[Truth, ...]:
    """Return the relevance of each chunk: ``label(j)`` if it has one, else ``∃g entails(j, g)``.

    Without a label and without reference claims, relevance is undetermined.
    """
    default = False if verdicts.reference_claims else None
    relevant: list[Truth] = [default] * verdicts.chunk_count
    for claim in verdicts.reference_claims:
        for j in claim.entailed_by:
            relevant[j] = True
        for j in claim.undetermined:
            relevant[j] = relevant[j] or None  # true wins over undetermined
    for j, chunk in enumerate(verdicts.chunks or ()):
        if chunk.relevant is not None:
            relevant[j] = chunk.relevant
    return tuple(relevant)


def outcomes_of(
    verdicts: VerdictsForm, relevant: Sequence[Truth], name: DefinitionName
) -> tuple[Outcome, ...]:
    """Return each response claim's outcome under a definition, given each chunk's relevance."""
    # A correct claim cannot count, whatever entails it.
    correct = outcome(True, (), name)
    outcomes: list[Outcome] = []
    for claim in verdicts.response_claims:
        if claim.correct:
            outcomes.append(correct)
        else:
            outcomes.append(outcome(claim.correct, _evidence(claim, relevant), name))
    return tuple(outcomes)


def _evidence(claim: ClaimForm, relevant: Sequence[Truth]) -> Evidence:
    """Return the claim's `Evidence`, given the relevance of each chunk."""
    if not claim.undetermined:
        return tuple([(relevant[j], True) for j in claim.entailed_by])
    entails: dict[int, Truth] = dict.fromkeys(claim.undetermined)
    entails.update(dict.fromkeys(claim.entailed_by, True))
    return tuple([(relevant[j], entails[j]) for j in sorted(entails)])


# A run has few different claims. Deriving each anew would double the time of a score.
@lru_cache(maxsize=2000)
def outcome(correct: Truth, evidence: Evidence, name: DefinitionName) -> Outcome:
    """Return what becomes of a claim under the definition."""
    definition = DEFINITIONS[name]
    facts = Facts.of(correct, evidence)
    irrelevant = None
    if definition.irrelevant is not None:
        irrelevant = all_of(facts.incorrect, definition.irrelevant(facts))
    return Outcome(
        category=facts.category,
        relevant=all_of(facts.incorrect, definition.relevant(facts)),
        irrelevant=irrelevant,
        from_a_chunk=all_of(facts.incorrect, facts.entailed),
    )
