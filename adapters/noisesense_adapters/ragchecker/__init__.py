"""RAGChecker's checking outputs as verdicts. Reads its files; does not need RAGChecker.

>>> from noisesense import score
>>> from noisesense_adapters.ragchecker import read_checking_outputs
>>> for result in read_checking_outputs("checking_outputs.json"):  # doctest: +SKIP
...     ours = score(result.verdicts, empty="zero").relevant
...     theirs = result.metrics["noise_sensitivity_in_relevant"]
"""

from __future__ import annotations

from noisesense_adapters.ragchecker.aggregates import ragchecker_aggregates
from noisesense_adapters.ragchecker.outputs import (
    CheckedResult,
    CheckingOutputs,
    read_checking_outputs,
    read_result,
)

__all__ = [
    "CheckedResult",
    "CheckingOutputs",
    "ragchecker_aggregates",
    "read_checking_outputs",
    "read_result",
]
