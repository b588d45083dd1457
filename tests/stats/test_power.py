"""How many pairs a change needs, against simulated comparisons."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from noisesense import (
    InputError,
    PairingError,
    Result,
    Sample,
    Verdicts,
    compare,
    power,
    score,
)
from noisesense.stats.power import FigurePower
from support.simulated import POPULATIONS, Population, result_of

SIMULATED = 4000


def relevant(found: object) -> FigurePower:
    return found.figures[0]  # type: ignore[attr-defined]


def run(population: Population, count: int, cluster: int = 1) -> list[Result]:
    rng = random.Random(f"{population.name} {count}")
    rows: list[Result] = []
    for i in range(count // cluster):
        odds = population.odds(rng)
        for j in range(cluster):
            name = f"c{i}" if cluster > 1 else None
            rows.append(result_of(f"{i}/{j}", population.draw(rng, odds), name))
    return rows


def seen(values: np.ndarray, pairs: int, change: float) -> float:
    """How often Student's t calls B worse, where it is by the change and answers anew."""
    rng = np.random.default_rng(pairs)
    a, b = (rng.choice(values, (SIMULATED, pairs)) for _ in range(2))
    differences = b - a + change
    error = differences.std(axis=1, ddof=1) / math.sqrt(pairs)
    return float(np.mean(differences.mean(axis=1) > stats.t.ppf(0.975, pairs - 1) * error))


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
@pytest.mark.parametrize("change", [0.05, 0.1])
def test_as_many_pairs_see_the_change_in_80_of_100_comparisons(
    population: Population, change: float
) -> None:
    """To a tenth: fewer see it less often, and more more often."""
    results = run(population, 1000)
    found = relevant(power(results, change=change))
    values = np.array([each.score.relevant for each in results])
    pairs = found.pairs
    assert (
        seen(values, round(pairs * 0.9), change) < 0.8 < seen(values, round(pairs * 1.1), change)
    )
    assert found.scatter == pytest.approx(math.sqrt(2) * values.std(ddof=1))


def test_the_formula_by_hand() -> None:
    """20 values, half 0 and half 1/2: a deviation of 1/4 √(20/19), and √2 times that of a pair."""
    results = [result_of(i, (i % 2, 2)) for i in range(20)]
    found = relevant(power(results, change=0.1))
    scatter = 0.25 * math.sqrt(20 / 19) * math.sqrt(2)
    assert found.scatter == pytest.approx(scatter)

    def least(pairs: int, of: float = scatter) -> float:
        errors = stats.t.ppf(0.975, pairs - 1) + stats.t.ppf(0.8, pairs - 1)
        return float(errors * of / math.sqrt(pairs))

    assert least(found.pairs) <= 0.1 < least(found.pairs - 1)
    assert found.seen == pytest.approx(least(20), rel=1e-5)
    # Three answers to each question: a third of the pairs, but for the degrees of freedom.
    three = relevant(power(results, change=0.1, answers=3))
    assert least(three.pairs, scatter / math.sqrt(3)) <= 0.1
    assert least(three.pairs - 1, scatter / math.sqrt(3)) > 0.1
    assert relevant(power(results, change=0.1, often=0.9)).pairs > found.pairs
    assert relevant(power(results, change=0.1, confidence=0.99)).pairs > found.pairs


def test_a_second_run_says_how_far_answers_differ() -> None:
    """Half of the pairs differ by 1/2, up and down by turns: a deviation of √(1/8 · 40 / 39)."""
    a = [result_of(i, (1, 2)) for i in range(40)]
    b = [result_of(i, ((1, 2, 1, 0)[i % 4], 2)) for i in range(40)]
    found = power(a, b, change=0.1)
    assert found.paired
    assert relevant(found).scatter == pytest.approx(math.sqrt(1 / 8 * 40 / 39))
    with pytest.raises(PairingError):
        power(a, b[:10], change=0.1)
    alike = relevant(power(a, a, change=0.1))
    assert alike.pairs is None
    assert alike.seen is None
    assert alike.scatter == 0.0


def test_clusters_need_more() -> None:
    """Five samples of one document that are all alike are as good as one."""
    alone = [result_of(i, (i % 2, 2)) for i in range(40)]
    grouped = [result_of(i, ((i // 5) % 2, 2), f"c{i // 5}") for i in range(40)]
    single = relevant(power(alone, change=0.2))
    clustered = relevant(power(grouped, change=0.2))
    assert clustered.pairs > 4 * single.pairs
    few = [result_of(i, (i % 2, 2), f"c{i % 4}") for i in range(8)]
    assert relevant(power(few, change=0.2)).seen is None


def test_answers_to_one_question_are_clusters_as_they_are_in_a_comparison() -> None:
    """Five answers without ids to each of 20 questions: what is seen is what `compare` says."""
    a = [_answer(q, k, wrong=q % 2) for q in range(20) for k in range(5)]
    b = [_answer(q, k, wrong=q % 3) for q in range(20) for k in range(5)]
    told = compare(a, b)
    assert told.clusters == 20
    assert relevant(power(a, b, change=0.1)).seen == told.relevant.seen
    alone = [result_of(q, (q % 2, 2)) for q in range(20)]
    assert relevant(power(a, change=0.1)).seen == relevant(power(alone, change=0.1)).seen


def _answer(question: int, number: int, wrong: int) -> Result:
    sample = Sample(
        user_input=f"q{question}",
        response=f"{number} of {wrong}",
        reference="r",
        retrieved_contexts=["c"],
    )
    correct = [i >= wrong for i in range(2)]
    verdicts = Verdicts.from_matrices(correct, [[True]] * 2, [[True]], chunks=["c"])
    return Result(sample.key, score(verdicts), sample=sample)


@pytest.mark.parametrize(
    "wrong", [{"change": 0.0}, {"change": 1}, {"change": "0.1"}, {"often": 1}, {"answers": 0}]
)
def test_what_it_does_not_take(wrong: dict[str, float]) -> None:
    results = [result_of(i, (i % 2, 2)) for i in range(8)]
    with pytest.raises(InputError, match=next(iter(wrong))):
        power(results, **{"change": 0.1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="results: expected scored results, got none"):
        power([Result("a", error="no")], change=0.1)
    with pytest.raises(InputError, match="relevant: expected two samples"):
        power(results[:1], change=0.1)
