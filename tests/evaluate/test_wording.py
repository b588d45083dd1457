"""Whether the right figures stand in the right places, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisesense import (
    Result,
    Verdicts,
    compare,
    score,
    summarize,
)
from noisesense_adapters.evaluate.wording import (
    headline,
    standing,
)

KINDS: dict[str, dict[str, object]] = {
    "c": {"correct": True, "entailed_by": []},
    "r": {"correct": False, "entailed_by": [0]},
    "i": {"correct": False, "entailed_by": [1]},
    "h": {"correct": False, "entailed_by": []},
    "u": {"correct": None, "entailed_by": [0]},
    "n": {"correct": None, "entailed_by": []},
}
HALLUCINATED = "wrong and in no retrieved document"


def claiming(kinds: str) -> Verdicts:
    """One claim of each kind; the first chunk is relevant, the second is not."""
    return Verdicts.model_validate(
        {
            "response_claims": [{"text": kind, **KINDS[kind]} for kind in kinds],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )


@pytest.mark.parametrize(
    ("claims", "amount", "rest"),
    [
        ("c", "0 of 1 claim is", (0, 0, "")),
        ("crh", "1 of 3 claims is", (1, 0, f"; 1 more is {HALLUCINATED}")),
        ("rriihh", "4 of 6 claims are", (2, 2, f"; 2 more are {HALLUCINATED}")),
        ("n", "0 of 1 claim is", (0, 0, "; the judge left 1 open")),
        ("u", "0 to 1 of 1 claim is", (0, 0, "; the judge left 1 open")),
        ("cru", "1 to 2 of 3 claims are", (1, 0, "; the judge left 1 open")),
    ],
)
def test_the_headline_counts_each_kind_of_claim_and_what_is_open(
    claims: str, amount: str, rest: tuple[int, int, str]
) -> None:
    verdicts = claiming(claims)
    relevant, irrelevant, more = rest
    assert headline(summarize([score(verdicts)])) == (
        f"{amount} wrong and came from a retrieved document",
        f"{relevant} from relevant documents, {irrelevant} from irrelevant ones{more}.",
    )
    nothing = headline(summarize([score(Verdicts(response_claims=()))]))
    assert nothing == ("Nothing was measured", "1 of 1 answer claims nothing.")
    both = headline(summarize([score(verdicts), score(Verdicts(response_claims=()))]))
    assert both.message.endswith("from a retrieved document; 1 of 2 answers claims nothing")


def run_of(wrong: Sequence[int]) -> list[Result]:
    """Each with so many wrong claims of four from a relevant chunk; the rest are correct."""
    found: list[Result] = []
    for i, count in enumerate(wrong):
        stated = [{"text": str(j), "correct": j >= count, "entailed_by": [0]} for j in range(4)]
        chunks = [{"text": "a", "relevant": True}]
        known = Verdicts.model_validate({"response_claims": stated, "chunks": chunks})
        found.append(Result(f"q{i}", score(known)))
    return found


NONE = [0] * 40
SOME = [0, 1] * 20
"""Half of the samples with one wrong claim of four: a mean of 0.125 and, beside none, an interval
of 0.125 ± t · s / √40 with s = 0.1266, t = 2.0227: 0.0845 to 0.1655."""


@pytest.mark.parametrize(
    ("margin", "cell"),
    [(0.0, "{}"), (0.05, "{}"), (0.12, "{}, maybe within 0.12"), (0.3, "the same within 0.3")],
)
def test_what_the_table_says_of_a_difference(margin: float, cell: str) -> None:
    up = compare(run_of(NONE), run_of(SOME), margin=margin)
    down = compare(run_of(SOME), run_of(NONE), margin=margin)
    assert up.any is not None
    assert down.any is not None
    assert standing(up.any) == cell.format("worse")
    assert standing(down.any) == cell.format("better")
