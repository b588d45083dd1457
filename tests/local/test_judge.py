"""`LocalJudge` over a classifier whose answers are known."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from noisesense import (
    InputError,
    JudgeError,
    LLMJudge,
    Sample,
    Usage,
    Verdicts,
    VerdictStore,
    score,
)
from noisesense_adapters.local import LocalJudge
from support.mind import Mind
from support.scripted_llm import ScriptedLLM
from support.tables import random_pairs

PAIRS = list(random_pairs(12, seed=77))


class Known:
    """Gives a probability for each pair it knows, and notes what it was asked."""

    name = "known"
    identity = "known-1"

    def __init__(self, likely: dict[tuple[str, str], float | None], other: float = 0.0) -> None:
        self.likely = likely
        self.other = other
        self.asked: list[list[tuple[str, str]]] = []
        self.threads: set[str] = set()

    def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float | None]:
        pairs = list(zip(premises, claims, strict=True))
        self.asked.append(pairs)
        self.threads.add(threading.current_thread().name)
        return [self.likely.get(pair, self.other) for pair in pairs]


SAMPLE = Sample(
    user_input="What color?",
    response="The tower is red. The sea is blue. 海は緑。",
    reference="The tower is red. It is old.",
    retrieved_contexts=["A red tower.", "A blue sea, and old towers.", " "],
)
LIKELY = {
    (SAMPLE.reference, "The tower is red."): 0.9,
    ("A blue sea, and old towers.", "The sea is blue."): 0.6,
    ("A blue sea, and old towers.", "It is old."): 0.7,
    ("A red tower.", "海は緑。"): 0.55,
}


def judged(judge: LocalJudge, sample: Sample = SAMPLE) -> Verdicts:
    return asyncio.run(judge.judge(sample))


def test_a_sample_by_sentences() -> None:
    known = Known(LIKELY)
    judge = LocalJudge(known)
    verdicts = judged(judge)
    # Claims 2 and 3 are incorrect; chunk 1 is relevant ("It is old.") and entails claim 2; chunk 0
    # is not and entails claim 3. So 1/3 each.
    found = score(verdicts)
    assert found.relevant == 1 / 3
    assert found.irrelevant == 1 / 3
    assert [claim.text for claim in verdicts.reference_claims] == [
        "The tower is red.",
        "It is old.",
    ]
    # One call for the reference, one for each chunk that is not blank; what is correct is not
    # asked of the chunks.
    assert judge.usage == Usage(calls=3)
    assert sum(map(len, known.asked)) == 3 + 2 * 4
    assert known.threads == {"noisesense-local_0"}
    assert "threshold=0.5 claims=sentences" in judge.name
    assert judge.name.startswith("known, plan=lazy")


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.6, (1 / 3, 0.0)), (0.61, (0.0, 0.0)), (0, (0.0, 0.0))]
)
def test_the_threshold(threshold: float, expected: tuple[float, float]) -> None:
    """At 0 everything is entailed, by the reference too: nothing is incorrect."""
    found = score(judged(LocalJudge(Known(LIKELY), threshold=threshold)))
    assert (found.relevant, found.irrelevant) == expected


@pytest.mark.parametrize("nothing", [math.nan, math.inf, None])
def test_without_a_probability_there_is_no_verdict(nothing: float | None) -> None:
    likely = {**LIKELY, ("A blue sea, and old towers.", "The sea is blue."): nothing}
    judge = LocalJudge(Known(likely))
    judgement = asyncio.run(judge.judge_detailed(SAMPLE))
    assert judgement.unanswered == 1
    assert judgement.verdicts.response_claims[1].undetermined == (1,)
    assert score(judgement.verdicts).bounds("relevant") == (0.0, 1 / 3)
    assert score(judgement.verdicts).relevant is None


def test_a_store_keeps_probabilities(tmp_path: Path) -> None:
    known = Known(LIKELY)
    with VerdictStore(tmp_path / "s.db") as store:
        first = judged(LocalJudge(known, store=store))
        asked = len(known.asked)
        assert judged(LocalJudge(known, store=store)) == first
        # Another threshold: what is asked of the chunks is the same, and nothing is asked again.
        again = LocalJudge(known, store=store, threshold=0.58)
        assert score(judged(again)).irrelevant == 0.0
        assert len(known.asked) == asked
        assert again.usage == Usage(cached_calls=3)
        assert "plan=lazy threshold=0.58 claims=sentences" in again.name


def test_what_had_no_answer_is_asked_again(tmp_path: Path) -> None:
    known = Known({**LIKELY, ("A red tower.", "海は緑。"): math.nan})
    with VerdictStore(tmp_path / "s.db") as store:
        assert score(judged(LocalJudge(known, store=store))).irrelevant is None
        known.likely = LIKELY
        known.asked.clear()
        assert score(judged(LocalJudge(known, store=store))).irrelevant == 1 / 3
        assert {premise for pairs in known.asked for premise, _ in pairs} == {"A red tower."}


def test_a_text_on_which_it_fails_spoils_no_other() -> None:
    class Raising(Known):
        def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float | None]:
            if any("bad" in premise for premise in premises):
                raise ValueError("bad: this text")
            return super().entails(premises, claims)

    judge = LocalJudge(Raising(LIKELY))
    bad = SAMPLE.model_copy(update={"reference": "bad"})

    async def both() -> list[Verdicts | BaseException]:
        return await asyncio.gather(*map(judge.judge, [SAMPLE, bad]), return_exceptions=True)

    good, failed = asyncio.run(both())
    assert isinstance(failed, JudgeError)
    assert str(failed) == "the classifier known failed (ValueError)"
    assert good == judged(LocalJudge(Known(LIKELY)))


def test_a_classifier_that_gives_something_else() -> None:
    class Wrong(Known):
        values: Sequence[float] = (0.5,)

        def entails(self, premises: Sequence[str], claims: Sequence[str]) -> list[float | None]:
            return list(self.values)

    wrong = Wrong({})
    with pytest.raises(JudgeError, match="gave 1 probabilities for 3 pairs"):
        judged(LocalJudge(wrong))
    wrong.values = (0.5, 1.5, 0.0)
    with pytest.raises(JudgeError, match=r"gave 1\.5 where a prob"):
        judged(LocalJudge(wrong))
    pairs: Any = ([0.1, 0.9],) * 3  # of a classifier that gives every label's probability
    for values, kind in ((pairs, "list"), (("likely",) * 3, "str")):
        wrong.values = values
        with pytest.raises(JudgeError, match=f"known gave a {kind} where a probability"):
            judged(LocalJudge(wrong))


def test_a_model_finds_the_claims() -> None:
    """The classifier answers as the verdicts have it: the score is that of an LLM alone."""
    mind = Mind(PAIRS)
    likely: dict[tuple[str, str], float | None] = {}
    for sample, verdicts in PAIRS:
        table = verdicts.with_sample(sample)
        for claim in table.response_claims:
            correct = claim.correct
            likely[sample.reference, claim.text] = None if correct is None else float(correct)
        for each in (*table.response_claims, *table.reference_claims):
            for j, chunk in enumerate(sample.retrieved_contexts):
                open_cell = j in each.undetermined
                likely[chunk.text, each.text] = None if open_cell else float(j in each.entailed_by)
    llm = ScriptedLLM(mind.answer)
    for sample, _ in PAIRS:
        local = judged(LocalJudge(Known(likely), claims=llm), sample)
        asked = asyncio.run(LLMJudge(ScriptedLLM(mind.answer)).judge(sample))
        assert score(local) == score(asked)
    assert "claims=sentences" not in LocalJudge(Known({}), claims=llm).name


def test_given_claims_with_probabilities() -> None:
    judge = LocalJudge(Known({("a", "x"): 0.75, ("b", "x"): math.nan}), threshold=0.7)
    found = asyncio.run(judge.entailment(["a", "b", " ", "a"], ["x", "y"]))
    assert found.cells == [[True, None, False, True], [False, False, False, False]]
    assert found.probabilities == [[0.75, None, None, 0.75], [0.0, 0.0, None, 0.0]]
    assert found.unanswered == 1


def test_arguments() -> None:
    for threshold in (-0.1, 1.1, math.nan, "0.5", True):
        with pytest.raises(InputError, match="threshold: expected a number from 0 to 1"):
            LocalJudge(Known({}), threshold=threshold)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"an object with `entails"):
        LocalJudge(object())  # type: ignore[arg-type]
