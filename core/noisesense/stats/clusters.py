"""Which samples are not independent of one another: one rule for every figure."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable
from hashlib import blake2b

from noisesense.scoring.results import Result
from noisesense.verdicts.form import SampleBase

_QUESTION = "question "


def question_cluster(sample: SampleBase | None) -> str | None:
    """Return a name, ``question …``, for samples with this question and reference.

    None without a sample. A blank question is one, too. Case, white space and the form of
    characters make no difference.
    """
    if sample is None:
        return None
    user_input, _, reference, _ = sample.texts
    question = _plain(user_input)
    asked = f"{len(question)} {question}{_plain(reference)}".encode("utf-8", "surrogatepass")
    return _QUESTION + blake2b(asked, digest_size=8).hexdigest()


def _plain(text: str) -> str:
    """Return a text in one form of its characters, case and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def cluster_of(*results: Result) -> str | None:
    """Return the cluster of a sample, from its results in one run or several.

    The first cluster that a result names, or else that of the first one with texts: its question
    and reference. None without either: the sample stands alone.
    """
    for result in results:
        if result.cluster is not None:
            return result.cluster
    for result in results:
        if result.sample is not None:
            return question_cluster(result.sample)
    return None


def units_of_results(samples: Iterable[tuple[Result, ...]]) -> list[Hashable]:
    """Return the cluster of each sample; of one that stands alone, its position, a number.

    Args:
        samples: of each, the result, or those of two runs.
    """
    units: list[Hashable] = []
    for place, results in enumerate(samples):
        cluster = cluster_of(*results)
        units.append(place if cluster is None else cluster)
    return units


def are_questions(clusters: Iterable[Hashable]) -> bool:
    """Tell whether no sample named a cluster: all are questions, or stand alone. True of none."""
    return all(not isinstance(name, str) or name.startswith(_QUESTION) for name in clusters)
