"""Signs that a run is broken: what no working system and judge give, whatever the score says.

No language is read for any of them, and each is told from the verdicts and the texts alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args
from zlib import crc32

from noisesense.judging.protocol import Placebos
from noisesense.scoring.outcomes import Record
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score
from noisesense.verdicts.form import VerdictsForm

SignName = Literal[
    "none-correct",
    "none-supported",
    "all-alike",
    "same-answer",
    "same-context",
    "no-answers",
    "placebos",
]
SIGNS: tuple[SignName, ...] = get_args(SignName)

_FEW = 5
"""With fewer samples nothing is a sign: a handful may be alike by chance."""
_MANY = 20
"""So many samples with verdicts all alike are a sign."""
_MOST_TEXTS = 1_000
_KINDS_OF_VERDICTS = 6
_PLACEBOS_A_MISTAKE = 6
"""Two wrong answers to placebos are a sign, and one more for so many of them.

A judge that can judge may be wrong, or a claim of another row be true by accident, in 2% of the
cases. Then 2 of 5 come in ``1 - 0.98^5 - 5 * 0.02 * 0.98^4 = 0.4%`` of all runs. A judge that
always says the same has two of five wrong, or three.
"""
_HTML = ("<!doctype html", "<html")


@dataclass(frozen=True)
class Sign(Record):
    """Something that keeps a run from being believed.

    Attributes:
        name: by which a gate may be told to let it pass.
        reason: in words.
    """

    name: SignName
    reason: str


@dataclass
class _Texts:
    """How many samples have each answer or chunk, and in how many it was of use.

    A text of more than half of the samples is among the first that come.
    """

    samples: Counter[int] = field(default_factory=Counter[int])
    useful: Counter[int] = field(default_factory=Counter[int])

    def add(self, text: str, *, is_useful: bool) -> None:
        key = crc32(text.encode("utf-8", "surrogatepass"))
        if key not in self.samples and len(self.samples) >= _MOST_TEXTS:
            return
        self.samples[key] += 1
        self.useful[key] += is_useful

    def merge(self, other: _Texts) -> None:
        self.samples.update(other.samples)
        self.useful.update(other.useful)

    def useless(self, samples: int) -> int:
        """How many samples have the one text that more than half of them have to no use."""
        for key, times in self.samples.items():
            if 2 * times > samples and not self.useful[key]:
                return times
        return 0


@dataclass
class SignCounts:
    """What the signs of a run are told by. Counts of parts of a run add up with `merge`."""

    _counts: Counter[str] = field(default_factory=Counter[str])
    _seen: set[tuple[str, bool]] = field(default_factory=set[tuple[str, bool]])
    """Which verdicts there are, as `_kinds_in` has them."""
    _answers: _Texts = field(default_factory=_Texts)
    _contexts: _Texts = field(default_factory=_Texts)

    def add(self, result: Result, score: Score) -> None:
        """Count one scored sample."""
        self._counts["samples"] += 1
        verdicts = score.verdicts
        self._counts["chunks"] += verdicts.chunk_count
        if len(self._seen) < _KINDS_OF_VERDICTS:  # soon all are seen
            self._seen |= _kinds_in(verdicts)
        if result.sample is None:
            return
        claims = verdicts.response_claims
        answer = result.sample.response.strip()
        is_right = not claims or any(claim.correct for claim in claims)
        self._answers.add(answer, is_useful=is_right)
        self._counts["no answers"] += _is_no_answer(answer)
        all_claims = (*claims, *verdicts.reference_claims)
        is_used = any(claim.entailed_by for claim in all_claims)
        for text in {chunk.text for chunk in verdicts.chunks or ()}:
            self._contexts.add(text, is_useful=is_used)

    def merge(self, other: SignCounts) -> None:
        """Count all that the other has counted."""
        self._counts.update(other._counts)
        self._seen |= other._seen
        self._answers.merge(other._answers)
        self._contexts.merge(other._contexts)

    def signs(self, placebos: Placebos) -> tuple[Sign, ...]:
        """The signs of the run so far, with those placebos."""
        samples = self._counts["samples"]
        if samples < _FEW:
            return ()
        found = [*self._of_verdicts(samples)]
        if placebos.wrong >= 2 + placebos.asked // _PLACEBOS_A_MISTAKE:
            found.append(Sign("placebos", str(placebos)))
        odd = self._counts["no answers"]
        if 2 * odd > samples:
            reason = f"{odd:,} of {samples:,} answers are JSON or HTML"
            found.append(Sign("no-answers", reason))
        times = self._answers.useless(samples)
        if times:
            reason = f"{times:,} of {samples:,} answers are the same, and no claim is correct"
            found.append(Sign("same-answer", reason))
        times = self._contexts.useless(samples)
        if times:
            reason = (
                f"{times:,} of {samples:,} samples have the same chunk, and none of their chunks "
                "supports a claim"
            )
            found.append(Sign("same-context", reason))
        return tuple(found)

    @property
    def _has_many_chunks(self) -> bool:
        """Of a single document a sample all may be true."""
        return self._counts["chunks"] >= 2 * self._counts["samples"]

    def _of_verdicts(self, samples: int) -> Iterator[Sign]:
        seen = self._seen
        said = {(what, True) in seen for what in ("claim", "reference claim")}
        denied = {(what, False) in seen for what in ("correct", "claim", "reference claim")}
        if ("correct", False) in seen and not seen & {("correct", True), ("claim", True)}:
            yield Sign("none-correct", "no claim is correct, and none comes from a chunk")
        elif seen & {("claim", False), ("reference claim", False)} and True not in said:
            yield Sign("none-supported", "no chunk supports a claim of a response or a reference")
        elif samples >= _MANY and True in said and True not in denied and self._has_many_chunks:
            yield Sign("all-alike", "the judge said yes to everything")


def _kinds_in(verdicts: VerdictsForm) -> set[tuple[str, bool]]:
    """Which verdicts a sample has: on its claims by the reference, and by the chunks."""
    found: set[tuple[str, bool]] = set()
    chunks = verdicts.chunk_count
    for claim in verdicts.response_claims:
        if claim.correct is not None:
            found.add(("correct", claim.correct))
    of_chunks = (
        ("claim", verdicts.response_claims),
        ("reference claim", verdicts.reference_claims),
    )
    for what, claims in of_chunks:
        for each in claims:
            if each.entailed_by:
                found.add((what, True))
            if len(each.entailed_by) + len(each.undetermined) < chunks:
                found.add((what, False))
    return found


def _is_no_answer(text: str) -> bool:
    """Is it an object or a page, as programs give in place of an answer?"""
    if text.lower().startswith(_HTML) or text == "[object Object]":
        return True
    if not text.startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
