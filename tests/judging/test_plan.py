"""The call plan: how many calls, in how many rounds, and what each of them asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from noisesense import LLMJudge, Sample, Verdicts, score
from noisesense.judging.plan import Plan
from support.mind import Mind, data_of
from support.scripted_llm import GatedLLM, ScriptedLLM

CHUNKS = 4


def pair(
    correct: Sequence[bool], *, labels: Sequence[bool | None] = (None,) * CHUNKS
) -> tuple[Sample, Verdicts]:
    """A sample with these response claims, two reference claims and four chunks."""
    claims = [f"response claim {i}" for i in range(len(correct))]
    verdicts = Verdicts.from_matrices(
        list(correct),
        [[(i + j) % 3 == 0 for j in range(CHUNKS)] for i in range(len(correct))],
        [[j == g for j in range(CHUNKS)] for g in range(2)],
        labels,
        response_claims=claims,
        reference_claims=["reference claim 0", "reference claim 1"],
        chunks=[f"chunk {j}" for j in range(CHUNKS)],
    )
    sample = Sample(
        user_input="question?",
        response=" ".join(claims) or "the response",
        reference="reference claim 0 and reference claim 1",
        retrieved_contexts=verdicts.chunks or (),
    )
    return sample, verdicts


def judged(
    truth: tuple[Sample, Verdicts],
    plan: Plan = "lazy",
    contexts: Sequence[Any] | None = None,
    **options: int,
) -> tuple[GatedLLM, Verdicts]:
    """The model after judging, and what the judge says; with other contexts, if given."""
    llm = GatedLLM(Mind([truth]).answer)
    fields = {**dict(truth[0]), **({"retrieved_contexts": contexts} if contexts else {})}

    async def run() -> Verdicts:
        judge = LLMJudge(llm, plan=plan, **options)
        work = asyncio.ensure_future(judge.judge(Sample(**fields)))
        await llm.drive(work)
        return work.result()

    return llm, asyncio.run(run())


def test_wrong_claims_take_c_plus_3_calls_in_3_rounds() -> None:
    llm, _ = judged(pair([True, False, False]))
    assert llm.rounds == [2, 1, CHUNKS]


def test_3_calls_in_2_rounds_when_nothing_is_incorrect() -> None:
    llm, verdicts = judged(pair([True, True]))
    assert llm.rounds == [2, 1]
    assert score(verdicts).relevant == 0.0
    assert score(verdicts).irrelevant == 0.0


def test_labels_save_the_references_decomposition() -> None:
    labels = [True, False, False, True]
    llm, verdicts = judged(pair([True, False], labels=labels))
    assert llm.rounds == [1, 1, CHUNKS]
    assert verdicts.reference_claims == ()
    assert [chunk.relevant for chunk in verdicts.chunks or ()] == labels
    assert judged(pair([True], labels=labels))[0].rounds == [1, 1]


def test_only_unlabeled_chunks_are_asked_for_the_reference() -> None:
    llm, _ = judged(pair([True, False], labels=[None, False, None, True]))
    assert llm.rounds == [2, 1, CHUNKS]
    asked = {data["premise"]: [*data["claims"].values()] for data in llm.data[3:]}
    both = ["response claim 1", "reference claim 0", "reference claim 1"]
    assert asked == {
        "chunk 0": both, "chunk 1": both[:1], "chunk 2": both, "chunk 3": both[:1],
    }  # fmt: skip


def test_full_asks_for_every_cell_in_two_rounds() -> None:
    truth = pair([True, False, True], labels=[True, None, False, None])
    llm, verdicts = judged(truth, "full")
    assert llm.rounds == [2, 1 + CHUNKS]
    assert verdicts == truth[1]
    assert judged(pair([]), "full")[0].rounds == [2, 1, CHUNKS]


def test_equal_chunks_are_asked_about_once_and_blank_ones_never() -> None:
    llm, found = judged(pair([False]), contexts=["chunk 0", "  ", "chunk 1", "chunk 0"])
    assert llm.rounds == [2, 1, 2]
    # Chunk 0 entails the response's claim and the reference's first; chunk 1 the second.
    assert found.response_claims[0].entailed_by == (0, 3)
    assert [claim.entailed_by for claim in found.reference_claims] == [(0, 3), (2,)]
    assert not any(claim.undetermined for claim in found.response_claims)


def test_no_sample_takes_more_than_c_plus_8_calls() -> None:
    """Each kind of question comes up once for either text, and one at the end."""
    lists = {
        "The ferry sails at noon. It carries bicycles.": ["It carries bicycles.", "Ida sang."],
        "The ferry sails at nine. It carries horses.": ["It carries horses.", "Per danced."],
    }

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": lists[data["text"]]})
        return json.dumps(dict.fromkeys(data["claims"], "no"))

    llm = ScriptedLLM(answer)
    response, reference = lists
    sample = Sample(
        user_input="When does it sail?",
        response=response,
        reference=reference,
        retrieved_contexts=[f"chunk {number}" for number in range(CHUNKS)],
    )
    asyncio.run(LLMJudge(llm).judge(sample))
    strays = [data for data in llm.data if data.get("premise") in lists]
    assert len(strays) == 2 + 1  # of each text, and the claims beside the reference
    assert len([data for data in llm.data if "listed" in data]) == 2
    assert len([data for data in llm.data if "asked" in data]) == 1
    assert len(llm.data) == CHUNKS + 8
