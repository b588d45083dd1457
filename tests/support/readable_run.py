"""A run to look at: the examples, and samples of random verdicts that share documents."""

from __future__ import annotations

from collections.abc import Iterator

from noisesense import Chunk, Result, score
from noisesense.fixtures import reference_examples
from support.tables import Shape, random_pairs

DOCUMENTS = 60


def readable_run(count: int, *, open_cells: float = 0.01) -> Iterator[Result]:
    """The documented reference examples, then ``count`` further samples; one in 25 failed."""
    for example in reference_examples():
        yield Result(example.id, score(example.verdicts), sample=example.sample)
    shape = Shape((2, 5), (2, 5), (4, 8), undetermined=open_cells)
    for i, (texts, verdicts) in enumerate(random_pairs(count, seed=7000, shape=shape)):
        parts = [(3 * i + 7 * j) % DOCUMENTS for j in range(len(texts.retrieved_contexts))]
        chunks = [Chunk(text=f"Part {n} of the survey.", id=f"survey/{n}.md") for n in parts]
        sample = texts.model_copy(update={"retrieved_contexts": tuple(chunks)})
        name = f"bridge-{i:04d}"
        if i % 25 == 24:
            error = "JudgeError: the model could not be asked: connection reset by peer"
            yield Result(name, error=error, sample=sample)
        else:
            bare = verdicts.model_copy(update={"chunks": None})
            scored = score(bare.with_sample(sample))
            yield Result(name, scored, sample=sample, judge="example judge")
