"""How much of a score is the judge's own variance, how much the generator's, and how much is the
question's: the same answers judged several times, and several answers to a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum, sqrt
from statistics import fmean, variance
from typing import Literal, NamedTuple

from noisesense.errors import InputError, PairingError, describe
from noisesense.scoring.definitions import Mode
from noisesense.scoring.outcomes import BothModes, Record, check_limit
from noisesense.scoring.results import Result, check_scored_alike, result_in
from noisesense.stats.interval import Interval, Resampling, bootstrap_interval
from noisesense.stats.pairing import MIN_PAIRED, PairedBy, pair, question_of, same_texts
from noisesense.stats.resampling import Statistic, Unit, Units, total


class SampleStability(NamedTuple):
    """One sample whose value is not the same in all repeats.

    Attributes:
        id: its name in the first repeat.
        values: in each repeat.
        crosses: is it above the limit in some repeats and not in others?
    """

    id: str
    values: tuple[float, ...]
    crosses: bool


Source = Literal["question", "generator", "judge"]
"""Where the variance of a value comes from: values differ between questions, between the answers
to one question, and between the judgings of one answer."""


class Share(NamedTuple):
    """A part of the variance of a single value.

    Attributes:
        value: from 0 to 1; None where nothing varies, or all answers are to one question.
        interval: of it, over questions; None where it cannot be said.
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class ModeStability(Record):
    """One mode, over the samples that have a value in every repeat.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        samples: how many there are.
        left_out: samples without a value in some repeat: failed, undetermined or undefined.
        means: of each repeat.
        shares: of the variance of a single value, by its source. With ``K`` judgings of each of
            ``n`` answers to ``Q`` questions: the judge's variance is the mean over answers of
            ``Σ (value − answer's mean)² / (K − 1)``; the generator's
            ``Σ (answer's mean − question's mean)² / (n − Q)`` less the judge's over ``K``; the
            question's what is left, 0 at least. Where no question has several answers, only
            the judge's is known: question and generator cannot be told apart.
        mean_error: ``√(within / samples)``: how far the judge alone scatters the mean of a run.
        changed: the samples with several values, those that cross the limit and scatter most
            first.
    """

    mode: Mode
    samples: int
    left_out: int
    means: tuple[float, ...]
    shares: dict[Source, Share]
    mean_error: float | None
    changed: tuple[SampleStability, ...]


