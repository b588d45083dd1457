"""Did the chunk do it? The user's own system answers again, with other chunks.

That a chunk entails a wrong claim does not mean that the claim would go if the chunk went. `plan`
says what to ask the system, `ablation` reads the answers. In one process,
`noisesense_adapters.datasets.ablate` does both.

| variant | chunks | question |
|---|---|---|
| ``again`` | the same | how often does the system say it again by itself? A control |
| ``without`` | minus those that the noisy claims come from | does the claim go with them? |
| ``without-other`` | minus as many others | the sham: is it these chunks, or any? |
| ``leave-out-I`` | minus the document of chunk I | does a claim go that no chunk entails? |
| ``relevant-only`` | the relevant ones | what would a perfect reranker give? |
| ``plus-K`` | and K of other samples, at random places | how do errors grow with noise? |

A claim can also go because it was read anew, in other words. So the claims are followed beside the
other claims of the same answers, which have lost nothing; and an effect is said only where more go
than of those, than with the same chunks and than without others. What is counted is whether a
claim is said again, by which no sample was chosen.
"""

from noisesense.ablation.cases import VARIANTS
from noisesense.ablation.causes import Cause, Change, Effect
from noisesense.ablation.effect import Ablation, ablation
from noisesense.ablation.planning import plan

__all__ = ["VARIANTS", "Ablation", "Cause", "Change", "Effect", "ablation", "plan"]
