"""What the chunks did, against systems whose answers are known."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisesense import (
    Chunk,
    InputError,
    JudgeError,
    Result,
    Sample,
    Verdicts,
    score,
)
from noisesense.ablation import Ablation, Effect, ablation, plan
from noisesense.judging.protocol import Entailment
from noisesense_adapters.datasets import ablate
from noisesense_adapters.evaluate.tables import ablation_tables
from noisesense_adapters.evaluate.wording import ablation_sentences
from support.ablation_world import Mind, repeating, run_of, verdicts

PAIR = ("without", "without-other")
SHOWN = "So these documents matter."
NOT_SHOWN = "No effect of these documents is shown."


def measured(
    results: list[Result], answer: Callable[[str, list[str]], str], **options: object
) -> Ablation:
    return asyncio.run(ablate(results, answer, Mind(), **options))  # type: ignore[arg-type]


def effect_in(results: list[Result], answer: Callable[[str, list[str]], str]) -> Effect:
    effect = measured(results, answer, variants=PAIR).effect
    assert effect is not None
    return effect


def said(found: Ablation) -> list[str]:
    return [*ablation_sentences(found)]


def old_responses(results: list[Result]) -> dict[str, str]:
    return {each.sample.user_input: each.sample.response for each in results if each.sample}


def test_a_system_that_repeats_its_chunks() -> None:
    """Without its chunk each wrong claim goes; the right one beside it, and all else, stays."""
    found = measured(run_of([1] * 10), repeating, variants=PAIR)
    effect = found.effect
    assert effect.claims == effect.samples == 10
    assert effect.gone == (10.0, 10.0)
    for control in (effect.other_claims, effect.again, effect.other_chunks):
        assert control.before == (0.0, 0.0)
        assert control.change[:2] == (1.0, 1.0)
        # All ten differences are 1; an eleventh might be smaller.
        assert control.change.interval.low < control.change.interval.high == 1.0
    assert effect.low == effect.again.change.interval.low
    assert said(found) == [
        "Of the wrong claims from documents, 100% vanish when we remove these; of the other "
        "claims in the same answers, 0%.",
        SHOWN,
    ]


def test_the_controls_are_counted_by_hand() -> None:
    """Two wrong claims and a right one in each of 8 answers. Without the wrong chunk all three are
    gone in 4 answers, and the wrong ones in 2 more; with the same chunks one wrong claim is gone
    in 2; without the right chunk in another 3."""

    def answer(question: str, contexts: list[str]) -> str:
        number = int(question.split()[1])
        right, first, second = f"right {number}", f"wrong {number} 0", f"wrong {number} 1"
        everything = f"{right}. {first}. {second}"
        if len(contexts) == 2:
            return f"{right}. {first}" if number < 2 else everything
        if contexts == [right]:
            return "other" if number < 4 else right if number < 6 else everything
        return f"{right}. {second}" if number > 4 else everything

    effect = effect_in(run_of([2] * 8), answer)
    # Of 16 wrong claims 12 are gone, of 8 right ones 4.
    assert effect.gone == (12.0, 12.0)
    assert effect.other_claims.change.size == effect.again.change.size == 16
    assert effect.other_claims.before == (0.5, 0.5)
    assert effect.again.before == (2 / 16, 2 / 16)
    assert effect.other_chunks.before == (3 / 16, 3 / 16)
    assert effect.other_claims.change.low == 0.75 - 0.5
    assert effect.again.change.low == 0.75 - 0.125


def test_of_a_system_that_never_changes_no_effect_is_shown() -> None:
    """Noise sensitivity would fall from 0.5 to 0 here: a chunk that is away entails nothing."""
    results = run_of([1] * 10)
    old = old_responses(results)
    found = measured(results, lambda question, _: old[question], variants=PAIR)
    assert found.effect.gone == (0.0, 0.0)
    assert said(found)[1:] == [NOT_SHOWN]


def test_claims_that_go_like_the_others_of_their_answers_show_no_effect() -> None:
    """As where a judge does not know a claim again in new words."""
    results = run_of([1] * 20)
    old = old_responses(results)

    def answer(question: str, contexts: list[str]) -> str:
        is_without = len(contexts) == 1 and contexts[0].startswith("right")
        return "in other words" if is_without else old[question]

    found = measured(results, answer, variants=PAIR)
    assert found.effect.again.change.low == found.effect.other_chunks.change.low == 1.0
    assert found.effect.other_claims.change.low == 0.0
    assert said(found)[1:] == [NOT_SHOWN]


def test_a_sham_as_guilty_as_the_culprit_shows_no_effect() -> None:
    """The wrong claims need all chunks: they go with any."""
    results = run_of([1] * 20)
    old = old_responses(results)

    def answer(question: str, contexts: list[str]) -> str:
        return old[question] if len(contexts) == 2 else f"right {question.split()[1]}"

    effect = effect_in(results, answer)
    assert effect.other_claims.change.low == effect.again.change.low == 1.0
    assert effect.other_chunks.change[:2] == (0.0, 0.0)
    assert not effect.is_shown


def test_without_a_control_no_effect_is_shown() -> None:
    found = measured(run_of([1] * 10), repeating, variants=("without",))
    assert found.effect.other_chunks is None
    assert found.effect.low == -1.0
    assert said(found)[1].startswith("It cannot be told whether these matter: a control")
    alone = [wrong_from(i, ["wrong", "other"]) for i in range(8)]
    assert effect_in(alone, repeating).other_claims is None
    few = measured(run_of([1] * 5), repeating, variants=PAIR)
    assert few.effect.again.change.interval.low > 0
    assert said(few)[1].startswith("Too few samples to tell whether these documents matter: it ")


def test_answers_to_one_question_are_one_sample() -> None:
    """Ten answers to each of five questions: five are too few."""
    results: list[Result] = []
    for number, each in enumerate(run_of([1] * 5) * 10):
        results.append(replace(each, id=f"{number}"))
    effect = effect_in(results, repeating)
    assert effect.claims == 50
    assert effect.samples == effect.again.change.interval.units == 5
    assert not effect.is_shown


def wrong_from(number: int, chunks: list[str]) -> Result:
    """One wrong claim, which comes from the chunks that begin with "wrong"."""
    sample = Sample(
        user_input=f"question {number}",
        response="wrong",
        reference="right",
        retrieved_contexts=[Chunk(text=text, id=text) for text in chunks],
    )
    judged = Verdicts.from_matrices(
        [False],
        [[text.startswith("wrong") for text in chunks]],
        [[False] * len(chunks)],
        response_claims=["wrong"],
        reference_claims=["right"],
    )
    return Result(f"s{number}", score(judged.with_sample(sample)), sample=sample)


def shared_documents() -> list[Result]:
    """12 samples with a right claim and a wrong one of wiki.md; in six of them it is in faq.md,
    too."""
    results: list[Result] = []
    for i in range(12):
        texts = {"guide.md": f"right {i}", "wiki.md": f"wrong {i}", "news.md": f"aside {i}"}
        if i < 6:
            texts |= {"faq.md": f"wrong {i}. more", "x.md": "x"}
        sample = Sample(
            user_input=f"question {i}",
            response=f"right {i}. wrong {i}",
            reference=f"right {i}",
            retrieved_contexts=[Chunk(text=text, id=name) for name, text in texts.items()],
        )
        results.append(Result(f"s{i}", score(verdicts(sample)), sample=sample))
    return results


def keeps_what_is_right(question: str, contexts: list[str]) -> str:
    """A system that says what is wrong only beside wiki.md."""
    number = question.split()[1]
    is_misled = f"wrong {number}" in contexts
    return f"right {number}. wrong {number}" if is_misled else f"right {number}"


def test_what_each_document_causes_and_beside_which_others() -> None:
    found = measured(shared_documents(), keeps_what_is_right, variants=PAIR)
    first, second = found.causes
    assert first[:6] == ("wiki.md", True, 12, 6, (1.0, 1.0), (0.0, 0.0))
    assert first.is_shown
    assert second[:4] == ("faq.md", True, 6, 6)
    assert second.is_shown
    table = ablation_tables(found)[-1]
    assert table.rows[0][:5] == ("wiki.md", "12", "100%", "0%", "6")
    assert table.rows[1][:5] == ("faq.md", "6", "100%", "0%", "6")


def test_a_sample_of_which_no_chunk_would_be_left_is_left_out_and_counted() -> None:
    """Of the one with two chunks, both entail the claim."""
    sample = Sample(
        user_input="apart",
        response="wrong. right",
        reference="right",
        retrieved_contexts=["wrong", "wrong. too"],
    )
    results = [*run_of([1] * 6), Result("apart", score(verdicts(sample)), sample=sample)]
    assert not [row for row in plan(results, PAIR) if row["id"] == "apart"]
    found = measured(results, repeating, variants=PAIR)
    assert found.claims == 7
    assert found.effect.claims == 6
    assert found.left_out == {
        "samples of which no chunk would be left": 1,
        "samples with too few other chunks to take away as many": 1,
    }


def test_where_there_are_not_as_many_others_the_sham_is_left_out_and_counted() -> None:
    """Two of three chunks are guilty, one of them perhaps: the judge left it open."""
    sample = Sample(
        user_input="?",
        response="wrong",
        reference="right",
        retrieved_contexts=["wrong", "perhaps wrong", "right"],
    )
    known = Verdicts.from_matrices(
        [False],
        [[True, None, False]],
        [[False, False, True]],
        response_claims=["wrong"],
        reference_claims=["right"],
    )
    results = [*run_of([1] * 6), Result("few", score(known.with_sample(sample)), sample=sample)]
    rows = [row for row in plan(results, PAIR) if row["id"] == "few"]
    assert [(row["variant"], row["retrieved_contexts"]) for row in rows] == [
        ("again", ["wrong", "perhaps wrong", "right"]),
        ("without", ["right"]),
    ]
    found = measured(results, repeating, variants=PAIR)
    assert found.effect.again.change.size == 7
    assert found.effect.other_chunks.change.size == 6
    assert found.left_out == {"samples with too few other chunks to take away as many": 1}


def misled(samples: int = 8, right: int = 0) -> list[Result]:
    """Answers with a claim that no chunk entails, each beside guide.md, sheet.md and some news;
    then right ones without the sheet."""
    results: list[Result] = []
    for i in range(samples + right):
        texts = {
            "guide.md": f"right {i}",
            "sheet.md": f"another product {i}",
            f"news-{i}.md": f"news {i}",
        }
        response = f"right {i}. invented {i}"
        if right:
            texts |= {f"{name}-{i // 10}.md": f"{name} {i}" for name in ("note", "memo")}
        if i >= samples:
            del texts["sheet.md"]
            response = f"right {i}"
        sample = Sample(
            user_input=f"question {i}",
            response=response,
            reference=f"right {i}",
            retrieved_contexts=[Chunk(text=text, id=name) for name, text in texts.items()],
        )
        results.append(Result(f"s{i}", score(verdicts(sample)), sample=sample))
    return results


def invents_beside_the_sheet(question: str, contexts: list[str]) -> str:
    number = question.split()[1]
    is_misled = f"another product {number}" in contexts
    return f"right {number}. invented {number}" if is_misled else f"right {number}"


def test_a_document_that_misleads_without_entailing_is_found_by_leaving_it_out() -> None:
    found = measured(misled(), invents_beside_the_sheet, variants=PAIR, leave_out=40)
    assert found.effect is None
    first, *others = found.causes
    assert first[:6] == ("sheet.md", False, 8, 0, (1.0, 1.0), (0.0, 0.0))
    assert first.is_shown
    assert not any(cause.is_shown for cause in others)
    assert said(found) == [
        "No wrong claim came from a document: none was removed.",
        "Wrong claims that are in no document vanish without sheet.md.",
    ]


def test_leaving_out_stays_within_its_number_of_answers() -> None:
    """guide.md and sheet.md are in eight such samples, which are asked again, too; the news are in
    one each, which tells nothing, and are a sham beside the first of them."""
    assert plan(misled(), PAIR) == []
    rows = plan(misled(), PAIR, leave_out=100)
    shams = [row for row in rows if row["variant"] == "leave-out-2"]
    assert len(rows) == 3 * 8 + len(shams)
    without_the_sheet = [row for row in rows if row["variant"] == "leave-out-1"]
    assert len(without_the_sheet) == 8
    for row in without_the_sheet:
        names = [chunk["id"] for chunk in row["retrieved_contexts"]]
        assert names == ["guide.md", f"news-{row['id'][1:]}.md"]
    for budget in range(1, 30):
        assert budget - 4 < len(plan(misled(), PAIR, leave_out=budget)) <= budget
    assert plan(misled(5), PAIR, leave_out=100) == []


def test_the_document_whose_answers_are_wrong_most_often_is_left_out_first() -> None:
    """Of 16 answers 8 are wrong: all beside sheet.md, and 8 of 10 beside memo-0.md, note-0.md."""
    asked = Counter(row["variant"] for row in plan(misled(8, 8), PAIR, leave_out=24))
    assert asked["again"] == asked["leave-out-1"] == 6
    assert max(asked["leave-out-3"], asked["leave-out-4"]) < 6


def test_a_document_whose_answers_are_wrong_as_often_as_others_is_no_suspect() -> None:
    """Half of guide.md's answers are wrong, as are half of all: it is a sham beside the sheet."""
    asked = Counter(row["variant"] for row in plan(misled(8, 8), PAIR, leave_out=100))
    assert asked["leave-out-1"] == 8
    assert 0 < asked["leave-out-0"] < 8


