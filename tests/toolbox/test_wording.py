"""What figures say in words, by hand."""

from __future__ import annotations

import pytest

from noisesense import Result, Verdicts, offenders, score, summarize
from noisesense_adapters.toolbox.wording import culprit, headline

KINDS: dict[str, dict[str, object]] = {
    "c": {"correct": True, "entailed_by": []},
    "r": {"correct": False, "entailed_by": [0]},
    "i": {"correct": False, "entailed_by": [1]},
    "h": {"correct": False, "entailed_by": []},
    "u": {"correct": None, "entailed_by": [0]},
    "n": {"correct": None, "entailed_by": []},
}
NEITHER = "supported neither by the reference nor by a chunk"


@pytest.mark.parametrize(
    ("claims", "amount", "come", "rest"),
    [
        ("c", "0 of 1 claim is", "comes", (0, 0, "")),
        ("crh", "1 of 3 claims is", "comes", (1, 0, f"; 1 more is {NEITHER}")),
        ("rriihh", "4 of 6 claims are", "come", (2, 2, f"; 2 more are {NEITHER}")),
        ("n", "0 of 1 claim is", "comes", (0, 0, "; the judge left 1 open")),
        ("u", "0 to 1 of 1 claim is", "comes", (0, 0, "; the judge left 1 open")),
        ("cru", "1 to 2 of 3 claims are", "come", (1, 0, "; the judge left 1 open")),
    ],
)
def test_the_headline(claims: str, amount: str, come: str, rest: tuple[int, int, str]) -> None:
    verdicts = Verdicts.model_validate(
        {
            "response_claims": [{"text": kind, **KINDS[kind]} for kind in claims],
            "chunks": [{"text": "a", "relevant": True}, {"text": "b", "relevant": False}],
        }
    )
    relevant, irrelevant, more = rest
    assert headline(summarize([score(verdicts)])) == (
        f"{amount} not supported by the reference and {come} from a retrieved chunk",
        f"{relevant} from relevant chunks, {irrelevant} from irrelevant ones{more}.",
    )
    nothing = headline(summarize([score(Verdicts(response_claims=()))]))
    assert nothing == ("Nothing was measured", "1 of 1 answers claims nothing.")
    both = headline(summarize([score(verdicts), score(Verdicts(response_claims=()))]))
    assert both.message.endswith("from a retrieved chunk; 1 of 2 answers claims nothing")


def test_the_culprit_is_the_first_if_it_stands_out() -> None:
    def result(*rows: tuple[str, bool | None, list[int]]) -> Result:
        claims = [{"text": t, "correct": c, "entailed_by": found} for t, c, found in rows]
        chunks = [{"text": name, "relevant": True} for name in ("good", "bad", "noise")]
        return Result(
            "q", score(Verdicts.model_validate({"response_claims": claims, "chunks": chunks}))
        )

    both = ("x", False, [1, 2])
    for rows, name in (
        ([both, ("y", False, [1])], "bad"),
        ([both, ("y", False, [1]), ("z", False, [2])], None),  # as many, and as many alone
        ([both], None),
        ([("x", None, [1])], None),
        ([("x", False, [1]), *[(t, None, [2]) for t in "yz"]], None),  # two may be from the other
    ):
        found = culprit(offenders([result(*rows)]))
        assert (found and found.document) == name
    assert culprit(()) is None
