"""Reasons: readable, and the same for the same verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from noisesense import Verdicts, score
from noisesense.fixtures import reference_examples

EXAMPLES = {example.id: example.verdicts for example in reference_examples()}
T, F, U = True, False, None
TWO_CHUNKS = Verdicts.from_matrices(
    [F, F, F, T], [[T, T], [T, T], [F, F], [T, F]], [[T, F]], response_claims=["a", "b", "c", "d"]
)
OPEN = Verdicts.from_matrices(
    [U, F, F, F],
    [[T, F, F], [U, F, U], [F, F, T], [T, F, F]],
    None,
    [T, F, U],
    response_claims=["a", "b", "c", "d"],
)
LONG = Verdicts.from_matrices([F], [[T]], [[T]], response_claims=["word\n " * 100])
MANY = Verdicts.from_matrices([F] * 8, [[T]] * 8, [[T]])
NOTHING = Verdicts(response_claims=())

PARTLY = (
    "it lies between 0.25 and 1 (lower is better). For certain, 1 of 4 response claims is "
    'not supported by the reference but entailed by a relevant chunk. Claim 3 "d" is not '
    "supported by the reference and comes from relevant "
    "chunk 0. "
    "The judge left open whether 3 claims count. "
    'Claim 0 "a" is undetermined: there is no verdict on whether the reference entails it. '
    'Claim 1 "b" is undetermined: there is no verdict on whether chunks 0 and 2 entail it. '
    'Claim 2 "c" is undetermined: there is no verdict on whether chunk 2 is relevant.'
)

REASONS: list[tuple[str, Verdicts, dict[str, Any], str, str]] = [
    (
        "one claim",
        EXAMPLES["mona-lisa"],
        {},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is 0.5 (lower is better): 1 of 2 response "
        'claims is not supported by the reference but entailed by a relevant chunk. Claim 1 "It '
        "was painted in the "
        '15th century" is not supported by the reference and comes from relevant chunk 0.',
    ),
    (
        "no noise",
        EXAMPLES["mona-lisa"],
        {},
        "irrelevant",
        "Noise sensitivity (irrelevant, definition ragas) is 0 (lower is better): 0 of 2 response "
        "claims are not supported by the reference but entailed by irrelevant chunks only.",
    ),
    (
        "irrelevant, paper",
        TWO_CHUNKS,
        {"definition": "paper"},
        "irrelevant",
        "Noise sensitivity (irrelevant, definition paper) is 0.5 (lower is better): 2 of 4 "
        "response claims are not supported by the reference but entailed by an irrelevant chunk. "
        'Claim 0 "a" is not supported by the reference and comes from relevant chunk 0, also '
        "from irrelevant chunk 1. "
        'Claim 1 "b" is not supported by the reference and comes from relevant chunk 0, also '
        "from irrelevant chunk 1.",
    ),
    (
        "promptfoo counts hallucinations too",
        TWO_CHUNKS,
        {"definition": "promptfoo"},
        "relevant",
        "Noise sensitivity (relevant, definition promptfoo) is 0.75 (lower is better): 3 of 4 "
        "response claims are not supported by the reference. "
        'Claim 0 "a" is not supported by the reference and comes from relevant chunk 0, also '
        "from irrelevant chunk 1. "
        'Claim 1 "b" is not supported by the reference and comes from relevant chunk 0, also '
        "from irrelevant chunk 1. "
        'Claim 2 "c" is not supported by the reference, and no retrieved chunk entails it.',
    ),
    (
        "no such mode",
        TWO_CHUNKS,
        {"definition": "validmind"},
        "irrelevant",
        "Noise sensitivity (irrelevant, definition validmind) is undefined: the definition has no "
        "irrelevant mode.",
    ),
    (
        "no claims",
        NOTHING,
        {},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is undefined: the response has no claims.",
    ),
    (
        "no claims, zero",
        NOTHING,
        {"empty": "zero"},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is 0 by convention: the response has no "
        "claims.",
    ),
    (
        "nothing determined",
        Verdicts.from_matrices([U], [[T]], [[T]]),
        {},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is undetermined: it lies between 0 and 1 "
        "(lower is better). For certain, 0 of 1 response claim is not supported by the "
        "reference but entailed by a "
        "relevant chunk. The judge left open whether 1 claim counts. Claim 0 is undetermined: "
        "there is no verdict on whether the reference entails it.",
    ),
    (
        "partly determined",
        OPEN,
        {},
        "relevant",
        f"Noise sensitivity (relevant, definition ragas) is undetermined: {PARTLY}",
    ),
    (
        "partly determined, counted as no noise",
        OPEN,
        {"undetermined": "low"},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is 0.25 (lower is better) with what is "
        f"undetermined counted as no noise; {PARTLY.replace(' (lower is better)', '')}",
    ),
    (
        "partly determined, counted as noise",
        OPEN,
        {"undetermined": "high"},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is 1 (lower is better) with what is "
        f"undetermined counted as noise; {PARTLY.replace(' (lower is better)', '')}",
    ),
    (
        "more claims than are shown",
        MANY,
        {},
        "relevant",
        "Noise sensitivity (relevant, definition ragas) is 1 (lower is better): 8 of 8 response "
        "claims are not supported by the reference but entailed by a relevant chunk. "
        + " ".join(
            f"Claim {i} is not supported by the reference and comes from relevant chunk 0."
            for i in range(5)
        )
        + " And 3 more.",
    ),
]


@pytest.mark.parametrize(
    ("verdicts", "arguments", "mode", "reason"),
    [case[1:] for case in REASONS],
    ids=[case[0] for case in REASONS],
)
def test_reasons(verdicts: Verdicts, arguments: dict[str, Any], mode: Any, reason: str) -> None:
    assert score(verdicts, **arguments).reason(mode) == reason


def test_claims_in_words() -> None:
    assert [claim.sentence for claim in score(OPEN).claims] == [
        'Claim 0 "a" is undetermined: there is no verdict on whether the reference entails it.',
        'Claim 1 "b" is undetermined: there is no verdict on whether chunks 0 and 2 entail it.',
        'Claim 2 "c" is undetermined: there is no verdict on whether chunk 2 is relevant.',
        'Claim 3 "d" is not supported by the reference and comes from relevant chunk 0.',
    ]
    assert [claim.sentence for claim in score(TWO_CHUNKS).claims][2:] == [
        'Claim 2 "c" is not supported by the reference, and no retrieved chunk entails it.',
        'Claim 3 "d" is supported by the reference.',
    ]
    (claim,) = score(Verdicts.from_matrices([U], [[U]], [[U]])).claims
    assert claim.sentence == (
        "Claim 0 is undetermined: there is no verdict on whether the reference entails it nor on "
        "whether chunk 0 entails it."
    )


def test_a_long_claim_is_cut_to_one_short_line() -> None:
    (claim,) = score(LONG).claims
    assert "\n" not in claim.sentence
    assert len(claim.sentence) < 200
    assert '…" is not supported' in claim.sentence