def test_what_each_answer_costs() -> None:
    """What an answer says again is one call; the words of the old response say all, and cost
    nothing. For what is compared, claims and their check are one judging, of `again`, too."""
    results = run_of([3] * 5 + [0] * 5)
    mind = Mind()
    asked = []

    def answer(question: str, contexts: list[str]) -> str:
        asked.append(len(contexts))
        return "wrong 0 1" if len(contexts) == 1 else repeating(question, contexts)

    asyncio.run(ablate(results, answer, mind, variants=PAIR))
    assert len(asked) == 5 + 5 + 5
    # `without` and `without-other` were answered alike, which is asked once.
    assert [text for text, _ in mind.checked] == ["wrong 0 1"] * 5
    assert mind.judged == []
    asyncio.run(ablate(results, answer, mind, variants=("plus-2",)))
    assert [sample.retrieved_contexts for sample in mind.judged] == [()] * (10 + 10)


def test_an_answer_that_the_judge_leaves_open_widens_the_figures() -> None:
    results = run_of([1] * 10)
    rows = plan(results, PAIR)
    for row in rows:
        told = ". ".join(each["text"] for each in row["retrieved_contexts"])
        row["response"] = "unclear" if row["id"] == "s0" else told
    effect = ablation(results, rows, Mind(open_texts="unclear")).effect
    assert effect.gone == (9.0, 10.0)
    # The open one may be gone or not, and gone with the same chunks or not.
    assert effect.again.before == (0.0, 0.1)
    assert effect.again.change[:2] == (pytest.approx(0.8), 1.0)


