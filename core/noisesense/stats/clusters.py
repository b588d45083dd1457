"""What samples are not independent of one another: one rule for all figures."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from noisesense.scoring.results import Result
from noisesense.verdicts.form import SampleBase

_QUESTION = "question "


def question_cluster(sample: SampleBase | None) -> str | None:
    """The name of what samples with this question and reference share; None of no texts."""
    if sample is None:
        return None
    asked = f"{len(sample.user_input)} {sample.user_input}{sample.reference}"
    return _QUESTION + blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def cluster_of(result: Result) -> str | None:
    """What a result shares with others: the cluster it names, else its question and reference.

    None of a result without texts: it stands alone.
    """
    return result.cluster or question_cluster(result.sample)


def are_questions(clusters: Iterable[str]) -> bool:
    """Was no cluster given, so that all are questions?"""
    return all(cluster.startswith(_QUESTION) for cluster in clusters)
