"""The prediction-powered mean, by hand, by numpy and in simulation."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noisesense import (
    InputError,
    Range,
    Result,
    Verdicts,
    prediction_powered,
    prediction_powered_mean,
    score,
)
from noisesense.stats.interval import Resampling, few_units_interval
from noisesense.stats.resampling import Unit
from support.simulated import POPULATIONS, result_of


def test_derived_by_hand() -> None:
    # Σ (Y − mean)(f − mean) / n = 1/12 over (1 + 3/2) · var(f) = 5/2 · 1/32 is more than 1, so
    # λ = 1: mean(f') = 1/4, mean(Y − f) = (0 + 1/4 + 1/2) / 3.
    found = prediction_powered_mean([0.25, 0.25], [0.0, 0.25, 0.5], [0.0, 0.5, 1.0])
    assert (found.weight, found.labelled, found.unlabelled) == (1.0, 3, 2)
    assert found.mean == found.human_mean == (0.5, 0.5)
    assert found.judge_mean == (0.25, 0.25)
    # The other way round λ = 0: the labels alone, with the interval that their mean has.
    alone = prediction_powered_mean([0.25, 0.25], [0.5, 0.25, 0.0], [0.0, 0.5, 1.0])
    assert (alone.weight, alone.mean) == (0.0, (0.5, 0.5))
    units: Counter[Unit] = Counter({(0.0, 1.0): 1, (0.5, 1.0): 1, (1.0, 1.0): 1})
    assert alone.interval == few_units_interval(units, Resampling(), (0.0, 1.0))
    data = json.loads(json.dumps(alone.to_dict()))
    assert (data["mean"]["value"], data["interval"]["method"]) == (0.5, "dirichlet")
    # A judge that says the same of all tells nothing.
    constant = prediction_powered_mean([0.5] * 100, [0.5] * 3, [0.0, 0.5, 1.0])
    assert (constant.weight, constant.mean) == (0.0, constant.human_mean)


@pytest.mark.parametrize("seed", range(3))
def test_the_formulas_in_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.beta(1, 3, 40)
    judged = np.clip(labels + rng.normal(0.1, 0.1, 40), 0, 1)
    others = np.clip(rng.beta(1, 3, 500) + rng.normal(0.1, 0.1, 500), 0, 1)
    found = prediction_powered_mean(others.tolist(), judged.tolist(), labels.tolist())
    every = np.concatenate([judged, others])
    weight = np.cov(labels, judged, ddof=0)[0, 1] / ((1 + 40 / 500) * every.var(ddof=1))
    assert 0 < found.weight == pytest.approx(min(weight, 1))
    mean = found.weight * others.mean() + (labels - found.weight * judged).mean()
    assert found.mean.value == pytest.approx(mean)
    errors = labels - found.weight * judged
    error = found.weight * others.std(ddof=1) / 500**0.5
    for end, limit, p in zip(found.interval, (-found.weight, 1.0), (0.025, 0.975)):  # noqa: B905
        weights = rng.dirichlet([1.0] * 40 + [0.5], 50_000)
        drawn = weights @ np.append(errors, limit) + rng.normal(0, error, 50_000)
        assert end == pytest.approx(found.weight * others.mean() + np.quantile(drawn, p), abs=0.01)
    assert (found.labelled, found.unlabelled) == (40, 500)


def test_the_authors_own_package_gives_the_same() -> None:
    labels, judged = [0.0, 0.5, 0.25, 1.0, 0.0, 0.75], [0.0, 0.75, 0.5, 1.0, 0.25, 0.5]
    others = [0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 0.0, 0.5, 0.25, 0.0]
    tuned = prediction_powered_mean(others, judged, labels)
    # ppi_py 0.2.3: ppi_mean_pointestimate, ppi_mean_ci.
    assert tuned.mean.value == pytest.approx(0.3322072072072072, abs=1e-15)
    # Its interval takes the normal distribution and divides by n: too narrow for six labels.
    assert tuned.interval.low < 0.11438496835303694
    assert tuned.interval.high > 0.5500294460613775


def mid(figure: Range) -> float:
    return (figure.low + figure.high) / 2


def test_it_is_closer_to_the_truth_than_the_judge_and_than_the_labels() -> None:
    """A judge that calls one clean claim in ten noisy, 1000 samples judged, 60 labelled."""
    population = POPULATIONS[0]
    errors: dict[str, list[float]] = {"judge": [], "labels": [], "powered": []}
    held, width = 0, 0.0
    for seed in range(60):
        rng = random.Random(seed)
        human: list[float] = []
        judge: list[float] = []
        for _ in range(1000):
            noisy, claims = population.draw(rng)
            seen = noisy + sum(rng.random() < 0.1 for _ in range(claims - noisy))
            human.append(noisy / claims)
            judge.append(seen / claims)
        found = prediction_powered_mean(judge[60:], judge[:60], human[:60])
        errors["judge"].append(mid(found.judge_mean) - population.mean)
        errors["labels"].append(mid(found.human_mean) - population.mean)
        errors["powered"].append(mid(found.mean) - population.mean)
        held += found.interval.low <= population.mean <= found.interval.high
        width += (found.interval.high - found.interval.low) / 60
    judge_rms, labels_rms, powered_rms = (np.sqrt(np.mean(np.square(e))) for e in errors.values())
    assert powered_rms < 0.4 * judge_rms
    assert powered_rms < 0.6 * labels_rms
    assert abs(np.mean(errors["powered"])) < 0.005, "unbiased"
    assert held / 60 >= 0.92
    # 95% of a normal error are 2 · 1.96 times its size; half a label that nobody saw adds to it.
    assert 3.92 < width / powered_rms < 6.5


def test_labels_that_are_all_the_same_leave_open_what_they_can_have_missed() -> None:
    """Ten labels of 0, and half of one of 1 that nobody saw."""
    judged = [i / 10 for i in range(10)]
    found = prediction_powered_mean([0.2, 0.4, 0.9], judged, [0.0] * 10)
    assert (found.mean.value, found.weight) == (0.0, 0.0)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (0, stats.beta.ppf(0.975, 0.5, 10)), abs=0.03
    )


def test_from_results() -> None:
    judge = [result_of(i, (i % 3, 2)) for i in range(40)]
    human = [result_of(i, (i % 2, 2)) for i in range(10)]
    found = prediction_powered(judge, human, mode="relevant")
    values = [(i % 3) / 2 for i in range(40)]
    expected = prediction_powered_mean(values[10:], values[:10], [(i % 2) / 2 for i in range(10)])
    assert (found, found.warnings) == (expected, ())
    assert prediction_powered(judge, judge[:10], mode="relevant").warnings == (
        "The judge agrees with every label: the interval cannot see errors that are rarer than "
        "the labels show.",
    )


def test_samples_without_a_value_are_left_out() -> None:
    empty = score(Verdicts(response_claims=()))
    judge = [result_of(i, (i % 2, 2)) for i in range(8)]
    judge += [Result("f", error="no"), Result("e", empty)]
    human = [result_of(i, (1, 2)) for i in range(3)]
    human += [result_of("f", (1, 2)), Result("7", empty)]
    found = prediction_powered(judge, human, mode="relevant")
    assert (found.labelled, found.unlabelled) == (3, 4)
    assert "3 samples failed or have nothing to measure; they are in no figure." in found.warnings


def open_result(name: object, known: bool, noisy: bool) -> Result:
    """One claim; whether it is noise is not known, or known."""
    said = noisy if known else None
    return Result(str(name), score(Verdicts.from_matrices([False], [[said]], [[True]])))


def test_what_the_judge_left_open_is_corrected_and_not_left_out() -> None:
    """A judge that fails on the noisy samples: over those it decides, the mean is 0."""
    rng = random.Random(2)
    truth = [rng.random() < 0.3 for _ in range(400)]
    judge = [open_result(i, not noisy, noisy) for i, noisy in enumerate(truth)]
    human = [open_result(i, True, noisy) for i, noisy in enumerate(truth[:100])]
    found = prediction_powered(judge, human, mode="relevant")
    assert (found.labelled, found.unlabelled, found.warnings) == (100, 300, ())
    assert found.judge_mean == (0.0, pytest.approx(sum(truth) / 400))
    # Here the middle of the bounds says which are noisy: the estimate is that of all labels.
    assert found.mean.value == pytest.approx(sum(truth) / 400, abs=0.02)
    assert found.interval.low < sum(truth) / 400 < found.interval.high
    # With two of eight open, 0 to 1, and the labels 1, 0, 1.
    judge = [open_result(i, i not in (1, 5), i % 2 == 0) for i in range(8)]
    human = [open_result(i, True, i % 2 == 0) for i in range(3)]
    found = prediction_powered(judge, human, mode="relevant")
    expected = prediction_powered_mean([0, 1, 0.5, 1, 0], [1, 0.5, 1], [1, 0, 1])
    assert (found.mean, found.interval) == (expected.mean, expected.interval)
    assert found.weight == expected.weight > 0


def test_open_labels_make_a_range() -> None:
    judge = [open_result(i, True, i % 2 == 0) for i in range(100)]
    human = [open_result(i, i % 5 != 0, i % 2 == 0) for i in range(40)]
    found = prediction_powered(judge, human, mode="relevant")
    assert (found.mean.value, found.human_mean.value) == (None, None)
    # Of 40 labels 8 are open, 4 of them on noisy samples: 16 to 24 noisy ones.
    assert found.human_mean == (16 / 40, 24 / 40)
    judged, rest = [float(i % 2 == 0) for i in range(40)], 0.5
    for end, label in enumerate((0.0, 1.0)):
        labels = [label if i % 5 == 0 else judged[i] for i in range(40)]
        errors = [y - found.weight * f for y, f in zip(labels, judged, strict=True)]
        assert found.mean[end] == pytest.approx(found.weight * rest + sum(errors) / 40)
    assert found.interval.low < found.mean.low < found.mean.high < found.interval.high
    # What both left open is no agreement.
    both = [open_result(i, i > 1, i % 2 == 0) for i in range(8)]
    assert prediction_powered(both, both[:4], mode="relevant").warnings == ()


def test_results_that_do_not_fit() -> None:
    judge = [result_of(i, (1, 2)) for i in range(4)]
    with pytest.raises(InputError, match="human: expected each sample once"):
        prediction_powered(judge, [judge[0]] * 2, mode="relevant")
    with pytest.raises(InputError, match="judge_unlabelled: expected at least two scores, got 1"):
        prediction_powered(judge, judge[:3], mode="relevant")
    with pytest.raises(InputError, match="mode: expected 'relevant' or 'irrelevant'"):
        prediction_powered(judge, judge[:2], mode="both")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("args", "options", "where"),
    [
        (([0.1, 0.2], [0.1], [0.1, 0.2]), {}, "judge_labelled: expected 2 scores, got 1"),
        (([0.1, 0.2], [0.1], [0.1]), {}, "judge_labelled: expected at least two scores"),
        (([0.1, "1"], [0.1, 0.1], [0.1, 0.1]), {}, "judge_unlabelled, score 1"),
        (([0.1, 0.2], [0.1, 0.1], [0.1, float("nan")]), {}, "human_labelled, score 1"),
        (([None, 0.2], [0.1, 0.1], [0.1, 0.1]), {}, "judge_unlabelled, score 0"),
        (([0.1, 0.2], [0.1, 5], [0.1, 0.1]), {}, "judge_labelled, score 1"),
        (([0.1, 0.2], [0.1, 0.1], [0.1, 0.1]), {"confidence": 1}, "confidence"),
    ],
)
def test_numbers_out_of_range(
    args: tuple[list[Any], list[float], list[float]], options: dict[str, float], where: str
) -> None:
    with pytest.raises(InputError, match=f"^{where}"):
        prediction_powered_mean(*args, **options)  # type: ignore[arg-type]


def test_intervals_end_at_0_and_1_and_weights_too() -> None:
    wide = prediction_powered_mean([0.9, 1.0], [0.9, 1.0, 0.8], [1.0, 1.0, 0.7])
    assert wide.interval.high == 1.0 > wide.interval.low
    wide = prediction_powered_mean([0.1, 0.0], [0.1, 0.0, 0.2], [0.0, 0.0, 0.3])
    assert wide.interval.low == 0.0 < wide.interval.high