def test_a_judge_that_fails_for_one_answer_leaves_it_open_and_for_all_is_an_error() -> None:
    results = run_of([1] * 3)
    rows = plan(results, ("without",))
    for row in rows:
        row["response"] = "wrong 0 0" if row["variant"] == "without" else repeating("", ["right"])
    with pytest.raises(JudgeError, match="no key"):
        ablation(results, rows, Mind(broken=True))
    assert results[0].sample is not None
    in_old_words = [{**rows[0], "response": results[0].sample.response}, *rows[1:]]
    with pytest.raises(JudgeError, match="no key"):  # the one that asks nothing has not succeeded
        ablation(results, in_old_words, Mind(broken=True))

    class Once(Mind):
        async def entailment(
            self, texts: list[str], claims: list[str], *, question: str = ""
        ) -> Entailment:
            if not self.checked:
                self.checked.append(("", ()))
                raise JudgeError("no key")
            return await super().entailment(texts, claims)

    found = ablation(results, rows, Once())
    assert found.effect.again.before == (pytest.approx(2 / 3), 1.0)
    reason = "answers not judged, counted as open (the first: no key)"
    assert found.left_out == {reason: 1}


def test_a_plan_asks_again_and_each_variant_sample_by_sample() -> None:
    rows = plan(run_of([1] * 3), (*PAIR, "plus-2"))
    places = [f"{row['id']} {row['variant']}" for row in rows[:5]]
    assert places == ["s0 again", "s0 without", "s0 without-other", "s0 plus-2", "s1 again"]
    again, without, other, more = rows[:4]
    texts = [{"text": "right 0", "id": "good-0"}, {"text": "wrong 0 0", "id": "bad-0"}]
    asked = {"user_input": "question 0", "retrieved_contexts": texts, "response": ""}
    assert again == {"id": "s0", "variant": "again", **asked}
    assert without["retrieved_contexts"] == texts[:1]
    assert other["retrieved_contexts"] == texts[1:]
    added = [chunk for chunk in more["retrieved_contexts"] if chunk not in texts]
    assert [chunk["relevant"] for chunk in added] == [False, False]
    assert "-0" not in str(added)  # from other questions
    assert json.loads(json.dumps(rows)) == rows


