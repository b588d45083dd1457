"""Reasons: readable, and the same for the same verdicts."""

from __future__ import annotations

from typing import Any

from noisesense import Verdicts, score

T = True
F = False
U = None
TWO_CHUNKS = Verdicts.from_matrices(
    [F, F, F, T], [[T, T], [F, T], [F, F], [T, F]], [[T, F]], response_claims=["a", "b", "c", "d"]
)
OPEN = Verdicts.from_matrices(
    [U, F, F, F],
    [[T, F, F], [U, F, U], [F, F, T], [T, F, F]],
    None,
    [T, F, U],
    response_claims=["a", "b", "c", "d"],
)

WRONG = "is not supported by the reference"
OPEN_CLAIMS = [
    'Claim 0 "a" is undetermined: there is no verdict on whether the reference entails it.',
    'Claim 1 "b" is undetermined: there is no verdict on whether it comes from chunks 0 and 2.',
    'Claim 2 "c" is undetermined: there is no verdict on the relevance of chunk 2.',
    f'Claim 3 "d" {WRONG} and comes from relevant chunk 0.',
]
CLAIMS = [
    f'Claim 0 "a" {WRONG} and comes from relevant chunk 0, also from irrelevant chunk 1.',
    f'Claim 1 "b" {WRONG} and comes from irrelevant chunk 1.',
    f'Claim 2 "c" {WRONG}, and no retrieved chunk entails it.',
    'Claim 3 "d" is supported by the reference.',
]
FROM_RELEVANT = "wrong and from a relevant chunk"
SURELY = (
    f"For certain, 1 of 4 response claims is {FROM_RELEVANT}. {OPEN_CLAIMS[3]} The judge left "
    f"3 open. {' '.join(OPEN_CLAIMS[:3])}"
)


def told(verdicts: Verdicts, mode: Any = "relevant", **options: Any) -> str:
    """What the reason says behind its head."""
    reason = score(verdicts, **options).reason(mode)
    head = f"Noise sensitivity ({mode}, definition {options.get('definition', 'ragas')}) is "
    assert reason.startswith(head)
    return reason.removeprefix(head)


def test_a_reason_says_what_ragas_the_paper_and_promptfoo_count() -> None:
    assert told(TWO_CHUNKS) == (
        f"0.25 (lower is better): 1 of 4 response claims is {FROM_RELEVANT}. {CLAIMS[0]}"
    )
    assert told(TWO_CHUNKS, "irrelevant", definition="paper") == (
        "0.5 (lower is better): 2 of 4 response claims are wrong and "
        f"from an irrelevant chunk. {' '.join(CLAIMS[:2])}"
    )
    assert "with an irrelevant chunk as its source" in told(
        TWO_CHUNKS, "irrelevant", definition="promptfoo"
    )


def test_a_reason_lists_what_is_open_and_says_that_low_counts_it_as_no_noise() -> None:
    between = "it lies between 0.25 and 1"
    counted = "(lower is better) with what is undetermined counted as"
    assert told(OPEN) == f"undetermined: {between} (lower is better). {SURELY}"
    assert told(OPEN, undetermined="low") == f"0.25 {counted} no noise; {between}. {SURELY}"


def test_a_chunk_with_an_id_is_named_by_it() -> None:
    """Chunk 0 is relevant, 1 and 3 are not, of 2 it is not known; 1 has no id."""
    ids = ["prices_2024.md", None, "old.pdf", "policies\n2021.pdf"]
    labels = [T, F, U, F]
    chunks = [
        {"text": f"Text {name}.", "id": name, "relevant": label}
        for name, label in zip(ids, labels, strict=True)
    ]
    claims = [
        {"text": "a", "correct": False, "entailed_by": [0, 3]},
        {"text": "b", "correct": False, "entailed_by": [1, 3]},
        {"text": "c", "correct": False, "entailed_by": [2]},
    ]
    told = [
        f'Claim 0 "a" {WRONG} and comes from relevant chunk 0 (prices_2024.md), '
        "also from irrelevant chunk 3 (policies 2021.pdf).",
        f'Claim 1 "b" {WRONG} and comes from irrelevant chunks 1 and 3 (policies 2021.pdf).',
        'Claim 2 "c" is undetermined: there is no verdict on the relevance of chunk 2 (old.pdf).',
    ]
    found = score(Verdicts(response_claims=claims, chunks=chunks))
    assert [claim.sentence for claim in found.claims] == told
    assert told[1] in found.reason("irrelevant")
