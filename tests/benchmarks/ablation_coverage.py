"""How often the interval of an effect holds the true effect: `noisesense.ablation`.

Systems of known behavior answer: a wrong claim that is *caused* goes when its chunk goes, another
one stays, and each is said with a chance of its own, with the chunk or without. Printed are the
coverage over the runs, and what one would have claimed without the control.

    python tests/benchmarks/ablation_coverage.py --runs 200
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from noisesense.ablation import ablation, plan
from support.ablation_world import Mind, run_of


def once(random: Random, samples: int, caused: float, chance: float) -> tuple[bool, bool]:
    """Does the interval hold the true effect? And that of the raw share of claims that go?"""
    results = run_of([random.choice((1, 1, 2, 3)) for _ in range(samples)])
    causal = {
        (result.id, claim.text): random.random() < caused
        for result in results
        if result.score is not None
        for claim in result.score.claims
    }
    rows = plan(results, ("again", "without"))
    for row in rows:
        said = [
            claim
            for (name, claim), goes in causal.items()
            if name == row["id"] and claim.startswith("wrong")
            and not (goes and row["variant"] == "without")
            and random.random() < chance
        ]  # fmt: skip
        row["response"] = ". ".join(["answer", *said])
    found = ablation(results, rows, Mind())
    assert found.effect
    assert found.without
    truth, effect, gone = caused * chance, found.effect.interval, found.without.interval
    assert effect
    assert gone
    return effect.low <= truth <= effect.high, 1 - gone.high <= truth <= 1 - gone.low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("samples  caused  said again  true effect  covered  without the control")
    for samples in (10, 30, 80):
        for caused in (0.0, 0.25, 0.5, 0.75, 1.0):
            for chance in (1.0, 0.6):
                random = Random(f"{options.seed} {samples} {caused} {chance}")
                held = [once(random, samples, caused, chance) for _ in range(options.runs)]
                covered, raw = (sum(each) / len(held) for each in zip(*held, strict=True))
                print(
                    f"{samples:7} {caused:7.0%} {chance:11.0%} {caused * chance:12.0%}"
                    f" {covered:8.1%} {raw:20.1%}"
                )


if __name__ == "__main__":
    main()
