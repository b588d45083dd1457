"""How often a judge is wrong on labeled claims, and what that leaves of a mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from noisesense.errors import InputError
from noisesense.judging.protocol import Usage
from noisesense.scoring.definitions import DefinitionName
from noisesense.scoring.records import Record
from noisesense.scoring.results import Result
from noisesense.stats.cells import Confusion, cell_agreement, compare_cells
from noisesense.stats.interval import Interval, Resampling
from noisesense.stats.judge_errors import Rates
from noisesense.stats.pairing import VerdictPair
from noisesense.stats.resampling import Unit
from noisesense.stats.sensitivity import Band, SensitivityBand, sensitivity_band
from noisesense.stats.threshold import Calibration, calibrate
from noisesense.verdicts.verdicts import Verdicts


@dataclass(frozen=True)
class LabeledVerdicts:
    """One labeled sample, and what a judge said of its claims.

    Attributes:
        labels: by people; what they left open is in no figure.
        judge: on the same claims and chunks; None if it failed.
        name: of the sample.
        cluster: what the sample has in common with others; by default each is on its own.
    """

    labels: Verdicts
    judge: Verdicts | None
    name: str
    cluster: str | None = None


@dataclass(frozen=True)
class Trust(Record):
    """A judge beside labels.

    Attributes:
        judge: its name.
        samples: labeled samples that it judged: in most sets one claim each.
        failed: labeled samples that it could not judge; they are in no figure.
        counts: of all cells, see `noisesense.stats.cells.Confusion`.
        false_yes: of the "no" that people gave, the share it calls "yes".
        false_yes_interval: of it, over samples (or clusters); the two rates are within their
            intervals *together* with the confidence asked for.
        false_no: of the "yes", the share it calls "no".
        false_no_interval: likewise.
        kappa: Cohen's.
        kappa_interval: of it.
        usage: what judging the labels cost.
        band: which true means the results allow (`sensitivity_band`); None without results.
        results_by: the judges that the results name.
        confidence: of the two intervals together, and of the two modes' ranges together.
        calibration: other thresholds, of a judge with probabilities; None without any.
        sentence: all of it in one sentence.
    """

    _derived = ("sentence",)

    judge: str
    samples: int
    failed: int
    counts: Confusion
    false_yes: float | None
    false_yes_interval: Interval | None
    false_no: float | None
    false_no_interval: Interval | None
    kappa: float | None
    kappa_interval: Interval | None
    usage: Usage
    band: SensitivityBand | None
    results_by: tuple[str, ...]
    confidence: float
    calibration: Calibration | None = None

    @property
    def sentence(self) -> str:
        """What to think of the judge and, with results, of their means."""
        rates = (
            f"{_rate(self.false_yes, self.false_yes_interval)} false yes and "
            f"{_rate(self.false_no, self.false_no_interval)} false no in "
            f"{self.counts.compared:,} labeled verdicts"
        )
        bands = [] if self.band is None else [self.band.relevant, self.band.irrelevant]
        means = " and ".join(_allowed(band) for band in bands if band and band.bounds)
        if not means:
            return f"{self.judge} has {rates}."
        return f"With {self.judge}, {means}: {rates}."


def _rate(rate: float | None, interval: Interval | None) -> str:
    if rate is None:
        return "an unknown share of"
    between = f" ({interval.low:.1%} to {interval.high:.1%})" if interval else ""
    return f"{rate:.1%}{between}"


def _allowed(band: Band) -> str:
    assert band.bounds is not None
    low, high = band.bounds
    mean = f"{low:.4f}" if low == high else f"{low:.4f} to {high:.4f}"
    return f"the {band.mode} mean of {mean} may be anything from {band.low:.4f} to {band.high:.4f}"


_DRAWS = 100


def trust(
    judge: str,
    labeled: Iterable[LabeledVerdicts],
    *,
    results: Iterable[Result] | None = None,
    usage: Usage | None = None,
    probabilities: Iterable[tuple[bool, float]] = (),
    definition: DefinitionName = "ragas",
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 2000,
) -> Trust:
    """How often a judge is wrong on labeled claims, and which true means its verdicts allow.

    ``false_yes = false yes / labeled no`` and ``false_no = missed / labeled yes`` over all cells
    (claim × chunk, claim × reference) that both sides decided. Intervals are over samples, or
    clusters of them, whose cells are not independent. With results, `sensitivity_band` takes
    such errors out of them, with rates drawn anew as the labels allow. It assumes that the judge
    errs on the results as it does on the labels, in each verdict on its own.

    Args:
        judge: its name, for the sentence.
        labeled: labels and the judge's verdicts on the same claims. Read once.
        results: that this judge gave.
        usage: what judging the labels cost.
        probabilities: what people said, and how likely the judge has it, of a judge that cuts
            probabilities at a threshold.
        definition: of the means.
        confidence: see `Trust`.
        seed: the same seed gives the same figures.
        resamples: of the intervals.

    Raises:
        InputError: no labeled cells that the judge decided, a number out of range, or rates
            whose sum is 1 or more together with results.
    """
    Resampling(confidence, resamples, seed).check()
    # Two rates, and two modes: each misses half as often as both together may.
    each = 1 - (1 - confidence) / 2
    sums: dict[tuple[bool, str], list[int]] = {}
    samples = failed = 0
    for sample in labeled:
        if sample.judge is None:
            failed += 1
            continue
        samples += 1
        cells, _ = compare_cells(VerdictPair(sample.name, sample.judge, sample.labels))
        named = sample.cluster is not None
        unit = sums.setdefault((named, sample.cluster or sample.name), [0] * 6)
        for confusion in cells.values():
            for at, count in enumerate(confusion):
                unit[at] += count
    units: Counter[Unit] = Counter(tuple(map(float, unit)) for unit in sums.values())
    found = cell_agreement(units, Resampling(each, resamples, seed))
    if not found.counts.compared:
        raise InputError("labeled claims that the judge decided", "none", where=judge)
    trusted = Trust(
        judge=judge,
        samples=samples,
        failed=failed,
        counts=found.counts,
        false_yes=found.false_yes_rate,
        false_yes_interval=found.false_yes_interval,
        false_no=found.missed_rate,
        false_no_interval=found.missed_interval,
        kappa=found.kappa,
        kappa_interval=found.kappa_interval,
        usage=usage or Usage(),
        band=None,
        results_by=(),
        confidence=confidence,
        calibration=_calibration(list(probabilities)),
    )
    if results is None:
        return trusted
    if found.false_yes_rate is None or found.missed_rate is None:
        wanted = "yes" if found.missed_rate is None else "no"
        expected = 'labels of both kinds, "yes" and "no"'
        raise InputError(expected, f'no "{wanted}" that the judge decided', where=judge)
    judges = dict[str, None]()

    def named_results() -> Iterable[Result]:
        for result in results:
            if result.judge is not None:
                judges[result.judge] = None
            yield result

    band = sensitivity_band(
        named_results(),
        direction="truth",
        false_yes=found.false_yes_rate,
        false_no=found.missed_rate,
        draws=_drawn_rates(units, Random(seed)),
        definition=definition,
        confidence=each,
        seed=seed,
    )
    return replace(trusted, band=band, results_by=tuple(judges))


def _calibration(cells: list[tuple[bool, float]]) -> Calibration | None:
    return calibrate(cells) if len({label for label, _ in cells}) == 2 else None


def _drawn_rates(units: Counter[Unit], random: Random) -> Sequence[Rates]:
    """Pairs of rates that the labels allow: random weights on the units and on half a cell at
    each limit, as in `noisesense.stats.interval.few_units_interval`."""
    draws: list[Rates] = []
    for _ in range(_DRAWS):
        yes, missed, false_yes, no = (random.gammavariate(0.5, 1.0) for _ in range(4))
        for (a, b, c, d, *_), times in units.items():
            weight = random.gammavariate(times, 1.0)
            yes += weight * a
            missed += weight * b
            false_yes += weight * c
            no += weight * d
        draws.append((false_yes / (false_yes + no), missed / (missed + yes)))
    return draws
