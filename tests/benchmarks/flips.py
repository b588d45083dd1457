"""What a flipped bit in a results file comes to.

    python tests/benchmarks/flips.py [--flips 40000]

Flips one bit of one line at a time, of 50 lines of random tables, and reads the line. Exit status
1 if it gives another number: a score, its bounds or status, or a count of claims.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random

import ground  # noqa: F401

from noisesense import Result, Usage, score
from noisesense.scoring.results import figures_of
from support.tables import Shape, random_pairs


def outcome(before: Result, line: bytes) -> str:
    try:
        after = Result.from_json(line.decode())
    except ValueError:
        return "refused"
    assert before.score is not None
    if after.score is None:
        return "no score"
    if figures_of(after.score) != figures_of(before.score):
        return "ANOTHER NUMBER"
    if (after.usage, after.unanswered) != (before.usage, before.unanswered):
        return "another cost, or count of open answers"
    if (after.id, after.cluster) != (before.id, before.cluster):
        return "another name"
    return "the same" if after == before else "another text, label or cell, the same numbers"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--flips", type=int, default=40_000)
    flips = parser.parse_args().flips
    random = Random(7)
    results: list[Result] = []
    for sample, verdicts in random_pairs(50, shape=Shape(undetermined=0.2, labeled=0.3)):
        scored = score(verdicts.with_sample(sample))
        results.append(Result(sample.key, scored, None, sample, "c", 2, Usage(calls=5)))
    counts: Counter[str] = Counter()
    for _ in range(flips):
        result = random.choice(results)
        line = bytearray(result.to_json().encode())
        line[random.randrange(len(line))] ^= 1 << random.randrange(8)
        counts[outcome(result, bytes(line))] += 1
    for kind, count in counts.most_common():
        print(f"{count:>7,}  {kind}")
    return 1 if counts["ANOTHER NUMBER"] else 0


if __name__ == "__main__":
    sys.exit(main())
