"""What the judge's errors do to a mean, and which true means its verdicts allow."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from random import Random
from typing import Literal, NamedTuple, get_args

from noisesense.errors import InputError, check_choice, describe
from noisesense.scoring.definitions import MODES, DefinitionName, Mode, check_definition
from noisesense.scoring.gate import check_limit
from noisesense.scoring.records import BothModes, Record
from noisesense.scoring.results import Result, score_in
from noisesense.scoring.scoring import Score
from noisesense.stats.cells import CellKind
from noisesense.stats.interval import Bounds, mean_bounds
from noisesense.stats.judge_errors import (
    AS_THEY_ARE,
    EXACT,
    OPEN,
    Corrected,
    Kinds,
    Rates,
    Table,
    Within,
    error_variance,
    expected_score,
    groups_of,
)
from noisesense.stats.quantiles import NORMAL, quantile_of_sorted
from noisesense.verdicts.verdicts import Verdicts, as_model

CELLS: tuple[CellKind, ...] = get_args(CellKind)

Direction = Literal["stress", "truth"]
"""What is asked: where errors would move true verdicts, or which truth the verdicts allow."""

ErrorRate = float | tuple[int, int]
"""A share, or ``(errors, labeled cells)`` from which it was counted."""


@dataclass(frozen=True)
class Band(Record):
    """Where one mode's mean goes, over all samples with claims.

    Attributes:
        mode: ``"relevant"`` or ``"irrelevant"``.
        undetermined: samples of which the verdicts as they are leave the value open.
        undefined: samples with nothing to measure; they are in no figure.
        mean: of the verdicts as they are; None where its bounds differ.
        bounds: the mean of the lowest values and that of the highest.
        moved: stress: the mean over the simulations; truth: the mean without the judge's errors,
            as far as 0 to 1. None where its bounds differ.
        moved_bounds: the same of the lowest values and of the highest.
        low: between this one
        high: and this one lies the share ``confidence`` of the simulated means: ``low`` is a
            quantile of the means of the lowest values, ``high`` of those of the highest. Truth:
            between them lies the mean that faultless verdicts on these samples would have given.
    """

    mode: Mode
    undetermined: int
    undefined: int
    mean: float | None
    bounds: Bounds | None
    moved: float | None
    moved_bounds: Bounds | None
    low: float | None
    high: float | None

    @property
    def shift(self) -> float | None:
        """``moved − mean``."""
        return None if self.mean is None or self.moved is None else self.moved - self.mean


@dataclass(frozen=True)
class SensitivityBand(Record, BothModes[Band]):
    """Both modes under one assumption about the judge.

    Attributes:
        direction: ``"stress"``: the verdicts are taken as true, and errors are added;
            ``"truth"``: they hold the judge's errors, which are taken out.
        samples: how many were simulated.
        failed: results without verdicts; they are in no figure.
        false_yes: the assumed share of "no" cells that the judge turns into "yes".
        false_no: the assumed share of "yes" cells that it turns into "no".
        cells: in which kinds of cells.
        correlation: of the errors in two cells with the same truth that share `within`.
        within: ``"claim"`` or ``"chunk"``.
        simulations: how often.
        open_cells: verdicts that were never given (a lazy plan, a judge that failed). Errors in
            them cannot be simulated: judge with ``plan="full"`` where they are many.
        confidence: of the bands.
        relevant: the relevant mode.
        irrelevant: the irrelevant mode; None if the definition has none.
    """

    direction: Direction
    samples: int
    failed: int
    false_yes: float
    false_no: float
    cells: tuple[CellKind, ...]
    correlation: float
    within: Within
    simulations: int
    open_cells: int
    confidence: float
    relevant: Band | None
    irrelevant: Band | None


class _Judge(NamedTuple):
    """What is assumed of the judge; as `sensitivity_band` takes it."""

    false_yes: ErrorRate
    false_no: ErrorRate
    draws: Sequence[Rates]
    cells: tuple[CellKind, ...]
    correlation: float
    within: Within

    @property
    def rates(self) -> Rates:
        return _share(self.false_yes), _share(self.false_no)

    def drawn(self, random: Random) -> Rates:
        """Rates that the judge may have."""
        if self.draws:
            return random.choice(self.draws)
        return _drawn(self.false_yes, random), _drawn(self.false_no, random)

    def wrong(self, table: Table, random: Random, rates: Rates) -> Table:
        """What this judge may say where the table is the truth."""
        within = self.within if self.correlation else None
        groups = groups_of(table.size, self.cells, within)
        return table.flipped(random, rates, groups, self.correlation)

    def corrected(self, rates: Rates) -> Kinds:
        """What stands for the cells of each kind."""
        here = Corrected.at(rates)
        first, second, third = (here if kind in self.cells else EXACT for kind in CELLS)
        return first, second, third


def _share(rate: ErrorRate) -> float:
    return rate[0] / rate[1] if isinstance(rate, tuple) else rate


def _drawn(rate: ErrorRate, random: Random) -> float:
    """What the labels leave open, with Jeffreys' prior."""
    if isinstance(rate, tuple):
        return random.betavariate(rate[0] + 0.5, rate[1] - rate[0] + 0.5)
    return rate


