"""From verdicts to the score: a pure function."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, get_args

from msgspec import Struct

from noisesense.errors import InputError, UndefinedScoreError, check_choice
from noisesense.scoring.definitions import (
    DEFINITIONS,
    MODES,
    DefinitionName,
    Mode,
    Outcome,
    Truth,
    check_definition,
    check_mode,
    chunk_modes,
    modes_of,
    outcomes_of,
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
from noisesense.verdicts.form import ResponseClaimForm, VerdictsBase, VerdictsForm

Empty = Literal["undefined", "zero", "error"]
Undetermined = Literal["none", "low", "high"]
Status = Literal["determined", "undetermined", "undefined"]
"""Of one mode: every completion of the undetermined verdicts gives the same value; they differ;
or there is nothing to measure (no response claims, nothing retrieved, no such mode)."""
Lack = Literal["nothing_claimed", "nothing_retrieved"]
"""Why a sample has nothing to measure. Where nothing was retrieved, that is why, whatever the
response claims."""

NO_JUDGE = "none"
"""Stands for a judge's name where none was needed, as nothing was retrieved."""

GIVEN_VERDICTS = "given verdicts"
"""Stands for a judge's name where the row brought its verdicts."""


def check_empty(empty: str) -> Empty:
    """Return the value of ``empty`` if `score` takes it. Raises `InputError` if not."""
    checked: Empty = check_choice(empty, get_args(Empty), "empty")
    return checked


def check_undetermined(undetermined: str) -> Undetermined:
    """Return the value of ``undetermined`` if `score` takes it. Raises `InputError` if not."""
    checked: Undetermined = check_choice(undetermined, get_args(Undetermined), "undetermined")
    return checked


