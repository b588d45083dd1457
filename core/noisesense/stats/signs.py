"""Signs that a run is broken: what no working system and judge give, whatever the score says.

What a few sound systems give as well is no sign but a note, which a gate tells and lets pass.
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
from noisesense.scoring.results import ECHO, Result
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
_LOOKED_AT = 0.2
"""So many of the samples without support are a sign where none has any, and else a note: a lazy
plan asks only where some claim is wrong, which in a sound system may be where the retriever has
missed the documents."""
_MOST_ODD = 0.1
"""As many samples as may be undefined may have an error in place of an answer."""
_MOST_TEXTS = 3_000
_SAID = {("claim", True), ("reference claim", True)}
_DENIED = {("claim", False), ("reference claim", False)}
_PLACEBOS_A_MISTAKE = 6
"""Two wrong answers to placebos are a sign, and one more for so many of them.

A judge that can judge may be wrong, or a claim of another row be true by accident, in 2% of the
cases. Then 2 of 5 come in ``1 - 0.98^5 - 5 * 0.02 * 0.98^4 = 0.4%`` of all runs. A judge that
always says yes has four of five wrong, one that says yes to chunks alone two.
"""
_NOWHERE = "neither the reference nor a chunk has a claim of the answer"
_SAME_ANSWER = "the answers are the same, with no correct claim"
_SAME_CHUNKS = "the chunks are the same"
_UNTOLD = ("right", "useful", "useless")
"""No notes."""
_TELLING = {_NOWHERE: 0.2, ECHO: 0.8, _SAME_CHUNKS: 0.6}
"""The shares from which these are notes, else half: short answers are often right, and corpora
small."""
_MARKUP = ("<!doctype html", "<html", "<?xml")


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
class SignCounts:
    """What the signs of a run are told by. Counts of parts of a run add up with `merge`."""

    _counts: Counter[str] = field(default_factory=Counter[str])
    _seen: set[tuple[str, bool]] = field(default_factory=set[tuple[str, bool]])
    """Which verdicts there are, as `_kinds_in` has them."""
    _shared: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """How many samples have something, and with which text of theirs. What more than half of them
    have is among the first."""

    def add(self, result: Result, score: Score) -> None:
        """Count one scored sample, the result with its score."""
        verdicts = score.verdicts
        kinds = _kinds_in(verdicts)
        self._seen |= kinds
        is_said = bool(kinds & _SAID)
        is_looked_at = is_said or bool(kinds & _DENIED)
        self._counts["samples"] += 1
        self._counts["calls"] += result.usage.calls + result.usage.cached_calls
        self._counts["looked at"] += is_looked_at
        self._counts["useless"] += is_looked_at and not is_said
        self._counts["chunks"] += verdicts.chunk_count
        is_right = ("correct", True) in kinds
        is_wrong = ("correct", False) in kinds and not is_right
        if is_wrong and ("claim", False) in kinds and ("claim", True) not in kinds:
            self._share(_NOWHERE)
        for repeated in result.repeats:
            self._share(repeated)
        if result.sample is not None:
            self._add_answer(result.sample.response.strip(), is_right, is_wrong)
            chunks = sorted(chunk.text for chunk in result.sample.retrieved_contexts)
            contexts = "\n".join(chunks)
            self._share(_SAME_CHUNKS, contexts)
            if is_looked_at:
                self._share("useful" if is_said else "useless", contexts)

    def _add_answer(self, answer: str, is_right: bool, is_wrong: bool) -> None:
        if _is_odd(answer):
            self._counts["odd"] += 1
            if is_right:
                self._share("right", answer)
        if is_wrong:
            self._share(_SAME_ANSWER, answer)

    def _share(self, what: str, text: str = "") -> None:
        """Count a sample that has this; what comes after the first 3,000 kinds is not kept."""
        key = what, crc32(text.encode("utf-8", "surrogatepass"))
        if key in self._shared or len(self._shared) < _MOST_TEXTS:
            self._shared[key] += 1

    def merge(self, other: SignCounts) -> None:
        """Add what the other has counted to these counts."""
        self._counts.update(other._counts)
        self._seen |= other._seen
        self._shared.update(other._shared)

    def found(self, placebos: Placebos) -> tuple[tuple[Sign, ...], tuple[str, ...]]:
        """Return the signs of the run so far, with those placebos; and the notes, in words.

        A note is what a sound run may have, too, and a reader must know. Below five samples there
        is neither.
        """
        samples = self._counts["samples"]
        if samples < _FEW:
            return (), ()
        signs = [*self._of_verdicts(samples)]
        notes: list[str] = []
        shared = self._shared
        if placebos.wrong >= 2 + placebos.asked // _PLACEBOS_A_MISTAKE:
            signs.append(Sign("placebos", str(placebos)))
        signs += self._of_answers(samples)
        for (what, text), times in shared.items():
            telling = _TELLING.get(what, 0.5)
            if times <= min(telling, 0.5) * samples:
                continue
            reason = f"{what}, in {times:,} of {samples:,} samples"
            if what == _SAME_ANSWER:
                signs.append(Sign("same-answer", reason))
            elif what == _SAME_CHUNKS and shared["useless", text] > 4 * shared["useful", text]:
                signs.append(Sign("same-context", f"{reason}, and hardly ever support a claim"))
            elif what not in _UNTOLD and times >= telling * samples:
                notes.append(reason)
        notes += self._told(samples, is_tested=placebos.asked > 0)
        return tuple(signs), tuple(notes)

    def _told(self, samples: int, *, is_tested: bool) -> Iterator[str]:
        """Yield the notes on the verdicts; ``is_tested`` if there were placebos."""
        if self._counts["calls"] and not is_tested:
            for agreed in self._agreed(samples):
                yield f"{agreed}: so it is in a clean run, and with a judge that never says no"
        looked_at = self._counts["looked at"]
        useless = self._counts["useless"]
        if not looked_at and self._counts["chunks"] and ("correct", True) in self._seen:
            yield "no chunk was asked about, as nothing is known to be wrong: they are untested"
        if useless > min(looked_at / 2, max(_LOOKED_AT * looked_at, 1)):
            of = f"{useless:,} of the {looked_at:,} samples whose chunks were looked at"
            yield f"no chunk supports a claim, in {of}"

    def _agreed(self, samples: int) -> list[str]:
        """Return in words which verdicts are all yes: those on claims, those on chunks."""
        seen = self._seen
        agreed: list[str] = []
        if ("correct", True) in seen and ("correct", False) not in seen:
            agreed.append("every claim is correct")
        # Of a single document a sample all may be true.
        has_many_chunks = self._counts["chunks"] >= 2 * samples
        if has_many_chunks and seen & _SAID and not seen & _DENIED:
            agreed.append("every chunk supports every claim that it was asked about")
        return agreed

    def _of_answers(self, samples: int) -> Iterator[Sign]:
        odd = self._counts["odd"]
        right = [what for what, _ in self._shared].count("right")
        if odd > _MOST_ODD * samples and right < 2:  # some systems answer in JSON
            yield Sign("no-answers", f"{odd:,} of {samples:,} answers are JSON or HTML")

    def _of_verdicts(self, samples: int) -> Iterator[Sign]:
        seen = self._seen
        if ("correct", False) in seen and not seen & {("correct", True), ("claim", True)}:
            yield Sign("none-correct", "no claim is correct, and none comes from a chunk")
        elif not seen & _SAID and self._counts["looked at"] > _LOOKED_AT * samples:
            yield Sign("none-supported", "no chunk supports a claim of a response or a reference")
        elif samples >= _MANY and len(self._agreed(samples)) == 2:
            yield Sign("all-alike", "the judge said yes to everything")


def _kinds_in(verdicts: VerdictsForm) -> set[tuple[str, bool]]:
    """Return which verdicts a sample has: on its claims by the reference, and by the chunks."""
    response = verdicts.response_claims
    chunks = verdicts.chunk_count
    found = {("correct", claim.correct) for claim in response if claim.correct is not None}
    for what, claims in (("claim", response), ("reference claim", verdicts.reference_claims)):
        if any(claim.entailed_by for claim in claims):
            found.add((what, True))
        if any(len(claim.entailed_by) + len(claim.undetermined) < chunks for claim in claims):
            found.add((what, False))
    return found


def _is_odd(text: str) -> bool:
    """Tell whether it is an HTML page, XML or JSON, as a program may give for an answer."""
    if text.lower().startswith(_MARKUP) or text == "[object Object]":
        return True
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
