"""The samples of the cost comparison, and a mind for our prompts of them and ragas'.

Texts are as long as in practice: claims of 70 characters, chunks of 800. Of six response claims
two are incorrect (or none): one comes from a relevant chunk, one from an irrelevant chunk if
there is more than one. ragas' form asks for a reason with each verdict; it gets a short sentence.
"""

from __future__ import annotations

from noisesense import Sample, Verdicts
from support.ragas_mind import EitherMind
from support.tables import sample_of

CHUNKS = (1, 5, 10, 20)
RUN_SAMPLES = 200
RUN_CHUNKS = 5
REASON = "The context says so explicitly, so it can be inferred from it."

_RESPONSE = 6
_REFERENCE = 5
_FILLER = (
    "It goes on to describe what the archive holds, who wrote it down, and when it was found. "
)


def pair(chunks: int, *, wrong: bool = True, number: int = 0) -> tuple[Sample, Verdicts]:
    """One sample and its verdicts; no two share a text."""
    name = f"case {chunks}-{number}-{'wrong' if wrong else 'right'}"
    incorrect = {1, 4} if wrong else set[int]()
    entailing = [[False] * chunks for _ in range(_RESPONSE)]
    entailing[1][0] = True
    entailing[4][-1] = True
    verdicts = Verdicts.from_matrices(
        reference_to_response=[i not in incorrect for i in range(_RESPONSE)],
        chunks_to_response=entailing,
        chunks_to_reference=[[j == 0 and g < 2 for j in range(chunks)] for g in range(_REFERENCE)],
        response_claims=[
            f"The response on {name} claims as its fact {i} that it happened in {1900 + i}."
            for i in range(_RESPONSE)
        ],
        reference_claims=[
            f"The reference on {name} states as its fact {g} that it happened in {1950 + g}."
            for g in range(_REFERENCE)
        ],
        chunks=[f"Passage {j} of the archive on {name}. " + _FILLER * 8 for j in range(chunks)],
    )
    return sample_of(verdicts, f"What does the archive say about {name}?"), verdicts


def run_pairs() -> list[tuple[Sample, Verdicts]]:
    """A whole run: every third sample has no incorrect claim."""
    return [
        pair(RUN_CHUNKS, wrong=number % 3 > 0, number=number)
        for number in range(1, RUN_SAMPLES + 1)
    ]


def make_mind() -> EitherMind:
    pairs = [pair(chunks, wrong=wrong) for chunks in CHUNKS for wrong in (True, False)]
    return EitherMind([*pairs, *run_pairs()], reason=REASON)