class Score(Struct, frozen=True, dict=True):
    """Noise sensitivity of one response, both modes at once. Made by `score`.

    Methods that take a mode raise `InputError` for an unknown one, except `lacks`.

    Attributes:
        verdicts: the verdicts that were scored.
        definition: the definition's name.
        empty: the value of a sample with nothing to measure; see `score`.
        undetermined: the value where undetermined verdicts matter; see `score`.
        outcomes: the outcome of each response claim.
        chunk_relevance: is each chunk relevant? None where that is undetermined.
    """

    verdicts: VerdictsForm
    definition: DefinitionName
    empty: Empty
    undetermined: Undetermined
    outcomes: tuple[Outcome, ...]
    chunk_relevance: tuple[Truth, ...]

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
        """How many response claims are of each kind, whatever the definition."""
        return Partition.of(self.outcomes)

    def status(self, mode: Mode) -> Status:
        """Say whether the bounds meet, differ or do not exist: see `Status`.

        The choice of ``undetermined`` does not matter: where the bounds differ this is
        ``"undetermined"``, even if `value` is one of them. With ``empty="zero"`` only a mode
        that the definition does not have is ``"undefined"``.
        """
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
        if bounds is None:
            return None
        if self.undetermined == "none":
            return bounds.value
        return bounds.low if self.undetermined == "low" else bounds.high

    def robustness(self, mode: Mode) -> float | None:
        """Return the share of claims that are not counted: ``1 - value(mode)``, exactly.

        None where the value is. Counted rather than subtracted, since ``1 - 0.9 < 0.1``. For hosts
        where higher is better.
        """
        counts = self.counts(mode)
        if counts is None or self.value(mode) is None:
            return None
        if not counts.total:
            return 1.0
        counted = counts.highest if self.undetermined == "high" else counts.noisy
        return (counts.total - counted) / counts.total

    def bounds(self, mode: Mode) -> Range | None:
        """Return the lowest and the highest value that any completion of open verdicts gives.

        Both are reached by some completion, and equal the value if nothing is undetermined.
        None where there is nothing to bound: no response claims or nothing retrieved that the mode
        could count (with ``empty="zero"`` 0 to 0), or the definition has no such mode.
        """
        if mode in self.measures:
            return Counts.of(self.outcomes, mode).bounds
        check_mode(mode)
        return None

    @property
    def lack(self) -> Lack | None:
        """What the sample lacks, whatever the definition; None if nothing. See also `lacks`."""
        if self.outcomes and True in self.chunk_relevance:
            return None
        if _nothing_retrieved(self.verdicts):
            return "nothing_retrieved"
        return None if self.outcomes else "nothing_claimed"

    @property
    def measures(self) -> tuple[Mode, ...]:
        """The modes with something to measure; with ``empty="zero"`` all of the definition."""
        modes = modes_of(self.definition)
        if self.empty == "zero" or self.lack is None:
            return modes
        return tuple(mode for mode in modes if not self.lacks(mode))

    def lacks(self, mode: Mode) -> str:
        """Return in words why the mode has nothing to measure here; empty if it has something.

        ``empty`` does not matter, nor whether the definition has the mode.
        """
        has_claims = bool(self.outcomes)
        if has_claims and mode not in chunk_modes(self.definition):
            return ""
        if self.lack == "nothing_retrieved":
            return "nothing was retrieved"
        return "" if has_claims else "the response has no claims"

    def gate(self, mode: Mode, limit: float) -> GateOutcome:
        """Decide whether the mode's value stays within the limit: see `noisesense.gate`.

        By the bounds, whatever ``undetermined`` makes of them: what the judge left open never
        passes.

        Raises:
            InputError: a limit that is no number from 0 to 1.
        """
        return gate(self.bounds(mode), limit)

    def counts(self, mode: Mode) -> Counts | None:
        """Count the claims behind the value; None if the definition has no such mode."""
        if check_mode(mode) not in modes_of(self.definition):
            return None
        return Counts.of(self.outcomes, mode)

    @cached_property
    def claims(self) -> tuple[ClaimOutcome, ...]:
        """Every response claim with its outcome and the chunks that explain it."""
        chunks = self.verdicts.chunks or ()
        claims: list[ClaimOutcome] = []
        for claim, outcome in zip(self.verdicts.response_claims, self.outcomes, strict=True):
            described = ClaimOutcome(
                index=len(claims),
                text=claim.text,
                correct=claim.correct,
                **outcome._asdict(),
                relevant_chunks=self._entailing(claim, True),
                irrelevant_chunks=self._entailing(claim, False),
                unlabeled_chunks=self._entailing(claim, None),
                undetermined_chunks=claim.undetermined,
                _chunks=chunks,
            )
            claims.append(described)
        return tuple(claims)

    def _entailing(self, claim: ResponseClaimForm, relevant: Truth) -> tuple[int, ...]:
        """Return the chunks of that relevance that entail the claim."""
        return tuple(j for j in claim.entailed_by if self.chunk_relevance[j] is relevant)

    @property
    def echoes(self) -> bool:
        """Has the reference as many claims, and the same ones word for word, in any order?

        False without claims or texts.
        """
        response = self.verdicts.response_claims
        reference = self.verdicts.reference_claims
        if not response or len(response) != len(reference):
            return False
        texts = {claim.text for claim in response}
        if texts == {""}:
            return False
        return texts == {claim.text for claim in reference}

    @property
    def from_chunks(self) -> Counts:
        """Counts of the claims that are incorrect and entailed by a chunk, relevant or not."""
        return Counts.of(self.outcomes, "from_a_chunk")

    def reason(self, mode: Mode) -> str:
        """Return the value and the claims behind it, at most five of each kind, in words."""
        title = f"Noise sensitivity ({mode}, definition {self.definition})"
        counts = self.counts(mode)
        if counts is None:
            return f"{title} is undefined: the definition has no {mode} mode."
        lack = self.lacks(mode)
        if lack:
            value = "0 by convention" if self.empty == "zero" else "undefined"
            return f"{title} is {value}: {lack}."
        sentences = [f"{title} is {_value(self, mode, counts)}", *_listed(self, mode, True)]
        if counts.undetermined:
            sentences.append(f"The judge left {counts.undetermined} open.")
            sentences += _listed(self, mode, None)
        if self.echoes:
            sentences.append("The reference makes the same claims, word for word.")
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the values with their bounds and reasons, and every claim, as JSON-ready data."""
        return {
            "definition": self.definition,
            "undetermined": self.undetermined,
            **figures_of(self),
            "claims": [claim.to_dict() for claim in self.claims],
            "chunk_relevance": self.chunk_relevance,
            "reasons": {mode: self.reason(mode) for mode in MODES},
        }


def figures_of(score: Score) -> dict[str, Any]:
    """Return each mode's value, status and bounds, and how many claims of each kind."""
    return {
        "relevant": score.relevant,
        "irrelevant": score.irrelevant,
        "status": {mode: score.status(mode) for mode in MODES},
        "bounds": {mode: score.bounds(mode) for mode in MODES},
        "partition": as_data(score.partition),
    }