@dataclass(frozen=True)
class Stability(Record, BothModes[ModeStability]):
    """Several judgings of the same samples.

    Attributes:
        repeats: how many.
        samples: that all repeats have.
        unpaired: further samples of the largest repeat, which another one lacks; in no figure.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    repeats: int
    samples: int
    unpaired: int
    relevant: ModeStability | None
    irrelevant: ModeStability | None


def stability(
    runs: Iterable[Iterable[Result]],
    *,
    limit: float | None = None,
    pair_by: PairedBy | None = None,
) -> Stability:
    """How far a judge agrees with itself: its own variance beside the generator's, if each run
    holds several answers to a question, and that between questions.

    Args:
        runs: two or more judgings of the same answers, each asked anew: a store would give the
            first one's verdicts again.
        limit: a sample's value above it counts as noisy; which samples change sides?
        pair_by: as in `noisesense.compare`.

    Raises:
        InputError: fewer than two runs, an empty one, a limit out of range, or results that were
            not scored alike.
        PairingError: too few samples are in all of them, with the same answers.

    Source: the variance components of one-way and nested random effects models, e.g. Searle,
    Casella and McCulloch (1992), Variance Components, sections 3.6 and 5.
    """
    if limit is not None:
        check_limit(limit)
    judgings = [_results_in(run) for run in runs]
    if len(judgings) < 2:
        raise InputError("two runs or more", str(len(judgings)), where="runs")
    check_scored_alike(chain.from_iterable(judgings), "runs")
    first, *others = judgings
    # By position in the first run, which may hold a sample twice, and then its id as well.
    repeats_of = [[each] for each in first]
    for other in others:
        paired = pair(first, other, pair_by, min_paired=MIN_PAIRED, same_first=True)
        for ours, theirs in paired.positions:
            if same_texts(first[ours], other[theirs]):
                repeats_of[ours].append(other[theirs])
    samples = [each for each in repeats_of if len(each) == len(judgings)]
    fewest = min(map(len, judgings))
    if len(samples) < MIN_PAIRED * fewest:
        raise PairingError(
            f"the same answers in at least {MIN_PAIRED:.0%} of the samples of every run",
            f"{len(samples)} of {fewest}",
            hint="several answers to a question belong into one dataset, which is judged twice",
        )
    unpaired = max(map(len, judgings)) - len(samples)
    return Stability(
        repeats=len(judgings),
        samples=len(samples),
        unpaired=unpaired,
        relevant=_mode("relevant", samples, len(judgings), limit),
        irrelevant=_mode("irrelevant", samples, len(judgings), limit),
    )


def _results_in(run: Iterable[object] | None) -> list[Result]:
    if not isinstance(run, Iterable):
        hint = "give a list of runs, or read a file with read_results(path)"
        raise InputError("results of a run", describe(run), where="runs", hint=hint)
    return [*map(result_in, run)]


def _mode(
    mode: Mode, samples: Sequence[Sequence[Result]], repeats: int, limit: float | None
) -> ModeStability | None:
    if not _has_mode(samples, mode):
        return None
    measured: list[SampleStability] = []
    questions = defaultdict[Hashable, list[SampleStability]](list)
    for results in samples:
        values = _values(results, mode)
        if len(values) == repeats:
            sample = SampleStability(results[0].id, values, _crosses(values, limit))
            measured.append(sample)
            questions[_question(results[0])].append(sample)
    shares: dict[Source, Share] = {}
    mean_error = None
    if measured:
        units = Counter(map(_sums, questions.values()))
        shares = _shares(units, repeats)
        within = fsum(variance(sample.values) for sample in measured)
        mean_error = sqrt(within) / len(measured)
    values_of_samples = [sample.values for sample in measured]
    values_of_runs = zip(*values_of_samples, strict=True)
    return ModeStability(
        mode=mode,
        samples=len(measured),
        left_out=len(samples) - len(measured),
        means=tuple(map(fmean, values_of_runs)),
        shares=shares,
        mean_error=mean_error,
        changed=_changed(measured),
    )


def _has_mode(samples: Iterable[Sequence[Result]], mode: Mode) -> bool:
    """Does the definition have the mode? If nothing is scored, it may."""
    for result in chain.from_iterable(samples):
        if result.score is not None:
            return result.score.counts(mode) is not None
    return True


def _values(results: Iterable[Result], mode: Mode) -> tuple[float, ...]:
    """The values that are determined, by repeat."""
    values: list[float] = []
    for result in results:
        bounds = result.bounds(mode)
        if bounds is not None and bounds.value is not None:
            values.append(bounds.value)
    return tuple(values)


def _crosses(values: Iterable[float], limit: float | None) -> bool:
    if limit is None:
        return False
    return len({value > limit for value in values}) > 1


def _changed(samples: Iterable[SampleStability]) -> tuple[SampleStability, ...]:
    """The samples with several values, those that cross the limit and scatter most first."""
    changed = [sample for sample in samples if len({*sample.values}) > 1]
    return tuple(sorted(changed, key=_rank))


def _rank(sample: SampleStability) -> tuple[bool, float, str]:
    # Rounded: 1/4, 1/2, 1/2 scatter as much as 1/4, 0, 0.
    scatter = round(variance(sample.values), 12)
    return not sample.crosses, -scatter, sample.id


def _question(result: Result) -> Hashable:
    """What answers to one question share; where the question is not known, each has its own."""
    sample = result.sample
    if sample is None or not sample.user_input.strip():
        return result.id
    return question_of(result)


class _Sums(NamedTuple):
    """What a question adds to the sums that the variances are made of.

    Attributes:
        within: the variances of its answers' values.
        means: its answers' means.
        squares: the square of `means` over the number of answers.
        answers: how many.
        inside: the squares of the answers' means around the question's.
        sizes: the square of the number of answers.
        questions: 1.
    """

    within: float
    means: float
    squares: float
    answers: float
    inside: float
    sizes: float
    questions: float


def _sums(answers: Sequence[SampleStability]) -> Unit:
    """From a question's answers to what it adds to each sum."""
    count = len(answers)
    means = [fmean(answer.values) for answer in answers]
    sum_of_means = fsum(means)
    question_mean = fmean(means)
    return _Sums(
        within=fsum(variance(answer.values) for answer in answers),
        means=sum_of_means,
        squares=sum_of_means**2 / count,
        answers=float(count),
        inside=fsum((mean - question_mean) ** 2 for mean in means),
        sizes=float(count * count),
        questions=1.0,
    )


def _variances(sums: _Sums, repeats: int) -> dict[Source, float] | None:
    """Of a single value, by source: from the mean squares, each less what is due to those below.

    Without the generator's where each question has one answer: the question's holds it then.
    """
    if sums.questions < 2:
        return None
    judge = sums.within / sums.answers
    between_questions = sums.squares - sums.means**2 / sums.answers
    spread = max(between_questions, 0.0) / (sums.questions - 1)
    if sums.answers == sums.questions:
        return {"question": max(spread - judge / repeats, 0.0), "judge": judge}
    inside = sums.inside / (sums.answers - sums.questions)
    # How many answers a question has: the mean, less what unequal numbers take from it.
    size = (sums.answers - sums.sizes / sums.answers) / (sums.questions - 1)
    return {
        "question": max((spread - inside) / size, 0.0),
        "generator": max(inside - judge / repeats, 0.0),
        "judge": judge,
    }


def _shares(units: Units, repeats: int) -> dict[Source, Share]:
    """The shares that can be told; without several answers to a question only the judge's."""
    sources: tuple[Source, ...] = ("judge",)
    if any(_Sums(*unit).answers > 1 for unit in units):
        sources = ("question", "generator", "judge")
    shares: dict[Source, Share] = {}
    for source in sources:
        share = _share(source, repeats)
        interval = bootstrap_interval(units, share, Resampling())
        shares[source] = Share(share(total(units)), interval)
    return shares


def _share(source: Source, repeats: int) -> Statistic:
    """The source's share in the variance of a single value, as a statistic to resample."""

    def share(sums: Sequence[float]) -> float | None:
        variances = _variances(_Sums(*sums), repeats)
        if variances is None or source not in variances:
            return None
        whole = fsum(variances.values())
        return variances[source] / whole if whole > _TINY else None

    return share


_TINY = 1e-12
