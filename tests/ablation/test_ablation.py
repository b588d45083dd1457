"""What the chunks did, against systems whose answers are known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from noisesense import InputError, JudgeError, RecordedJudge, Result, Sample, score
from noisesense.ablation import Ablation, ablation, plan
from noisesense.judging.protocol import Entailment
from noisesense_adapters.datasets import ablate
from noisesense_adapters.toolbox.wording import ablation_sentences
from support.ablation_world import Mind, repeating, run_of, verdicts


def measured(
    results: list[Result], answer: Callable[[str, list[str]], str], **options: object
) -> Ablation:
    return asyncio.run(ablate(results, answer, Mind(), **options))  # type: ignore[arg-type]


def said(found: Ablation) -> list[str]:
    return [*ablation_sentences(found)]


def test_a_system_that_repeats_its_chunks_is_caused_by_them() -> None:
    found = measured(run_of([1] * 10), repeating)
    assert found.claims == 10
    assert found.effect.value == 1.0
    assert found.effect.interval.high == 1.0
    assert 0.5 < found.effect.interval.low < 1.0
    # Half of each answer was noise, none of it without the wrong chunk; with two distractors
    # three of four sentences are.
    assert [each.value for each in found.perfect_reranker] == [0.5, 0.0, -0.5]
    assert found.growth.value == pytest.approx(0.25)
    noise = {name: each.value for name, each in found.noise.items()}
    assert noise == {"": 0.5, "relevant-only": 0.0, "plus-2": 0.75}
    first, second, third = said(found)
    assert first.startswith(
        "Of 10 claims that came from a chunk and are not in the reference, 10 were said again "
        "with the same chunks and 0 without the chunks they came from: 100% ("
    )
    assert second.startswith(
        "With relevant chunks alone, noise sensitivity falls from 0.50 to 0.00 (difference -0."
    )
    assert third.startswith("Each 2 distractors more add 0.25 (")
    assert {cause.document for cause in found.causes} == {f"bad-{i}" for i in range(10)}
    assert all((cause.low, cause.high) == (1, 1) for cause in found.causes)


def test_a_system_that_says_the_same_whatever_it_gets_is_not() -> None:
    results = run_of([1] * 10)
    said = {r.sample.user_input: r.sample.response for r in results if r.sample}
    found = measured(results, lambda question, _: said[question])
    assert found.effect.value == 0.0
    assert found.effect.interval.low < 0 < found.effect.interval.high


def test_without_the_control_no_effect_is_claimed() -> None:
    found = measured(run_of([1] * 4), repeating, variants=("without",))
    assert found.effect is None
    assert found.without.value == 0.0
    assert said(found)[1].startswith("This is no effect")
    assert found.causes == ()


def test_a_system_that_answers_at_random_is_covered_with_the_control_and_not_without() -> None:
    random = Random(3)
    results = run_of([1] * 40)
    said = {r.sample.user_input: r.sample.response for r in results if r.sample}

    def answer(question: str, _: list[str]) -> str:
        return said[question] if random.random() < 0.6 else "right"

    found = measured(results, answer, variants=("again", "without"))
    assert found.without.interval.high < 0.8  # alone, "at least 20% are gone"
    assert found.effect.interval.low < 0 < found.effect.interval.high


def test_again_and_without_cost_one_call_a_sample_each_and_none_for_the_old_answer() -> None:
    results, mind, asked = run_of([3] * 5), Mind(), []

    def answer(question: str, contexts: list[str]) -> str:
        asked.append(question)
        return "wrong 0 1" if len(contexts) == 1 else repeating(question, contexts)

    found = asyncio.run(ablate(results, answer, mind, variants=("again", "without")))
    assert len(asked) == 10
    assert [text for text, _ in mind.checked] == ["wrong 0 1"] * 5  # again: the very same words
    assert mind.judged == []
    assert (found.again.value, found.again.size) == (1.0, 15)
    assert found.without.value == pytest.approx(1 / 15)


def test_a_deterministic_system_is_not_asked_again() -> None:
    asked: list[list[str]] = []

    def answer(question: str, contexts: list[str]) -> str:
        asked.append(contexts)
        return repeating(question, contexts)

    found = measured(run_of([1] * 3), answer, variants=("again", "without"), deterministic=True)
    assert len(asked) == 3
    assert found.again.value == 1.0


def test_what_nobody_left_open_is_a_number() -> None:
    """Two of three claims are 2/3, of which 1 - 1/3 differs in the last bit."""
    found = measured(run_of([2] * 3), repeating, variants=("plus-2",))
    assert found.noise[""].value == 2 / 3
    assert said(found)[-1].startswith("Each 2 distractors more add 0.")
    assert " to " not in said(found)[-1].partition("(")[0].removesuffix("to noise ")


def test_open_verdicts_widen() -> None:
    results = run_of([1] * 10)
    rows = plan(results, ("again", "without"))
    for row in rows:
        told = ". ".join(each["text"] for each in row["retrieved_contexts"])
        row["response"] = "unclear" if row["id"] == "s0" else told
    found = ablation(results, rows, Mind(open_texts="unclear"))
    assert (found.again.low, found.again.high) == (0.9, 1.0)
    assert (found.without.low, found.without.high) == (0.0, 0.1)
    assert (found.effect.low, found.effect.high) == (pytest.approx(0.8), 1.0)
    assert found.effect.value is None
    assert found.effect.interval.low < 0.8
    assert "9 to 10 were said again" in said(found)[0]
    assert ": between 80% and 100% (" in said(found)[0]


def test_a_judge_that_fails_for_one_answer_leaves_it_open_and_for_all_is_an_error() -> None:
    results = run_of([1] * 3)
    rows = plan(results, ("without",))
    for row in rows:
        row["response"] = "another answer"
    with pytest.raises(JudgeError, match="no key"):
        ablation(results, rows, Mind(broken=True))

    class Once(Mind):
        async def entailment(self, texts: list[str], claims: list[str]) -> Entailment:
            self._broken = not self.checked
            return await super().entailment(texts, claims)

    found = ablation(results, rows, Once())
    assert found.without[:2] == (0.0, pytest.approx(1 / 3))
    reason = "answers not judged, which count as open (the first: no key)"
    assert found.left_out == {reason: 1}


def test_the_plan() -> None:
    results = run_of([1] * 3)
    rows = plan(results, seed=1)
    assert plan(results, seed=1) == rows
    assert plan(results, seed=2) != rows
    places = [f"{row['id']} {row['variant']}" for row in rows[:5]]
    assert places == ["s0 again", "s0 without", "s0 relevant-only", "s0 plus-2", "s1 again"]
    texts = [{"text": "right 0", "id": "good-0"}, {"text": "wrong 0 0", "id": "bad-0"}]
    asked = {"user_input": "question 0", "retrieved_contexts": texts, "response": ""}
    assert rows[0] == {"id": "s0", "variant": "again", **asked}
    assert rows[1]["retrieved_contexts"] == texts[:1] == rows[2]["retrieved_contexts"]
    more = [chunk for chunk in rows[3]["retrieved_contexts"] if chunk not in texts]
    assert len(more) == 2
    assert all(chunk["relevant"] is False and not chunk["id"].endswith("-0") for chunk in more)
    assert json.loads(json.dumps(rows)) == rows


def test_plus_4_holds_the_distractors_of_plus_2_and_too_few_say_how_many_there_are() -> None:
    with pytest.raises(InputError, match=r"s0, plus-9: expected 9 chunks .* got 4"):
        plan(run_of([1] * 3), ("plus-9",))
    rows = plan(run_of([1] * 6), ("plus-2", "plus-4"))
    for two, four in zip(rows[::2], rows[1::2], strict=True):
        small, large = ({c["text"] for c in row["retrieved_contexts"]} for row in (two, four))
        assert small < large


def test_a_distractor_never_holds_the_reference() -> None:
    results = run_of([1] * 3)
    for text in ("as everyone knows, right 0 it is", "the same question's own chunk"):
        sample = Sample(
            user_input="question 0" if "own" in text else "another",
            response="x",
            reference="the same question's own chunk",
            retrieved_contexts=[text],
        )
        results.append(Result(text, score(verdicts(sample)), sample=sample))
    rows = plan([*results[:1], *results[3:]], ("again",))
    assert rows
    with pytest.raises(InputError, match=r"s0, plus-1: expected 1 chunks .* got 0"):
        plan([*results[:1], *results[3:]], ("plus-1",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "plus-0"}, "answer 1, variant: expected .* got 'plus-0'"),
        ({"id": "s9"}, "answer 1: expected an id of the results, got 's9'"),
        ({"user_input": "?"}, r"s0, again: expected question and contexts .* others, for '\?'"),
        ({"retrieved_contexts": ["?"]}, "s0, again: expected question and contexts as in a plan"),
        ({"retrieved_contexts": "?"}, "answer 1"),
    ],
)
def test_an_answer_to_something_else_is_an_error(change: dict[str, object], message: str) -> None:
    results = run_of([1] * 2)
    row = plan(results, ("again",))[0] | {"response": "x"} | change
    with pytest.raises(InputError, match=message):
        ablation(results, [row], Mind())
    good = plan(results, ("again",))[0]
    with pytest.raises(InputError, match="s0, again: expected one answer, got another one"):
        ablation(results, [good, good], Mind())


def test_rows_without_an_answer_are_left_out_and_counted() -> None:
    results = run_of([1] * 4)
    rows = plan(results, ("again", "without"))
    for row in rows[:-1]:
        row["response"] = "wrong 0 0"
    found = ablation(results, rows, Mind())
    assert found.left_out == {"rows without an answer": 1}
    assert found.effect.size == 3
    assert said(found)[-1] == "Left out: 1 rows without an answer."


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    results, path, asked = run_of([1] * 4), tmp_path / "answers.jsonl", 0

    def answer(question: str, contexts: list[str]) -> str:
        nonlocal asked
        asked += 1
        if asked == 6:
            raise RuntimeError("the system is down")
        return repeating(question, contexts)

    variants = ("again", "without")
    whole = measured(results, repeating, variants=variants)
    with pytest.raises(RuntimeError, match="the system is down"):
        measured(results, answer, variants=variants, answers=path, max_concurrency=1)
    with path.open("a") as file:
        file.write('{"id": "s3", "vari')  # a killed run's last line
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3


def test_a_judge_that_checks_no_given_claims_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    with pytest.raises(InputError, match="a judge that checks given claims, got RecordedJudge"):
        ablation(run_of([1] * 1), [], RecordedJudge(tmp_path / "r.jsonl"))


def test_relevance_is_not_judged() -> None:
    """The noise is the same whatever is relevant, so labels spare the judge the reference."""
    mind = Mind()
    asyncio.run(ablate(run_of([1] * 4), repeating, mind, variants=("plus-2",)))
    labels = [chunk.relevant for sample in mind.judged for chunk in sample.retrieved_contexts]
    assert labels == [False] * 16
