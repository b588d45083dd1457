"""`LocalJudge`: the judge over a local classifier."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
"""The version of the texts that a classifier gets."""

_AT_ONCE = 16
"""Calls that wait at once for the classifier, which takes one at a time."""


class Classifier(Protocol):
    """Estimates how likely a text entails a claim, e.g. `NLIModel`.

    It may have a ``name`` and an ``identity``, as a `noisesense.StructuredLLM` may.
    """

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> Sequence[float | None]:
        """A probability from 0 to 1 for each pair of a premise and a claim.

        NaN and None mean no answer. Called in a thread, never twice at once.
        """
        ...


class LocalJudge(PlannedJudge):
    """A judge over a local classifier; no data leaves the machine.

    As `noisesense.LLMJudge`, it splits response and reference into claims, checks these against
    the reference, and checks the chunks only if a claim is not correct. A claim is entailed if its
    probability is at least ``threshold``; without a finite probability the verdict is
    undetermined. A call is one text with all its claims.

    Args:
        classifier: a folder or a name for `NLIModel`, or any object with ``entails``.
        threshold: from 0 to 1; `noisesense trust` finds one from labels.
        claims: a model that finds the claims; by default, each sentence is a claim.
        plan: see `noisesense.LLMJudge`.
        store: keeps all probabilities, so that another threshold needs no new ones.
        max_concurrency: the limit of concurrent calls to the model that finds the claims.

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
        self._finder: LLMJudge | None = None
        finder = "sentences"
        if claims is not None:
            self._finder = LLMJudge(claims, store=store, max_concurrency=max_concurrency)
            finder = f"{self._finder.model}-{digest(identity_of(claims))[:8]}"
        llm = _Bridge(classifier)
        calls = Calls(llm, llm.name, _VERSION, store, _AT_ONCE)
        super().__init__(calls, plan=plan, settings=f"threshold={threshold} claims={finder}")

    async def find(self, run: SampleRun, which: str, text: str, question: str) -> list[str]:
        """Each sentence is a claim, or a model finds the claims."""
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
        """Entailed from the threshold up; undetermined without a finite probability.

        A classifier gets one text, so the question is put before an answer that needs it.
        """
        if not claims:
            return []
        if is_terse(text):
            text = f"{question} {text}".strip()
        probabilities: list[float | None] = [None] * len(claims)

        def read(reply: Probabilities) -> Probabilities | None:
            probabilities[:] = reply.probabilities
            # An incomplete reply counts, but is not stored: a later run asks again.
            return None if None in probabilities else reply

        prompt = json.dumps([text, list(claims)], ensure_ascii=False)
        await self._calls.ask(run, ModelCall(lambda _: prompt, 1, Probabilities, read))
        findings: list[Finding] = []
        for probability in probabilities:
            entailed = None if probability is None else probability >= self.threshold
            findings.append(Finding(entailed, probability))
        return findings


class Probabilities(BaseModel):
    """The reply of a classifier: one for each claim; None is no answer."""

    probabilities: list[float | None]


class _Bridge:
    """A classifier as a `StructuredLLM`: one request at a time, in a thread."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        name: object = getattr(classifier, "name", None)
        self.name = name if isinstance(name, str) and name else type(classifier).__name__
        self.identity = identity_of(cast("StructuredLLM", classifier))
        self._thread = ThreadPoolExecutor(1, "noisesense-local")

    async def generate(self, prompt: str, schema: type[S]) -> tuple[S, Usage]:
        premise, claims = json.loads(prompt)
        loop = asyncio.get_running_loop()
        probabilities = await loop.run_in_executor(
            self._thread, self._probabilities, premise, claims
        )
        return schema(probabilities=probabilities), Usage(calls=1)

    def _probabilities(self, premise: str, claims: list[str]) -> list[float | None]:
        """Checked here, too: a number may first be computed when it is read."""
        values = self._ask(premise, claims)
        if len(values) != len(claims):
            counts = f"{len(values)} probabilities for {len(claims)} pairs"
            raise JudgeError(f"{self.name} gave {counts}")
        return [self._checked(value) for value in values]

    def _ask(self, premise: str, claims: list[str]) -> list[Any]:
        try:
            return list(self._classifier.entails([premise] * len(claims), claims))
        except JudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a classifier raises
            problem = type(error).__name__
        # Not within the handler: the error may quote the texts.
        raise JudgeError(f"the classifier {self.name} failed ({problem})")

    def _checked(self, value: Any) -> float | None:
        expected = "where a probability from 0 to 1 is expected"
        try:
            number = math.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise JudgeError(f"{self.name} gave a {type(value).__name__} {expected}") from None
        if not math.isfinite(number):
            return None
        if not -1e-6 <= number <= 1 + 1e-6:
            raise JudgeError(f"{self.name} gave {number:g} {expected}")
        return min(max(number, 0.0), 1.0)
