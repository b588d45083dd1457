"""Size, memory and time of a report.

    python tests/benchmarks/report_size.py [--samples 5000 20000 50000]

Writes a file of results and its report in a process of its own for each number of samples: 6
response claims, 5 reference claims and 5 chunks each on average; sentences of random words by
Zipf's law, which compress about as English does, and claims that are worded a little differently
from the sentences they come from. Every fifth sample brings a chunk that no other has. Prints the
report's size, the largest resident size (and what the imports take of it), and seconds of CPU
time. Exit status 1 if 50,000 samples take 60 MB or more in the file, or 300 MB or more in memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "core"), str(ROOT / "adapters")]

from noisesense import Chunk, Result, Sample, Verdicts, score  # noqa: E402

MEGABYTE = 1_000_000
WORDS = 20_000
# Of 50,000 samples, in megabytes.
MOST_IN_FILE, MOST_IN_MEMORY = 60, 300
_SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "an", "er", "is")]


class Writer:
    """Sentences of made-up words."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self._words = ["".join(self._rng.choices(_SYLLABLES, k=1 + i % 3)) for i in range(WORDS)]
        self._weights = list(accumulate(1 / (rank + 2) for rank in range(WORDS)))

    def sentence(self, least: int, most: int) -> str:
        count = self._rng.randint(least, most)
        words = self._rng.choices(self._words, cum_weights=self._weights, k=count)
        return " ".join(words).capitalize() + "."

    def reworded(self, sentence: str) -> str:
        """As a judge words the claim in a sentence."""
        words = sentence.split()
        words[self._rng.randrange(len(words))] = self._rng.choice(self._words)
        return " ".join(["The", self._rng.choice(self._words), *words])


def results(samples: int) -> Iterator[Result]:
    """Results with their texts, no two alike."""
    writer, rng = Writer(), random.Random(1)
    documents = [
        Chunk(
            text=" ".join(writer.sentence(10, 20) for _ in range(7)),
            id=f"{writer.sentence(2, 2)[:-1].replace(' ', '-')}-{d}.md",
        )
        for d in range(max(20, samples // 5))
    ]
    for i in range(samples):
        chunks = rng.sample(documents, rng.randint(3, 7))
        response = [writer.sentence(6, 16) for _ in range(rng.randint(2, 10))]
        reference = [writer.sentence(6, 16) for _ in range(rng.randint(2, 8))]
        verdicts = Verdicts.from_matrices(
            [rng.random() < 0.6 for _ in response],
            [[rng.random() < 0.25 for _ in chunks] for _ in response],
            [[rng.random() < 0.15 for _ in chunks] for _ in reference],
            response_claims=[writer.reworded(sentence) for sentence in response],
            reference_claims=[writer.reworded(sentence) for sentence in reference],
        )
        sample = Sample(
            user_input=writer.sentence(8, 14)[:-1] + "?",
            response=" ".join(response),
            reference=" ".join(reference),
            retrieved_contexts=chunks,
        )
        yield Result(f"case-{i}", score(verdicts.beside(sample)), sample=sample, judge="a judge")


def measure(samples: int, path: Path) -> None:
    """In a process of its own, from a file, as the command line does it."""
    from noisesense_adapters.report import write_report

    # Whatever does not depend on the number of samples: imports and matplotlib's fonts.
    write_report([Result("a", error="no reply")], path)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, kilobytes on Linux
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    source = path.with_suffix(".jsonl")
    with source.open("w", encoding="utf-8") as file:
        file.writelines(result.to_json() + "\n" for result in results(samples))
    start = time.process_time()
    write_report(source, path)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"size": path.stat().st_size, "base": before, "peak": peak, "cpu": seconds}))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[5_000, 20_000, 50_000])
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(int(given.measure[0]), Path(given.measure[1]))
        return 0
    heads = ("samples", "MB", "bytes a sample", "peak MB", "of it before", "CPU s")
    print("".join(f"{head:>{len(head) + 3}}" for head in heads))
    too_much = False
    with tempfile.TemporaryDirectory() as temporary:
        for samples in given.samples:
            path = Path(temporary) / f"{samples}.html"
            done = subprocess.run(
                [sys.executable, __file__, "--measure", str(samples), str(path)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = json.loads(done.stdout)
            size, peak = found["size"] / MEGABYTE, found["peak"] / MEGABYTE
            print(
                f"{samples:>10,}{size:>5.1f}{found['size'] / samples:>17,.0f}{peak:>10.0f}"
                f"{found['base'] / MEGABYTE:>15.0f}{found['cpu']:>8.1f}",
                flush=True,
            )
            if samples <= 50_000:
                too_much |= size >= MOST_IN_FILE or peak >= MOST_IN_MEMORY
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
