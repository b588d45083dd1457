"""A dataset scored: read row by row, judged where that is asked for, written as results.

>>> from noisesense_adapters.scoring import score_dataset
>>> score_dataset("verdicts.jsonl", out="results.jsonl").relevant.mean  # doctest: +SKIP
0.1834
"""

from __future__ import annotations

from noisesense_adapters.scoring._dataset import partial_of, score_dataset, score_rows
from noisesense_adapters.scoring._model import model_judge
from noisesense_adapters.scoring._results import results_of

__all__ = ["model_judge", "partial_of", "results_of", "score_dataset", "score_rows"]
