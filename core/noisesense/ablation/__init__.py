"""Did the chunk do it? The user's own system answers again, with other chunks.

That a chunk entails a wrong claim does not mean that the claim would go if the chunk went. `plan`
says what to ask the system, `ablation` reads the answers. In one process,
`noisesense_adapters.datasets.ablate` does both.

| variant | chunks | question |
|---|---|---|
| ``again`` | the same | how often does the system say it again by itself? The control |
| ``without`` | minus those that the noisy claims come from | does the claim go with them? |
| ``relevant-only`` | the relevant ones | what would a perfect reranker give? |
| ``plus-K`` | and K of other samples, at random places | how does noise grow with noise? |

*Noise* here is the share of a response's claims that are not supported by the reference and are
entailed by a chunk, relevant or not: both modes of the default definition together.
"""

from noisesense.ablation.effect import Ablation, Cause, Change, ablation
from noisesense.ablation.planning import VARIANTS, plan

__all__ = ["VARIANTS", "Ablation", "Cause", "Change", "ablation", "plan"]
