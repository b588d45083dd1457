"""A judge of a small world: Ada built a mill in 1902, and it burned in 1931."""

from __future__ import annotations

from noisesense import Sample, Verdicts


class MillJudge:
    """Two claims, of which the reference can support the first only.

    A reference supports it if it names Ada. A chunk says the first claim if it names Ada, the
    second if it says 1931, and the reference's claim if it says 1902.
    """

    name = "mill"

    async def judge(self, sample: Sample) -> Verdicts:
        texts = [chunk.text for chunk in sample.retrieved_contexts]
        first = ["Ada" in text for text in texts]
        second = ["1931" in text for text in texts]
        reference = ["1902" in text for text in texts]
        correct = ["Ada" in sample.reference, False]
        return Verdicts.from_matrices(correct, [first, second], [reference]).with_sample(sample)
