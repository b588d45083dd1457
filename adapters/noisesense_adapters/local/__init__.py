"""A local classifier as the judge: ``LocalJudge("lytang/MiniCheck-Flan-T5-Large")``.

Models run through transformers (the extra ``local``).
"""

from __future__ import annotations

from noisesense_adapters.local.judge import Classifier, LocalJudge
from noisesense_adapters.local.model import NLIModel

__all__ = ["Classifier", "LocalJudge", "NLIModel"]
