"""`LocalJudge`: the judge over a classifier on this machine."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from pydantic import BaseModel

from noisesense.errors import InputError, JudgeError
from noisesense.judging.calls import Calls, ModelCall, SampleRun, digest, identity_of
from noisesense.judging.claims import ClaimSource, is_terse
from noisesense.judging.llm import LLMJudge
from noisesense.judging.plan import Finding, Plan, PlannedJudge, check_number, check_plan
from noisesense.judging.protocol import StructuredLLM, Usage
from noisesense.judging.sentences import sentences
from noisesense_adapters.local.model import NLIModel

if TYPE_CHECKING:
    from noisesense.judging.store import VerdictStore

S = TypeVar("S", bound=BaseModel)

_VERSION = "local-1"
"""Of how texts are taken apart and put to a classifier."""

_AT_ONCE = 16
"""So many calls wait for the classifier at once; it answers one."""


class Classifier(Protocol):
    """What says how likely a text entails a claim; `NLIModel` does.

    It may carry ``name`` and ``identity``, as a `noisesense.StructuredLLM` may.
    """

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> Sequence[float | None]:
        """For each premise and the claim at its place a probability from 0 to 1.

        NaN and None are no answer. It is called in a thread, by one at a time.
        """
        ...


class LocalJudge(PlannedJudge):
    """Verdicts from a classifier on this machine; nothing is sent anywhere.

    The plan is `noisesense.LLMJudge`'s: response and reference are taken apart into claims, these
    are checked against the reference, and the chunks only where some claim is not correct. A claim
    is entailed if the classifier's probability is at least ``threshold``; without a finite
    probability the verdict is undetermined. A call is one text with all its claims.

    Args:
        classifier: a folder or a name for `NLIModel`, or any object with ``entails``.
        threshold: from 0 to 1; `noisesense trust` finds one by labels.
        claims: a model that finds the claims. None: each sentence is a claim.
        plan: see `noisesense.LLMJudge`.
        store: keeps every probability, so that another threshold asks nothing again.
        max_concurrency: calls at once to the model that finds the claims.

    Raises:
        InputError: an argument out of range, or as `NLIModel`.
        MissingExtraError: as `NLIModel`.
    """

    def __init__(
        self,
        classifier: Classifier | str | os.PathLike[str],
        *,
        threshold: float = 0.5,
        claims: StructuredLLM | None = None,
        plan: Plan = "lazy",
        store: VerdictStore | None = None,
        max_concurrency: int = 16,
    ) -> None:
        check_plan(plan, store)
        check_number(threshold, 0, 1, "threshold")
        if isinstance(classifier, (str, os.PathLike)):
            classifier = NLIModel(classifier)
        if not callable(getattr(classifier, "entails", None)):
            expected = "a folder, a name, or an object with `entails(premises, claims)`"
            raise InputError(expected, type(classifier).__name__, where="classifier")
        self.threshold = threshold
        llm, by = _Bridge(classifier), "sentences"
        self._finder: LLMJudge | None = None
        if claims is not None:
            self._finder = LLMJudge(claims, store=store, max_concurrency=max_concurrency)
            by = f"{self._finder.model}-{digest(identity_of(claims))[:8]}"
        calls = Calls(llm, llm.name, _VERSION, store, _AT_ONCE)
        super().__init__(calls, plan=plan, settings=f"threshold={threshold} claims={by}")

    async def find(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        """Each sentence is a claim, or a model finds them; its calls are kept as its own."""
        if self._finder is None:
            source = ClaimSource(text, question, counts_refusals=which == "reference")
            return source.claims(sentences(text))
        own = SampleRun()
        try:
            return await self._finder.find(own, which, text, question)
        finally:
            run.usage += own.usage
            self._calls.add(own.usage)

    async def check(
        self, run: SampleRun, text: str, claims: Sequence[str], question: str = ""
    ) -> Sequence[Finding]:
        """What reaches the threshold is a yes; without a finite probability there is no answer.

        A classifier reads one text: the question stands before an answer that needs it.
        """
        if not claims:
            return []
        if is_terse(text):
            text = f"{question} {text}".strip()
        given: list[list[float | None]] = [[None] * len(claims)]
        prompt = json.dumps([text, list(claims)], ensure_ascii=False)
        await self._calls.ask(run, ModelCall([prompt], Probabilities, partial(_read, given)))
        return [Finding(None if p is None else p >= self.threshold, p) for p in given[-1]]


class Probabilities(BaseModel):
    """One for each claim; None where there is no answer."""

    probabilities: list[float | None]


def _read(given: list[list[float | None]], reply: Probabilities) -> Probabilities | None:
    """Some without an answer: what there is counts, and a later run asks again."""
    given.append(reply.probabilities)
    return None if None in reply.probabilities else reply


class _Bridge:
    """The classifier as a model: one request at a time, in a thread."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        name: object = getattr(classifier, "name", None)
        self.name = name if isinstance(name, str) and name else type(classifier).__name__
        self.identity = identity_of(cast("StructuredLLM", classifier))
        self._thread = ThreadPoolExecutor(1, "noisesense-local")

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        premise, claims = json.loads(prompt)
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, self._asked, premise, claims)
        return schema(probabilities=found), Usage(calls=1)

    def _asked(self, premise: str, claims: list[str]) -> list[float | None]:
        try:
            found = list(self._classifier.entails([premise] * len(claims), claims))
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - it may quote the texts: only its kind is told
            problem = type(error).__name__
        else:
            if len(found) == len(claims):
                return [self._checked(each) for each in found]
            given = f"{len(found)} probabilities for {len(claims)} pairs"
            raise JudgeError(f"{self.name} gave {given}")
        raise JudgeError(f"the classifier {self.name} failed ({problem})")

    def _checked(self, value: Any) -> float | None:
        number = math.nan if value is None else float(value)
        if not math.isfinite(number):
            return None
        if not -1e-6 <= number <= 1 + 1e-6:
            expected = "where a probability from 0 to 1 is expected"
            raise JudgeError(f"{self.name} gave {number:g} {expected}")
        return min(max(number, 0.0), 1.0)