def test_plus_4_holds_the_distractors_of_plus_2_and_too_few_say_how_many_there_are() -> None:
    with pytest.raises(InputError, match=r"s0, plus-9: expected 9 chunks .* got 4"):
        plan(run_of([1] * 3), ("plus-9",))
    rows = plan(run_of([1] * 6), ("plus-2", "plus-4"))
    grown = [row for row in rows if row["variant"] != "again"]
    for two, four in zip(grown[::2], grown[1::2], strict=True):
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
    with pytest.raises(InputError, match=r"s0, plus-1: expected 1 chunks .* got 0"):
        plan([*results[:1], *results[3:]], ("plus-1",))


def test_variants_stand_beside_the_same_chunks() -> None:
    """Half of what is said is unsupported; with two distractors three of four sentences are, with
    four five of six, with relevant chunks alone none."""
    variants = ("relevant-only", "plus-2", "plus-4")
    found = measured(run_of([1] * 20), repeating, variants=variants)
    shares = {name: change.after.value for name, change in found.changes.items()}
    assert shares == {"relevant-only": 0.0, "plus-2": 0.75, "plus-4": pytest.approx(5 / 6)}
    assert {change.before.value for change in found.changes.values()} == {0.5}
    assert found.changes["plus-2"].change.value == 0.25


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "plus-0"}, "answer 1, variant: expected .* got 'plus-0'"),
        ({"id": "s9"}, "answer 1: expected an id of the results, got 's9'"),
        ({"user_input": "?"}, r"s0, again: expected question and contexts .* others, for '\?'"),
        ({"retrieved_contexts": ["?"]}, "s0, again: expected question and contexts as in a plan"),
        ({"retrieved_contexts": "?"}, "answer 1"),
        ({"variant": "without"}, "s0, without: expected question and contexts as in a plan"),
        ({"variant": "without-other"}, "s0, without-other: expected question and contexts"),
        (
            {"variant": "without-other", "retrieved_contexts": ["right 0"]},
            "s0, without-other: expected question and contexts",
        ),
        ({"variant": "relevant-only"}, "s0, relevant-only: expected question and contexts"),
        ({"id": "s1", "variant": "without", "user_input": "question 1",
          "retrieved_contexts": ["right 1", ""]}, "s1, without: expected question and contexts"),
    ],
)  # fmt: skip
def test_an_answer_to_something_else_is_an_error(change: dict[str, object], message: str) -> None:
    results = run_of([1, 0])
    row = plan(results, ("without",))[0] | {"response": "x"} | change
    with pytest.raises(InputError, match=message):
        ablation(results, [row], Mind())
    good = plan(results, ("without",))[0]
    with pytest.raises(InputError, match="s0, again: expected one answer, got another one"):
        ablation(results, [good, good], Mind())
    with pytest.raises(InputError, match=r"^answer 1: expected an object, got None$"):
        ablation(results, [None], Mind())  # type: ignore[list-item]


def test_rows_without_an_answer_are_left_out_and_counted() -> None:
    results = run_of([1] * 4)
    rows = plan(results, ("without",))
    for unanswered, count in ((rows, "8 rows"), ([], "0 rows")):
        with pytest.raises(InputError, match=f"expected an answer, got none in {count}.*`resp"):
            ablation(results, unanswered, Mind())
    for row in rows[:-1]:
        row["response"] = "wrong 0 0"
    found = ablation(results, rows, Mind())
    assert found.left_out == {"rows without an answer": 1}
    assert found.effect.claims == 3
    assert said(found)[-1] == "Note: 1 row without an answer."


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    results = run_of([1] * 4)
    path = tmp_path / "answers.jsonl"
    asked = 0

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
        file.write('\n{"id": "s3", "vari')  # a killed run's last line
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3
