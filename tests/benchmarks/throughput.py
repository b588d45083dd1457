"""Time and memory of a large run, beside RAGChecker's formula in numpy over the same file.

    python tests/benchmarks/throughput.py [--samples 1000000] [--beside COMMIT]

Writes a recording of samples with their verdicts (6 response claims, 5 reference claims and 5
chunks each on average; 20,000 different ones, over and over), then reads it in a process of its
own for each row. Ours checks every line and computes the whole summary with four intervals: as
``noisesense score`` does, by the light form of verdicts, and by the models that results have; with
``--beside`` also as an earlier commit does.
RAGChecker's formula computes only its two means, once line by line and once as RAGChecker does it,
with all samples in memory. What takes long is measured on a tenth of the samples only, if they are
more than 200,000. Exit status 1 if the figures differ or if our memory grows with the number of
samples.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# An earlier commit's, if this process was started for it.
PRODUCT = Path(os.environ.get("NOISESENSE_PRODUCT", ROOT))
sys.path[:0] = [str(PRODUCT / "core"), str(PRODUCT / "adapters"), str(ROOT / "tests")]

Means = tuple[float, float]
MEGABYTE = 1024 * 1024


DIFFERENT = 20_000


def lines(samples: int) -> Iterator[str]:
    """Lines of a recording."""
    yield from islice(cycle(list(_different(min(samples, DIFFERENT)))), samples)


def _different(samples: int) -> Iterator[str]:
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
        yield json.dumps({"sample": sample, "verdicts": verdicts})


def one_by_one(path: Path) -> Means:
    """One pass: summary with intervals."""
    from noisesense import read_results, summarize

    return _means(summarize(read_results(path)))


def at_once(path: Path) -> Means:
    """As ``noisesense score`` does it."""
    from noisesense_adapters.datasets import score_dataset

    return _means(score_dataset(path))


def _means(found: Any) -> Means:
    for mode in (found.relevant, found.irrelevant):
        print(
            json.dumps(mode.to_dict(), sort_keys=True), file=sys.stderr
        )  # to compare bit for bit
    return found.relevant.mean.low, found.irrelevant.mean.low


def numpy_streamed(path: Path) -> Means:
    """RAGChecker's formula, one line at a time."""
    with path.open(encoding="utf-8") as file:
        return _numpy_means(json.loads(line) for line in file)


def numpy_held(path: Path) -> Means:
    """As RAGChecker: all samples are read, then each is computed."""
    with path.open(encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    return _numpy_means(iter(samples))


def _numpy_means(samples: Iterator[dict[str, Any]]) -> Means:
    import numpy as np

    from support.ragchecker_formula import noise_sensitivity

    def table(claims: list[dict[str, Any]], chunks: int) -> Any:
        found = np.zeros((len(claims), chunks), dtype=bool)
        for row, claim in zip(found, claims, strict=True):
            row[claim["entailed_by"]] = True
        return found

    values: list[Means] = []
    for each in samples:
        verdicts, chunks = each["verdicts"], len(each["sample"]["retrieved_contexts"])
        correct = np.array([claim["correct"] for claim in verdicts["response_claims"]])
        response = table(verdicts["response_claims"], chunks)
        reference = table(verdicts["reference_claims"], chunks)
        values.append(noise_sensitivity(correct, response, reference))
    relevant, irrelevant = np.mean(values, axis=0).tolist()
    return relevant, irrelevant


ROWS: dict[str, tuple[str, Callable[[Path], Means]]] = {
    "at once": ("noisesense score", at_once),
    "one by one": ("noisesense, read_results", one_by_one),
    "beside": ("noisesense score, {}", at_once),
    "streamed": ("RAGChecker's formula, streamed", numpy_streamed),
    "held": ("RAGChecker's formula, all held", numpy_held),
}
SLOWER = ("one by one", "beside")
QUICK, MANY = ("at once", "streamed"), 200_000


def measure(name: str, path: Path) -> None:
    """In a process of its own: the means, CPU seconds and the largest resident size."""
    import resource

    began, wall = time.process_time(), time.perf_counter()
    means = ROWS[name][1](path)
    seconds, wall = time.process_time() - began, time.perf_counter() - wall
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds += ended.ru_utime + ended.ru_stime
    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE
    print(json.dumps({"means": means, "seconds": seconds, "wall": wall, "peak": peak}))


@contextmanager
def checkout(commit: str | None) -> Iterator[Path]:
    """An earlier commit's files."""
    if commit is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", folder, commit], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--beside", metavar="COMMIT", help="an earlier commit to measure as well")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        with Path(options.write[1]).open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines(int(options.write[0])))
        return 0
    if options.measure:
        measure(options.measure[0], Path(options.measure[1]))
        return 0
    found: dict[tuple[str, int], dict[str, Any]] = {}
    print(f"{'':36}{'samples':>10}{'CPU s':>8}{'rows/s':>9}{'wall s':>8}{'peak MB':>9}  means")
    with tempfile.TemporaryDirectory() as folder, checkout(options.beside) as earlier:
        for samples in (options.samples // 10, options.samples):
            path = Path(folder) / f"{samples}.jsonl"
            # Elsewhere: a process begins with the peak of the one that started it.
            subprocess.run(
                [sys.executable, __file__, "--write", str(samples), str(path)], check=True
            )
            size = path.stat().st_size / MEGABYTE
            print(f"a file of {size:,.0f} MB")
            for name, (title, _) in ROWS.items():
                long = samples > MANY and name not in QUICK
                if long or (name == "beside" and options.beside is None):
                    continue
                product = earlier if name == "beside" else ROOT
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", name, str(path)],
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, "NOISESENSE_PRODUCT": str(product)},
                )
                row = found[name, samples] = {**json.loads(done.stdout), "bits": done.stderr}
                means = " ".join(f"{mean:.6f}" for mean in row["means"])
                print(
                    f"{title.format(options.beside):36}{samples:>10,}{row['seconds']:>8.1f}"
                    f"{samples / row['seconds']:>9,.0f}{row['wall']:>8.1f}{row['peak']:>9.0f}"
                    f"  {means}",
                    flush=True,
                )
            path.unlink()
    return 0 if verdict(found, options.samples) else 1


def verdict(found: dict[tuple[str, int], dict[str, Any]], samples: int) -> bool:
    """Do the figures agree, and does the memory not grow? Prints it, and how many times faster."""
    sizes = (samples // 10, samples)
    same = all(
        abs(a - b) < 1e-9
        for (_, size), row in found.items()
        for a, b in zip(row["means"], found["at once", size]["means"], strict=True)
    )
    bits = all(
        row["bits"] == found["at once", size]["bits"]
        for (name, size), row in found.items()
        if name == "one by one"
    )
    small, large = (found["at once", size]["peak"] for size in sizes)
    print(f"\nthe same means: {same}; ours the same to the last bit: {bits}; ", end="")
    print(f"our memory for ten times the samples: {large - small:+.1f} MB")
    for (name, size), row in found.items():
        if name in SLOWER:
            times = row["seconds"] / found["at once", size]["seconds"]
            print(f"at {size:,}: {times:.1f} times as many rows a second as {name}")
    return same and bits and large - small < 5


if __name__ == "__main__":
    sys.exit(main())