def _check_rate(rate: ErrorRate, where: str) -> None:
    if not isinstance(rate, tuple):
        check_limit(rate, where)
    elif len(rate) != 2 or not 0 <= rate[0] <= rate[1] or not rate[1]:
        raise InputError("(errors, labeled cells)", describe(rate), where=where)


_Ends = tuple[Bounds, Bounds]
"""Of both modes the lowest and the highest value, or mean."""


def sensitivity_band(
    verdicts: Iterable[Verdicts | Score | Result],
    *,
    direction: Direction = "stress",
    false_yes: ErrorRate = 0.0,
    false_no: ErrorRate = 0.0,
    draws: Sequence[Rates] = (),
    cells: Collection[CellKind] = CELLS,
    correlation: float = 0.0,
    within: Within = "claim",
    definition: DefinitionName = "ragas",
    simulations: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> SensitivityBand:
    """What a judge's errors do to the mean, or which true means its verdicts allow.

    ``direction="stress"`` takes the verdicts as true. In every simulation each determined "no"
    becomes a "yes" with probability ``false_yes`` and each "yes" a "no" with probability
    ``false_no``; labels of chunks stay. One wrong "yes" in a reference claim's row makes a chunk
    relevant, and with it all that it entails: where there are many chunks, few of them move the
    relevant mode far.

    ``direction="truth"`` takes the errors out of verdicts that hold them already. The estimate
    (see `noisesense.stats.judge_errors`) has the mean that faultless verdicts on these samples
    would have given as its expectation, if the judge errs in each cell on its own. The band holds
    how far such errors scatter it, and what other rates that the labels allow would give. That
    other samples would have given another mean is not in it.

    Where verdicts are open, every figure is a range over all samples with claims, as in
    `noisesense.summarize`.

    Args:
        verdicts: of each sample; failed results are counted and left out. Read once.
        direction: ``"stress"`` or ``"truth"``.
        false_yes: 0 to 1, e.g. ``false_yes_rate`` of an `Agreement`; or how many of how many
            labeled "no" cells were wrong, as ``(3, 150)``: then the rate's own uncertainty counts.
        false_no: likewise of "yes" cells, e.g. ``missed_rate``.
        draws: pairs of rates that the labels allow, for the uncertainty of the two.
        cells: in which kinds of cells: ``"correct"``, ``"response"``, ``"reference"``.
        correlation: for stress, of the errors in cells that share what ``within`` names; 0: each
            on its own.
        within: ``"claim"`` or ``"chunk"``.
        definition: for the scores.
        simulations: how many. Time grows with it times the number of samples; for the truth only
            up to 40, and only where rates are uncertain.
        confidence: the share of simulated means within the band.
        seed: the same seed gives the same band.

    Raises:
        InputError: a rate outside 0 to 1, an unknown kind, no verdicts; for the truth a
            correlation, or rates whose sum is 1 or more: such verdicts say nothing.
    """
    check_choice(direction, get_args(Direction), "direction")
    check_choice(within, get_args(Within), "within")
    has_irrelevant = check_definition(definition).irrelevant is not None
    for rate, name in ((false_yes, "false_yes"), (false_no, "false_no")):
        _check_rate(rate, name)
    check_limit(correlation, "correlation")
    check_limit(confidence, "confidence")
    for kind in cells:
        if kind not in CELLS:
            raise InputError(f"some of {CELLS}", describe(kind), where="cells")
    if simulations < 1:
        raise InputError("1 or more", describe(simulations), where="simulations")
    kinds: tuple[CellKind, ...] = tuple(kind for kind in CELLS if kind in cells)
    judge = _Judge(false_yes, false_no, draws, kinds, correlation, within)
    if direction == "truth" and sum(judge.rates) >= 1:
        raise InputError(
            "rates whose sum is below 1",
            " + ".join(f"{rate:g}" for rate in judge.rates),
            where="false_yes, false_no",
            hint="verdicts that are wrong so often say nothing about the truth",
        )
    if direction == "truth" and correlation:
        hint = "the truth takes each error on its own"
        raise InputError("0", describe(correlation), where="correlation", hint=hint)
    tables, failed = _tables(verdicts)
    simulate = _stress if direction == "stress" else _truth
    with_claims = [table for table in tables if table.size[0]]
    undefined = len(tables) - len(with_claims)
    bands: dict[Mode, Band] = {
        mode: Band(mode, 0, undefined, None, None, None, None, None, None) for mode in MODES
    }
    if with_claims:
        moved, means = simulate(with_claims, judge, definition, simulations, Random(seed))
        actual = [_ends(table, AS_THEY_ARE, definition) for table in with_claims]
        for at, mode in enumerate(MODES):
            bands[mode] = _band(
                mode,
                undefined,
                [each[at] for each in actual],
                moved[at],
                [each[at] for each in means],
                confidence,
            )
    return SensitivityBand(
        direction=direction,
        samples=len(tables),
        failed=failed,
        false_yes=judge.rates[0],
        false_no=judge.rates[1],
        cells=kinds,
        correlation=correlation,
        within=within,
        simulations=simulations,
        open_cells=sum(
            table.cells[part].count(OPEN)
            for table in tables
            for part, kind in zip(table.parts, CELLS, strict=True)
            if kind in kinds
        ),
        confidence=confidence,
        relevant=bands["relevant"],
        irrelevant=bands["irrelevant"] if has_irrelevant else None,
    )


def _band(
    mode: Mode,
    undefined: int,
    actual: Sequence[Bounds],
    moved: Bounds,
    means: Sequence[Bounds],
    confidence: float,
) -> Band:
    bounds, tail = mean_bounds(actual), (1 - confidence) / 2
    lows, highs = (sorted(each[end] for each in means) for end in (0, 1))
    return Band(
        mode=mode,
        undetermined=sum(low != high for low, high in actual),
        undefined=undefined,
        mean=bounds[0] if bounds[0] == bounds[1] else None,
        bounds=bounds,
        moved=moved[0] if moved[0] == moved[1] else None,
        moved_bounds=moved,
        low=quantile_of_sorted(lows, tail),
        high=quantile_of_sorted(highs, 1 - tail),
    )


def _tables(verdicts: Iterable[Verdicts | Score | Result]) -> tuple[list[Table], int]:
    """Of each sample, and how many failed."""
    tables: list[Table] = []
    failed = 0
    for item in verdicts:
        scored = None if isinstance(item, Verdicts) else score_in(item)
        if isinstance(item, Verdicts):
            tables.append(Table.of(item))
        elif scored is not None:
            tables.append(Table.of(as_model(scored.verdicts)))
        else:
            failed += 1
    if not tables:
        raise InputError("verdicts on at least one sample", "none", where="verdicts")
    return tables, failed


_OPEN: _Ends = ((0.0, 1.0), (0.0, 1.0))
_LARGEST = 1e150
"""The square of a larger number may be too large for a float; and an estimate so far from 0 to 1
says nothing."""


def _check_range(*figures: float) -> None:
    if not all(abs(each) < _LARGEST for each in figures):
        raise OverflowError


def _ends(table: Table, kinds: Kinds, definition: DefinitionName) -> _Ends:
    """Raises `OverflowError` where cells that stand for large numbers are too many."""
    found = expected_score(table, kinds, definition)
    assert found is not None  # only tables with claims come here
    _check_range(*found[0], *found[1])
    return found


def _mean(ends: Sequence[_Ends]) -> _Ends:
    relevant, irrelevant = (mean_bounds([each[at] for each in ends]) for at in (0, 1))
    return relevant, irrelevant


def _stress(
    tables: Sequence[Table],
    judge: _Judge,
    definition: DefinitionName,
    simulations: int,
    random: Random,
) -> tuple[_Ends, list[_Ends]]:
    """The mean of the simulated means, and these."""
    means: list[_Ends] = []
    for _ in range(simulations):
        rates = judge.drawn(random)
        wrong = (judge.wrong(table, random, rates) for table in tables)
        means.append(_mean([_ends(table, AS_THEY_ARE, definition) for table in wrong]))
    return _mean(means), means


_MOST_DRAWS, _MOST_SAMPLES = 40, 100
"""What other rates would give is found for so many pairs of rates, on so many samples, at most."""

_LEAST_KEPT = 0.05
"""With ``1 − false_yes − false_no`` below this, verdicts leave the truth open."""

_NORMAL = [NORMAL.inv_cdf((i + 0.5) / 1000) for i in range(1000)]


def _truth(
    tables: Sequence[Table],
    judge: _Judge,
    definition: DefinitionName,
    simulations: int,
    random: Random,
) -> tuple[_Ends, list[_Ends]]:
    """The estimate, and what the truth may be instead."""
    some = random.sample(tables, min(len(tables), _MOST_SAMPLES))
    kinds = judge.corrected(judge.rates)
    try:
        estimate = _mean([_ends(table, kinds, definition) for table in tables])
        here = _mean([_ends(table, kinds, definition) for table in some])
    except OverflowError:
        return _OPEN, [_OPEN]
    means: list[_Ends] = []
    draws = {judge.drawn(random): None for _ in range(min(simulations, _MOST_DRAWS))}
    for rates in draws:
        known = tables if rates == judge.rates else some
        try:
            if 1 - sum(rates) < _LEAST_KEPT:
                raise OverflowError
            kinds = judge.corrected(rates)
            there = _mean([_ends(table, kinds, definition) for table in some])
            spread = [error_variance(table, kinds, definition) for table in known]
            _check_range(*chain.from_iterable(spread))
            errors = [_most_error([each[at] for each in spread], len(tables)) for at in (0, 1)]
        except OverflowError:
            means += [_OPEN] * len(_NORMAL)
            continue
        for z in _NORMAL:
            first, second = (
                (
                    estimate[at][0] + there[at][0] - here[at][0] + z * errors[at],
                    estimate[at][1] + there[at][1] - here[at][1] + z * errors[at],
                )
                for at in (0, 1)
            )
            means.append(_limited((first, second)))
    return _limited(estimate), means


def _most_error(variances: Sequence[float], samples: int) -> float:
    """The standard error of the mean of so many samples, by the variances of some of them.

    They are skewed, and small where the estimate is too small: so their mean is taken a standard
    error higher.
    """
    count = len(variances)
    mean = fsum(variances) / count
    around = fsum((each - mean) ** 2 for each in variances) / count
    return math.sqrt(max(mean + math.sqrt(around / count), 0.0) / samples)


def _limited(ends: _Ends) -> _Ends:
    """As far as values go, 0 to 1."""
    first, second = ((min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)) for low, high in ends)
    return first, second