def score(
    verdicts: VerdictsForm,
    *,
    definition: DefinitionName = "ragas",
    empty: Empty = "undefined",
    undetermined: Undetermined = "none",
) -> Score:
    """Compute the noise sensitivity of one judged sample.

    ``value(mode) = |response claims the mode counts| / |response claims|``, from 0 to 1, lower
    is better. The definition says which claims a mode counts; see
    `noisesense.scoring.definitions`. Where that number depends on undetermined verdicts, there
    are bounds and no value.

    Args:
        verdicts: ``[R]`` response claims, ``[G]`` reference claims, ``[C]`` chunks.
        definition: a name in `noisesense.scoring.definitions.DEFINITIONS`.
        empty: the value of a sample with nothing to measure (no response claims; or no chunks,
            or only blank ones, and the definition counts only claims from a chunk):
            ``"undefined"`` (None), ``"zero"`` (0.0, RAGChecker's convention) or ``"error"``.
        undetermined: the value where undetermined verdicts matter: ``"none"`` (None), ``"low"``
            (no undetermined claim counts) or ``"high"`` (all count). The reason says which;
            gates look at the bounds.

    Raises:
        InputError: an unknown definition, ``empty`` or ``undetermined``, or not a `Verdicts`.
        UndefinedScoreError: nothing to measure in any mode, and ``empty="error"``.

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
    relevant = relevance(verdicts)
    outcomes = outcomes_of(verdicts, relevant, name)
    result = Score(verdicts, name, empty, undetermined, outcomes, relevant)
    if empty == "error" and not result.measures:
        raise UndefinedScoreError(f"noise sensitivity is undefined: {result.lacks('relevant')}")
    return result


def _nothing_retrieved(verdicts: VerdictsForm) -> bool:
    """Tell whether there are no chunks, or only blank ones.

    A blank chunk counts as retrieved if it is labeled, if a verdict names it, or if no claim has
    a text either: then the verdicts came as tables, without texts. So do chunks that are not
    listed where the response has no claims.
    """
    chunks = verdicts.chunks
    if chunks is None and not verdicts.response_claims:
        return False
    claims = (*verdicts.response_claims, *verdicts.reference_claims)
    for claim in claims:
        if claim.entailed_by or claim.undetermined:
            return False
    if not chunks:
        return True
    for chunk in chunks:
        if chunk.relevant is not None or chunk.text.strip():
            return False
    return any(claim.text for claim in claims)


_MAX_CLAIMS = 5
"""How many claims a reason lists."""


def _value(score: Score, mode: Mode, counts: Counts) -> str:
    """Return the value with its bounds, and what was counted of what."""
    verb = "is" if counts.noisy == 1 else "are"
    words = DEFINITIONS[score.definition].words[mode]
    share = f"{counts.noisy} of {counts.total} response claims"
    counted = f"{share} {verb} wrong{words}."
    value = score.value(mode)
    if value is not None and not counts.undetermined:
        return f"{value:.4g} (lower is better): {counted}"
    low, high = counts.bounds
    bounds = f"it lies between {low:.4g} and {high:.4g}"
    if value is None:
        return f"undetermined: {bounds} (lower is better). For certain, {counted}"
    assumed = "noise" if score.undetermined == "high" else "no noise"
    return (
        f"{value:.4g} (lower is better) with what is undetermined counted as {assumed}; {bounds}. "
        f"For certain, {counted}"
    )


def _listed(score: Score, mode: Mode, counted: Truth) -> list[str]:
    """Return the sentences of claims that the mode counts, or may count (None); at most five."""
    claims = [claim for claim in score.claims if getattr(claim, mode) is counted]
    sentences = [claim.sentence for claim in claims[:_MAX_CLAIMS]]
    more = len(claims) - len(sentences)
    if more:
        sentences.append(f"And {more} more.")
    return sentences
