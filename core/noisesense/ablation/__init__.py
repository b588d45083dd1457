"""Did the chunk do it? The user's own system answers again, with other chunks.

That a chunk entails a wrong claim does not mean that the claim would go if the chunk went. `plan`
says what to ask the system, `ablation` reads the answers. In one process,
`noisesense_adapters.datasets.ablate` does both.

| variant | chunks | question |
|---|---|---|
| ``again`` | the same | how often does the system say it again by itself? The control |
| ``without`` | minus those that the noisy claims come from | does the claim go with them? |
| ``without-other`` | minus as many others | the sham: is it these chunks, or any? |
| ``relevant-only`` | the relevant ones | what would a perfect reranker give? |
| ``plus-K`` | and K of other samples, at random places | how do errors grow with noise? |

A sample of which ``without`` leaves no chunk is asked as ``no-context``, and counted apart.

What is measured must not change with the chunks: a claim that no chunk entails, as its chunk was
taken away, is no improvement. So variants are compared by the share of a response's claims that
the reference does not support, each with a fresh ``again`` of the same samples.
"""

from noisesense.ablation.causes import Cause
from noisesense.ablation.effect import (
    Ablation,
    Change,
    Fate,
    Step,
    ablation,
    direction,
)
from noisesense.ablation.planning import VARIANTS, plan

__all__ = [
    "VARIANTS",
    "Ablation",
    "Cause",
    "Change",
    "Fate",
    "Step",
    "ablation",
    "direction",
    "plan",
]
