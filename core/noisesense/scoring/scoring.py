"""From verdicts to the score: a pure function."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

from msgspec import Struct

from noisesense.errors import InputError, UndefinedScoreError, check_choice
from noisesense.scoring.definitions import (
    CORRECT,
    DEFINITIONS,
    MODES,
    OUTCOMES,
    DefinitionName,
    Mode,
    Relevance,
    Truth,
    check_definition,
    check_mode,
    chunk_modes,
    claim_facts,
    modes_of,
    outcome_numbers,
    relevance,
)
from noisesense.scoring.outcomes import (
    ClaimOutcome,
    Counts,
    GateOutcome,
    Partition,
    Range,
    as_data,
    gate,
)
from noisesense.verdicts.form import VerdictsBase, VerdictsForm

Empty = Literal["undefined", "zero", "error"]
Undetermined = Literal["none", "low", "high"]
Status = Literal["determined", "undetermined", "undefined"]
"""Of one mode: every completion of the verdicts gives the same value; the judge left open which;
or there is nothing to measure (no response claims, nothing retrieved, no such mode)."""
Lack = Literal["nothing_claimed", "nothing_retrieved"]
"""Why a sample has nothing to measure. Where nothing was retrieved, that is why, whatever the
response claims."""

_EMPTY: tuple[Empty, ...] = get_args(Empty)
_UNDETERMINED: tuple[Undetermined, ...] = get_args(Undetermined)


def check_empty(empty: str) -> Empty:
    """That choice of what a sample with nothing to measure gives. Raises `InputError`."""
    return check_choice(empty, _EMPTY, "empty")


def check_undetermined(undetermined: str) -> Undetermined:
    """That choice of what open verdicts give. Raises `InputError`."""
    return check_choice(undetermined, _UNDETERMINED, "undetermined")


class Score(Struct, frozen=True, dict=True):
    """Noise sensitivity of one response, both modes at once. Made by `score`.

    Attributes:
        verdicts: what was scored.
        definition: the definition's name.
        empty: what a sample with nothing to measure gives.
        undetermined: what open verdicts give.
        outcomes: of each response claim what became of it: its number in
            `noisesense.scoring.definitions.OUTCOMES`.
    """

    verdicts: VerdictsForm
    definition: DefinitionName
    empty: Empty
    undetermined: Undetermined
    outcomes: bytes
    _relevance: Relevance

    def __repr__(self) -> str:
        return (
            f"Score(relevant={self.relevant!r}, irrelevant={self.irrelevant!r}, "
            f"definition={self.definition!r}, claims={self.partition.total})"
        )

    @property
    def relevant(self) -> float | None:
        """Noise sensitivity to relevant chunks, 0 to 1, lower is better; None as in `value`."""
        return self.value("relevant")

    @property
    def irrelevant(self) -> float | None:
        """Noise sensitivity to irrelevant chunks, 0 to 1, lower is better; None as in `value`."""
        return self.value("irrelevant")

    @property
    def partition(self) -> Partition:
        """The response claims by kind. Does not depend on the definition."""
        return Partition.of(self.outcomes)

    def status(self, mode: Mode) -> Status:
        """Is there a value, and if not, why? See `Status`."""
        bounds = self.bounds(mode)
        if bounds is None:
            return "undefined"
        return "undetermined" if bounds.value is None else "determined"

    def value(self, mode: Mode) -> float | None:
        """Counted claims over all response claims, where every completion gives the same.

        None if undefined (no response claims or nothing retrieved, unless ``empty="zero"``; no
        such mode) or undetermined (the bounds differ, unless ``undetermined="low"`` or ``"high"``
        chooses one of them). Never NaN, and never a ratio over the claims that happen to be
        determined.
        """
        bounds = self.bounds(mode)
        if bounds is None or self.undetermined == "none":
            return bounds and bounds.value
        return bounds.low if self.undetermined == "low" else bounds.high

    def robustness(self, mode: Mode) -> float | None:
        """The share of claims that are not counted: ``1 - value(mode)``, exactly.

        Counted rather than subtracted, since ``1 - 0.9 < 0.1``. For hosts where higher is better.
        """
        counts, value = self.counts(mode), self.value(mode)
        if counts is None or value is None:
            return None
        counted = counts.highest if self.undetermined == "high" else counts.noisy
        return (counts.total - counted) / counts.total if counts.total else 1.0

    def bounds(self, mode: Mode) -> Range | None:
        """The lowest and the highest value any completion of the undetermined verdicts gives.

        Both are reached by some completion, and equal the value if nothing is undetermined.
        None where there is nothing to bound: no response claims, nothing retrieved that the mode
        could count, or no such mode.
        """
        if mode in self.measures:
            return Counts.of(self.outcomes, mode).bounds
        check_mode(mode)
        return None

    @property
    def lack(self) -> Lack | None:
        """What the sample lacks to be measured; None if nothing. The same in every definition."""
        relevant, _ = self._relevance
        if relevant and self.outcomes:
            return None
        return _lack(self.verdicts)

    @property
    def measures(self) -> tuple[Mode, ...]:
        """The modes with something to measure; with ``empty="zero"`` all that there are."""
        modes = modes_of(self.definition)
        if self.empty == "zero" or self.lack is None:
            return modes
        return tuple(mode for mode in modes if not self.lacks(mode))

    def lacks(self, mode: Mode) -> str:
        """Why the mode has nothing to measure, in words; empty if it has something."""
        if self.lack == "nothing_retrieved" and mode in chunk_modes(self.definition):
            unlisted = self.verdicts.chunks is None
            return f"nothing was retrieved{' (no chunks are listed)' if unlisted else ''}"
        return "" if self.outcomes else "the response has no claims"

    def gate(self, mode: Mode, limit: float) -> GateOutcome:
        """Does the mode's value stay within the limit? See `noisesense.gate`.

        By the bounds, whatever ``undetermined`` makes of them: what the judge left open never
        passes.

        Raises:
            InputError: a limit that is no number from 0 to 1.
        """
        return gate(self.bounds(mode), limit)

    def counts(self, mode: Mode) -> Counts | None:
        """The claims behind the value; None if the definition has no such mode."""
        has_it = check_mode(mode) in modes_of(self.definition)
        return Counts.of(self.outcomes, mode) if has_it else None

    @cached_property
    def claims(self) -> tuple[ClaimOutcome, ...]:
        """Every response claim with its outcome and the chunks that explain it."""
        yes, perhaps = self._relevance
        return tuple(
            ClaimOutcome(
                index=i,
                text=claim.text,
                correct=claim.correct,
                **OUTCOMES[self.outcomes[i]]._asdict(),
                relevant_chunks=tuple(j for j in claim.entailed_by if j in yes),
                irrelevant_chunks=tuple(j for j in claim.entailed_by if j not in perhaps),
                unlabelled_chunks=tuple(j for j in claim.entailed_by if j in perhaps - yes),
                undetermined_chunks=claim.undetermined,
            )
            for i, claim in enumerate(self.verdicts.response_claims)
        )

    @property
    def from_chunks(self) -> Counts:
        """The claims that are incorrect and entailed by a chunk, relevant or not."""
        return Counts.of(self.outcomes, "from_a_chunk")

    @property
    def chunk_relevance(self) -> tuple[Truth, ...]:
        """For each chunk: relevant, irrelevant, or None where that is undetermined."""
        yes, perhaps = self._relevance
        count = self.verdicts.chunk_count
        return tuple(True if j in yes else None if j in perhaps else False for j in range(count))

    def reason(self, mode: Mode) -> str:
        """The value and what it comes from, in words; the same for the same verdicts."""
        return _sentence(self, mode)

    def to_dict(self) -> dict[str, Any]:
        """Everything above as plain JSON-ready data."""
        return {
            "definition": self.definition,
            "undetermined": self.undetermined,
            **{mode: self.value(mode) for mode in MODES},
            "status": {mode: self.status(mode) for mode in MODES},
            "bounds": {mode: self.bounds(mode) for mode in MODES},
            "partition": as_data(self.partition),
            "claims": [outcome.to_dict() for outcome in self.claims],
            "chunk_relevance": self.chunk_relevance,
            "reasons": {mode: self.reason(mode) for mode in MODES},
        }


def score(
    verdicts: VerdictsForm,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
) -> Score:
    """Noise sensitivity of one judged sample.

    ``value(mode) = |response claims the mode counts| / |response claims|``, from 0 to 1, lower
    is better. Which claims a mode counts is the definition's; see
    `noisesense.scoring.definitions`. Where undetermined verdicts leave open how many claims
    count, there are bounds and no value.

    Args:
        verdicts: ``[R]`` response claims, ``[G]`` reference claims, ``[C]`` chunks.
        definition: ``"ragas"`` (also RAGChecker's code), ``"paper"``, ``"promptfoo"`` or
            ``"validmind"``.
        empty: what a sample with nothing to measure gives, as it has no response claims, or no
            chunks (or only blank ones) where the definition counts only what comes from a chunk:
            ``"undefined"`` (None), ``"zero"`` (0.0, RAGChecker's convention) or ``"error"``.
        undetermined: what open verdicts give: ``"none"`` (no value), ``"low"`` (none of them is
            noise) or ``"high"`` (all are). The reason says which, and gates look at the bounds.

    Raises:
        InputError: an unknown definition, ``empty`` or ``undetermined``, or not a `Verdicts`.
        UndefinedScoreError: nothing to measure and ``empty="error"``.

    Source: RAGChecker (Ru et al. 2024, arXiv:2408.08067), section 3.

    >>> verdicts = Verdicts.from_matrices([True, False], [[True], [True]], [[True]])
    >>> score(verdicts).relevant
    0.5
    """
    name = check_definition(definition).name
    check_empty(empty)
    check_undetermined(undetermined)
    if not isinstance(verdicts, VerdictsBase):
        hint = "read a dict with Verdicts.model_validate(…)"
        raise InputError("a Verdicts object", type(verdicts).__name__, where="verdicts", hint=hint)
    known = relevance(verdicts)
    claims, numbers = verdicts.response_claims, outcome_numbers(name)
    correct = numbers[CORRECT]
    found = [correct if each.correct else numbers[claim_facts(each, known)] for each in claims]
    made = Score(verdicts, name, empty, undetermined, bytes(found), known)
    if empty == "error" and not made.measures:
        raise UndefinedScoreError(f"noise sensitivity is undefined: {made.lacks('relevant')}")
    return made


def _lack(verdicts: VerdictsForm) -> Lack | None:
    claims = verdicts.response_claims
    if _nothing_retrieved(verdicts) if claims else verdicts.chunks == ():
        return "nothing_retrieved"
    return None if claims else "nothing_claimed"


def _nothing_retrieved(verdicts: VerdictsForm) -> bool:
    """Are there no chunks, or only blank ones?

    A blank chunk is one of a table without texts if no claim has a text either, if it is labeled,
    or if a verdict names it.
    """
    claims, reference = verdicts.response_claims, verdicts.reference_claims
    chunks = verdicts.chunks or ()
    named = any(claim.entailed_by or claim.undetermined for claim in chain(claims, reference))
    if named or any(chunk.relevant is not None or chunk.text.strip() for chunk in chunks):
        return False
    return not chunks or any(claim.text for claim in chain(claims, reference))


_MAX_CLAIMS = 5
"""What a reason lists."""


def _sentence(score: Score, mode: Mode) -> str:
    """One mode's value and the claims behind it, in words."""
    title = f"Noise sensitivity ({mode}, definition {score.definition})"
    counts = score.counts(mode)
    if counts is None:
        return f"{title} is undefined: the definition has no {mode} mode."
    if lack := score.lacks(mode):
        value = "0 by convention" if score.empty == "zero" else "undefined"
        return f"{title} is {value}: {lack}."
    sentences = [f"{title} is {_amount(score, mode, counts)}", *_listed(score, mode, True)]
    if left := counts.undetermined:
        which = "1 claim counts" if left == 1 else f"{left} claims count"
        sentences += [f"The judge left open whether {which}.", *_listed(score, mode, None)]
    return " ".join(sentences)


def _amount(score: Score, mode: Mode, counts: Counts) -> str:
    which = "response claims" if counts.total != 1 else "response claim"
    verb = "is" if 1 in (counts.noisy, counts.total) else "are"
    words = DEFINITIONS[score.definition].words[MODES.index(mode)]
    known = (
        f"{counts.noisy} of {counts.total} {which} {verb} not supported by the reference{words}."
    )
    value, (low, high) = score.value(mode), score.bounds(mode) or (0.0, 0.0)
    if not counts.undetermined:
        return f"{low:.4g} (lower is better): {known}"
    span = f"it lies between {low:.4g} and {high:.4g}"
    if value is None:
        return f"undetermined: {span} (lower is better). For certain, {known}"
    as_what = "noise" if score.undetermined == "high" else "no noise"
    return (
        f"{value:.4g} (lower is better) with what is undetermined counted as {as_what}; {span}. "
        f"For certain, {known}"
    )


def _listed(score: Score, mode: Mode, counted: Truth) -> list[str]:
    claims = [claim.sentence for claim in score.claims if getattr(claim, mode) is counted]
    more = len(claims) - _MAX_CLAIMS
    return [*claims[:_MAX_CLAIMS], f"And {more} more."] if more > 0 else claims
