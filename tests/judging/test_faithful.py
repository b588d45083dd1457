"""Whatever the table, the judge says what the model's mind holds, and the score follows."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from noisesense import Judgement, LLMJudge, Matrices, Sample, Score, Verdicts, score
from noisesense.judging.llm import Check
from noisesense.judging.plan import Plan
from noisesense.judging.prompts import Budget
from noisesense.scoring.definitions import DEFINITIONS, MODES, DefinitionName
from support.scripted_llm import scripted
from support.tables import matrices, sample_of

SMALL = Budget(text_chars=60, claims=3)


def with_texts(table: Matrices) -> tuple[Sample, Verdicts]:
    """A drawn table with texts, the labels in the sample."""
    responses = len(table["reference_to_response"])
    verdicts = Verdicts.from_matrices(
        **table,
        response_claims=[f"Response claim number {i}." for i in range(responses)],
        reference_claims=[
            f"Reference claim {g}." for g in range(len(table["chunks_to_reference"] or []))
        ],
        chunks=[f"Text of chunk number {j}." for j in range(len(table["relevant"] or []))],
    )
    return sample_of(
        verdicts,
        "",
        **({} if verdicts.response_claims else {"response": "It responds."}),
        **({} if verdicts.reference_claims else {"reference": "It refers."}),
    ), verdicts


def figures(verdicts: Verdicts, definition: DefinitionName) -> list[object]:
    found: Score = score(verdicts, definition=definition)
    return [[found.value(mode), found.bounds(mode), found.counts(mode)] for mode in MODES]


tables = matrices(response_claims=(0, 5), reference_claims=(0, 3), chunks=(1, 5)).map(with_texts)


@given(tables, st.sampled_from(["list", "each"]), st.booleans())
def test_lazy_and_full_score_as_the_truth_does(
    truth: tuple[Sample, Verdicts], check: Check, small: bool
) -> None:
    """For every definition, undetermined cells included; one by one, and split."""
    sample, verdicts = truth
    budget = SMALL if small else Budget()

    def judged(plan: Plan) -> Judgement:
        judge = LLMJudge(scripted(truth), plan=plan, check=check, budget=budget, max_reasks=1)
        return asyncio.run(judge.judge_detailed(sample))

    full = judged("full")
    lazy = judged("lazy")
    assert full.verdicts == verdicts
    for name in DEFINITIONS:
        assert figures(lazy.verdicts, name) == figures(verdicts, name)
    assert score(lazy.verdicts).partition == score(verdicts).partition
    # What the judge leaves open although it asked, the mind does not know.
    labels = sum(chunk.relevant is None for chunk in verdicts.chunks or ())
    unknown = str(verdicts.to_matrices()).count("None")
    is_unlisted = not verdicts.reference_claims  # and the mind does not say that it says nothing
    assert full.unanswered == unknown - labels + is_unlisted
    assert lazy.unanswered <= full.unanswered
