"""Which verdicts a score needs, and so a lazy plan asks for: see `noisesense.Summary`."""

from __future__ import annotations

from noisesense.scoring.scoring import Score


def cells_of(score: Score) -> tuple[int, int]:
    """Return how many verdicts a lazy plan needs of this sample, and how many of those are open.

    A lazy plan asks only for what may change the score: see `noisesense.Summary.needed_cells`.
    Counted in one pass, as it is asked of each row of a run.
    """
    verdicts = score.verdicts
    claims = verdicts.response_claims
    possibly_wrong = 0
    open_cells = 0
    for claim in claims:
        if not claim.correct:
            possibly_wrong += 1
            open_cells += (claim.correct is None) + len(claim.undetermined)
    if not possibly_wrong:
        return len(claims), 0
    labels = [chunk.relevant for chunk in verdicts.chunks or ()] or [None] * verdicts.chunk_count
    unlabeled = labels.count(None)
    reference = verdicts.reference_claims
    if not reference:
        open_cells += unlabeled  # nothing says which of these chunks is relevant
    for stated in reference:
        for chunk in stated.undetermined:
            open_cells += labels[chunk] is None
    of_response = len(claims) + len(labels) * possibly_wrong
    of_reference = unlabeled * max(len(reference), 1)
    return of_response + of_reference, open_cells
