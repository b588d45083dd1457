"""Time and memory of a large run.

    python tests/benchmarks/throughput.py [--samples 1000000] [--rounds 3]

Writes a recording of samples with their verdicts (6 response claims, 5 reference claims and 5
chunks each on average; 20,000 different ones, over and over), then reads it in a process of its
own: checks every line and computes the whole summary with four intervals, as ``noisesense score``
does.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import ground  # noqa: F401

Means = tuple[float, float]
MEGABYTE = 1024 * 1024
DIFFERENT = 20_000


def lines(samples: int) -> Iterator[str]:
    """Lines of a recording, each with an id of its own, or equal ones would be one cluster."""
    different = list(_different(min(samples, DIFFERENT)))
    for number, line in enumerate(islice(cycle(different), samples)):
        yield json.dumps({"id": str(number), **line})


def _different(samples: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(0)
    documents = [
        f"Document {d} of the archive. " + "It says this and that. " * 10 for d in range(2000)
    ]
    for i in range(samples):
        chunks = rng.sample(documents, rng.randint(3, 7))
        places = range(len(chunks))
        response = [
            {
                "text": f"The response to question {i} claims fact number {c}.",
                "correct": rng.random() < 0.6,
                "entailed_by": [j for j in places if rng.random() < 0.25],
            }
            for c in range(rng.randint(2, 10))
        ]
        reference = [
            {
                "text": f"The reference to question {i} states fact number {c}.",
                "entailed_by": [j for j in places if rng.random() < 0.15],
            }
            for c in range(rng.randint(2, 8))
        ]
        sample = {
            "user_input": f"What does the archive say about case {i}?",
            "response": " ".join(str(claim["text"]) for claim in response),
            "reference": " ".join(str(claim["text"]) for claim in reference),
            "retrieved_contexts": [{"text": text} for text in chunks],
        }
        verdicts = {"response_claims": response, "reference_claims": reference}
        yield {"sample": sample, "verdicts": verdicts}


def ours(path: Path) -> Means:
    """As ``noisesense score`` does it: a summary with four intervals."""
    from noisesense_adapters.datasets import score_dataset

    found: Any = score_dataset(path)
    return found.relevant.mean.low, found.irrelevant.mean.low


def measure(path: Path) -> None:
    """In a process of its own: the means, CPU seconds and the largest resident size."""
    import resource

    began = time.process_time()
    wall = time.perf_counter()
    means = ours(path)
    seconds = time.process_time() - began
    wall = time.perf_counter() - wall
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds += ended.ru_utime + ended.ru_stime
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE
    print(json.dumps({"means": means, "seconds": seconds, "wall": wall, "peak": peak}))


def _own_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        with Path(options.write[1]).open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines(int(options.write[0])))
        return
    if options.measure:
        measure(Path(options.measure))
        return
    print(f"{'':28}{'CPU s':>8}{'rows/s':>9}{'wall s':>8}{'peak MB':>9}  means")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "verdicts.jsonl")
        # Elsewhere: a process begins with the peak of the one that started it.
        _own_process("--write", str(options.samples), path)
        rounds = [_own_process("--measure", path).stdout for _ in range(options.rounds)]
    row = min(map(json.loads, rounds), key=lambda each: each["seconds"])
    speed = options.samples / row["seconds"]
    figures = f"{row['seconds']:>8.1f}{speed:>9,.0f}{row['wall']:>8.1f}{row['peak']:>9.0f}"
    print(f"{'noisesense score':28}{figures}  " + " ".join(f"{mean:.6f}" for mean in row["means"]))


if __name__ == "__main__":
    main()
