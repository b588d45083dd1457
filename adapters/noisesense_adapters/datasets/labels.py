"""Claims that people labeled, and a judge that is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from noisesense import InputError, LabeledVerdicts, Result, Sample, Usage, Verdicts, errors
from noisesense.errors import check_whole
from noisesense.judging.calls import run_blocking
from noisesense.judging.protocol import Entailment, EntailmentJudge
from noisesense.stats.clusters import cluster_of
from noisesense.verdicts.verdicts import as_model
from noisesense_adapters.datasets.score import Failures, ask_all

OnDone = Callable[[str | None], object]
"""Called for each labeled sample with why it failed, or None."""


class JudgedLabels(NamedTuple):
    """Labels beside a judge's verdicts, and the verdicts' cost."""

    samples: list[LabeledVerdicts]
    usage: Usage


def judge_labels(
    labeled: Iterable[Result],
    judge: EntailmentJudge,
    *,
    concurrency: int = 16,
    on_done: OnDone = lambda _: None,
) -> JudgedLabels:
    """Ask a judge about claims that people labeled. The claims are taken as they are.

    Args:
        labeled: results whose verdicts are labels; they need the chunks' texts. Where people said
            which claims are correct and the sample is there, its reference is asked, too, as the
            answer to its question.
            Results without verdicts are left out.
        judge: e.g. `LLMJudge`.
        concurrency: how many samples at once.
        on_done: see `OnDone`.

    Raises:
        InputError: labels without texts, or a ``concurrency`` below 1.
        JudgeError: the judge failed on each of the first samples.
        StoreError: the judge's store.
    """
    check_whole(concurrency, 1, "concurrency")
    samples: list[LabeledVerdicts] = []
    usages: list[Usage] = []
    failures = Failures()

    async def ask(result: Result) -> LabeledVerdicts:
        assert result.score is not None
        labels = as_model(result.score.verdicts)
        judged = None
        try:
            asked = await _judged(labels, result, judge)
        except errors.JudgeError as error:
            failures.add(error, str(error), partial(on_done, str(error)))
        else:
            failures.judged()
            on_done(None)
            judged = asked.verdicts
            usages.append(asked.usage)
        return LabeledVerdicts(labels, judged, result.id, cluster_of(result))

    with_labels = (result for result in labeled if result.score is not None)
    run_blocking(ask_all(with_labels, ask, concurrency, samples.append))
    failures.end()
    return JudgedLabels(samples, sum(usages, Usage()))


class _Texts(NamedTuple):
    """The texts of one labeled sample.

    Attributes:
        sample: its reference is the one that people compared the response's claims with; None if
            they did not.
    """

    response: list[str]
    reference: list[str]
    chunks: list[str]
    sample: Sample | None

    @property
    def claims(self) -> list[str]:
        return [*self.response, *self.reference]


class _Judged(NamedTuple):
    """A judge's verdicts on one labeled sample; the rest as in `JudgedLabels`."""

    verdicts: Verdicts
    usage: Usage


async def _judged(labels: Verdicts, result: Result, judge: EntailmentJudge) -> _Judged:
    texts = _texts(labels, result)
    of_reference = await _correctness(texts, judge)
    of_chunks = await _sources(texts, judge)
    usage = of_reference.usage + of_chunks.usage
    return _Judged(_verdicts(texts, of_reference, of_chunks), usage)


def _texts(labels: Verdicts, result: Result) -> _Texts:
    """Return the texts to ask about. Raises `InputError` if there are none."""
    says_correct = any(claim.correct is not None for claim in labels.response_claims)
    texts = _Texts(
        response=[claim.text for claim in labels.response_claims],
        reference=[claim.text for claim in labels.reference_claims],
        chunks=[chunk.text for chunk in labels.chunks or ()],
        sample=result.sample if says_correct else None,
    )
    has_premises = texts.chunks or texts.sample
    if not has_premises or not all(map(str.strip, texts.claims)):
        hint = "labels need the texts of their claims and chunks"
        raise InputError("texts to judge", "none", where=f"sample {result.id!r}", hint=hint)
    return texts


def _not_asked(claims: Sequence[str], premises: int) -> Entailment:
    """Undetermined cells, for which no judge was asked."""
    return Entailment([[None] * premises] * len(claims), Usage(), 0)


async def _correctness(texts: _Texts, judge: EntailmentJudge) -> Entailment:
    """Ask whether the reference, as the answer to its question, entails the claims."""
    sample = texts.sample
    if sample is None or not texts.response:
        return _not_asked(texts.response, premises=1)
    return await judge.entailment([sample.reference], texts.response, question=sample.user_input)


async def _sources(texts: _Texts, judge: EntailmentJudge) -> Entailment:
    """Ask which chunks entail which claims of the response and the reference."""
    if not texts.chunks or not texts.claims:
        return _not_asked(texts.claims, len(texts.chunks))
    return await judge.entailment(texts.chunks, texts.claims)


def _verdicts(texts: _Texts, of_reference: Entailment, of_chunks: Entailment) -> Verdicts:
    count = len(texts.response)
    return Verdicts.from_matrices(
        [row[0] for row in of_reference.cells],
        of_chunks.cells[:count],
        of_chunks.cells[count:],
        response_claims=texts.response,
        reference_claims=texts.reference,
        chunks=texts.chunks,
    )
