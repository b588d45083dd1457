"""Signs that a run is broken: what no working system and judge give, whatever the score says.

What a few sound systems give as well is no sign but a note, which a gate tells and lets pass.
No language is read for any of them, and each is told from the verdicts and the texts alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, get_args
from zlib import crc32

from noisesense.judging.protocol import Placebos
from noisesense.scoring.outcomes import Record
from noisesense.scoring.results import Result
from noisesense.scoring.scoring import Score
from noisesense.verdicts.form import VerdictsForm
from noisesense.verdicts.sample import Sample

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
_LOOKED_AT = 2
"""So many samples without support are a sign: a lazy plan asks only where some claim is wrong, and
of a single one the retriever may just have missed the documents."""
_MOST_ODD = 0.1
"""As many samples as may be undefined may have an error in place of an answer."""
_MOST_TEXTS = 3_000
_SAID = {("claim", True), ("reference claim", True)}
_DENIED = {("claim", False), ("reference claim", False)}
_PLACEBOS_A_MISTAKE = 6
"""Two wrong answers to placebos are a sign, and one more for so many of them.

A judge that can judge may be wrong, or a claim of another row be true by accident, in 2% of the
cases. Then 2 of 5 come in ``1 - 0.98^5 - 5 * 0.02 * 0.98^4 = 0.4%`` of all runs. A judge that
always says the same has two of five wrong, or three.
"""
_NEARLY_ALL = 0.9
"""In so many samples the response may be the reference: short answers are often just right."""
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
    _texts: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """By text, the samples with an answer of which no claim is correct, or with a right object; by
    contexts in any order, all samples, and those where some chunk supports a claim or none does.
    One of more than half of the samples is among the first."""
    _noted: Counter[str] = field(default_factory=Counter[str])
    """What is a note where most samples have it, in words."""

    def add(self, result: Result, score: Score) -> None:
        """Count one scored sample."""
        verdicts = score.verdicts
        kinds = _kinds_in(verdicts)
        self._seen |= kinds
        is_said = bool(kinds & _SAID)
        is_looked_at = is_said or bool(kinds & _DENIED)
        self._counts["samples"] += 1
        self._counts["looked at"] += is_looked_at
        self._counts["useless"] += is_looked_at and not is_said
        self._counts["chunks"] += verdicts.chunk_count
        self._counts["echoes"] += result.echoes
        is_right = ("correct", True) in kinds
        is_wrong = ("correct", False) in kinds and not is_right
        if is_wrong and ("claim", False) in kinds and ("claim", True) not in kinds:
            self._noted["neither the reference nor a chunk has a claim of the answer"] += 1
        if result.sample is not None:
            self._add_texts(result.sample, is_right, is_wrong)
            chunks = sorted(chunk.text for chunk in result.sample.retrieved_contexts)
            contexts = "\n".join(chunks)
            self._count_text(contexts, "contexts")
            if is_looked_at:
                self._count_text(contexts, "useful" if is_said else "useless")

    def _add_texts(self, sample: Sample, is_right: bool, is_wrong: bool) -> None:
        self._noted.update(_likeness(sample))
        answer = sample.response.strip()
        if _is_page(answer):
            self._counts["pages"] += 1
        elif _is_object(answer):
            self._counts["objects"] += 1
            if is_right:
                self._count_text(answer, "right object")
        if is_wrong:
            self._count_text(answer, "answer")

    def _count_text(self, text: str, kind: str) -> None:
        key = kind, crc32(text.encode("utf-8", "surrogatepass"))
        if key in self._texts or len(self._texts) < _MOST_TEXTS:
            self._texts[key] += 1

    def merge(self, other: SignCounts) -> None:
        """Count all that the other has counted."""
        self._counts.update(other._counts)
        self._seen |= other._seen
        self._texts.update(other._texts)
        self._noted.update(other._noted)

    def signs(self, placebos: Placebos) -> tuple[Sign, ...]:
        """Return the signs of the run so far, with those placebos."""
        samples = self._counts["samples"]
        if samples < _FEW:
            return ()
        found = [*self._of_verdicts(samples)]
        if placebos.wrong >= 2 + placebos.asked // _PLACEBOS_A_MISTAKE:
            found.append(Sign("placebos", str(placebos)))
        odd = self._counts["pages"]
        kinds = [kind for kind, _ in self._texts]
        if kinds.count("right object") < 2:  # some systems answer in JSON
            odd += self._counts["objects"]
        if odd > _MOST_ODD * samples:
            reason = f"{odd:,} of {samples:,} answers are JSON or HTML"
            found.append(Sign("no-answers", reason))
        for (kind, text), times in self._texts.items():
            if 2 * times <= samples:
                continue
            of = f"{times:,} of {samples:,}"
            if kind == "answer":
                reason = f"{of} answers are the same, and no claim of them is correct"
                found.append(Sign("same-answer", reason))
            elif kind == "contexts" and self._is_useless(text):
                reason = f"{of} samples have the same chunks, which hardly ever support a claim"
                found.append(Sign("same-context", reason))
        return tuple(found)

    def notes(self) -> tuple[str, ...]:
        """Return what a sound run may have, too, and a reader must know, in words."""
        samples = self._counts["samples"]
        if samples < _FEW:
            return ()
        noted = +self._noted
        for (kind, _), times in self._texts.items():
            if kind == "contexts":
                noted["the chunks are the same"] = max(times, noted["the chunks are the same"])
        if self._counts["echoes"] >= _NEARLY_ALL * samples:
            noted["the response is the reference, word for word"] = self._counts["echoes"]
        found = [
            f"{what}, in {times:,} of {samples:,} samples"
            for what, times in noted.items()
            if 2 * times > samples
        ]
        looked_at = self._counts["looked at"]
        useless = self._counts["useless"]
        if 2 * useless > looked_at:
            of = f"{useless:,} of the {looked_at:,} samples where chunks were asked"
            found.append(f"no chunk supports a claim, in {of}")
        return tuple(found)

    def _is_useless(self, contexts: int) -> bool:
        """Tell whether the judge found nothing there in more than four of five samples."""
        return self._texts["useless", contexts] > 4 * self._texts["useful", contexts]

    def _of_verdicts(self, samples: int) -> Iterator[Sign]:
        seen = self._seen
        is_said = bool(seen & _SAID)
        # Of a single document a sample all may be true.
        has_many_chunks = self._counts["chunks"] >= 2 * samples
        is_denied = ("correct", False) in seen or bool(seen & _DENIED)
        if ("correct", False) in seen and not seen & {("correct", True), ("claim", True)}:
            yield Sign("none-correct", "no claim is correct, and none comes from a chunk")
        elif not is_said and self._counts["looked at"] >= _LOOKED_AT:
            yield Sign("none-supported", "no chunk supports a claim of a response or a reference")
        elif samples >= _MANY and is_said and not is_denied and has_many_chunks:
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


def _likeness(sample: Sample) -> Iterator[str]:
    """Yield which texts of a sample are one, word for word."""
    chunks = [chunk.text for chunk in sample.retrieved_contexts]
    texts = {
        "the response": [sample.response],
        "the reference": [sample.reference],
        "the question": [sample.user_input],
        "what was retrieved": [" ".join(chunks), *chunks],
    }
    for (name, [text]), (other, places) in combinations(texts.items(), 2):
        is_echo = (name, other) == ("the response", "the reference")
        if not is_echo and any(_are_one(text, each) for each in places):
            yield f"{name} is {other}, word for word"
    words = sample.response.split()
    half = len(words) // 2
    if words[:half] == words[half:]:
        yield "the response is one text twice"


def _are_one(text: str, other: str) -> bool:
    """Compare the first words before all, for the sake of time."""
    first = text.split(maxsplit=1)[:1]
    return first == other.split(maxsplit=1)[:1] and text.split() == other.split()


def _is_page(text: str) -> bool:
    """Tell whether a program gave it in place of an answer."""
    return text.lower().startswith(_MARKUP) or text == "[object Object]"


def _is_object(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
