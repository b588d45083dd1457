"""What the chunks did, against systems whose answers are known."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from noisesense import (
    Chunk,
    InputError,
    JudgeError,
    RecordedJudge,
    Result,
    Sample,
    Verdicts,
    score,
)
from noisesense.ablation import Ablation, ablation, plan
from noisesense.judging.protocol import Entailment
from noisesense_adapters.datasets import ablate
from noisesense_adapters.evaluate.tables import ablation_tables
from noisesense_adapters.evaluate.wording import ablation_sentences
from support.ablation_world import Mind, repeating, run_of, sentences, verdicts

ALL = ("without", "without-other", "relevant-only", "plus-2", "plus-4")
PAIR = ("without", "without-other")


def measured(
    results: list[Result], answer: Callable[[str, list[str]], str], **options: object
) -> Ablation:
    return asyncio.run(ablate(results, answer, Mind(), **options))  # type: ignore[arg-type]


def said(found: Ablation) -> list[str]:
    return [*ablation_sentences(found)]


def old_responses(results: list[Result]) -> dict[str, str]:
    return {each.sample.user_input: each.sample.response for each in results if each.sample}


def lazily_judged(results: list[Result]) -> list[Result]:
    """As a lazy plan leaves them: where all is correct, nobody asked what the chunks entail."""
    found: list[Result] = []
    for each in results:
        assert each.sample
        known = verdicts(each.sample)
        if all(claim.correct for claim in known.response_claims):
            update = {"entailed_by": (), "undetermined": (0, 1)}
            response = [claim.model_copy(update=update) for claim in known.response_claims]
            reference = [claim.model_copy(update=update) for claim in known.reference_claims]
            known = Verdicts(
                response_claims=response, reference_claims=reference, chunks=known.chunks
            )
        found.append(Result(each.id, score(known), sample=each.sample))
    return found


@pytest.fixture(scope="module")
def repeated() -> Ablation:
    """Of a system that repeats its chunks: one wrong claim from a chunk in each of ten answers."""
    return measured(run_of([1] * 10), repeating, variants=ALL)


def test_what_is_said_of_a_system_that_repeats_its_chunks(repeated: Ablation) -> None:
    first, verdict, growth = said(repeated)
    assert first == (
        "Of the claims that recur, all vanish when we remove their documents; none vanish when "
        "we remove others."
    )
    assert verdict == "So these documents matter."
    assert growth == "At each step of more distractors more of a response's claims are wrong."
    fates, variants, _ = ablation_tables(repeated)
    # 0.025^(1/10) is 0.692.
    assert fates.rows[0] == ("without their documents", "10", "10", "100%", "69% to 100%")
    assert fates.rows[1] == ("without other documents", "10", "10", "0%", "0% to 31%")
    assert fates.rows[2][:4] == ("difference", "", "", "+100")
    # All ten differences are 1; an eleventh might be smaller.
    assert repeated.effect.interval.low < repeated.effect.interval.high == 1.0
    # Half of each answer was wrong, nothing of it without the wrong chunk.
    (reranked,) = [row for row in variants.rows if row[0] == "relevant-only"]
    assert reranked[:5] == ("relevant-only", "10", "50%", "0%", "-50")


def test_the_figures_of_a_system_that_repeats_its_chunks(repeated: Ablation) -> None:
    # With two distractors three of four sentences are unsupported, with four five of six.
    growth = [(each.fewer, each.more, each.change.value) for each in repeated.growth]
    assert growth == [(0, 2, 1 / 4), (2, 4, pytest.approx(1 / 12))]
    shares = {name: change.after.value for name, change in repeated.changes.items()}
    alone = {"without": 0.0, "without-other": 1.0, "relevant-only": 0.0}
    assert shares == {**alone, "plus-2": 0.75, "plus-4": pytest.approx(5 / 6)}
    assert {change.before.value for change in repeated.changes.values()} == {0.5}


def test_the_documents_that_cause_wrong_claims(repeated: Ablation) -> None:
    counts = {(each.claims, each.again, each.gone, each.shared) for each in repeated.causes}
    assert counts == {(1, (1.0, 1.0), (1.0, 1.0), (0.0, 0.0))}
    assert {each.document for each in repeated.causes} == {f"bad-{i}" for i in range(10)}


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


@pytest.fixture(scope="module")
def partly_compared() -> Ablation:
    """Of the first of six samples another chunk can be taken, too; of the rest, whose wrong claim
    comes from two of three chunks, no two others. This system answers nothing without a chunk."""
    results = [wrong_from(0, ["wrong", "other 0"])]
    for i in range(1, 6):
        results.append(wrong_from(i, ["wrong", "wrong, too", f"other {i}"]))

    def answer(question: str, contexts: list[str]) -> str:
        whole = 2 if question == "question 0" else 3
        return "wrong" if len(contexts) == whole else "nothing"

    return measured(results, answer, variants=PAIR)


def test_the_others_of_a_document_are_those_of_the_claims_that_were_asked_about(
    partly_compared: Ablation,
) -> None:
    first = partly_compared.causes[0]
    assert first.document == "wrong"
    assert first.claims == 6
    assert first.again == first.gone == (6.0, 6.0)
    assert first.again_of_others == first.gone_with_others == (1.0, 1.0)
    # Of five samples both documents went at once.
    assert first.shared == (5.0, 5.0)


def test_what_is_said_where_few_samples_have_as_many_other_chunks(
    partly_compared: Ablation,
) -> None:
    of_documents = ablation_tables(partly_compared)[-1]
    assert of_documents.titles == ("document", "claims", "vanish", "shared", "without others")
    assert of_documents.rows[0] == ("wrong", "6", "6 of 6", "5", "1 of 1")
    assert of_documents.rows[1] == ("wrong, too", "5", "5 of 5", "5", "")
    assert said(partly_compared)[1:] == [
        "Too few samples to tell whether these documents matter: it takes 6.",
        "Note: 5 samples with too few other chunks to take away as many.",
    ]


def test_of_a_system_that_never_changes_every_sentence_says_no_effect() -> None:
    """Noise sensitivity would fall from 0.25 to 0 here: a chunk that is away entails nothing."""
    results = run_of([1] * 10 + [0] * 10)
    old = old_responses(results)
    found = measured(results, lambda question, _: old[question], variants=ALL)
    first, verdict = said(found)
    assert first.startswith("Of the claims that recur, none vanish when we remove their")
    assert verdict == "No effect of these documents is shown."
    assert {change.change.value for change in found.changes.values()} == {0.0}
    assert found.trend is None


def test_a_sham_as_guilty_as_the_culprit_gives_no_effect() -> None:
    """The wrong claims need all chunks: they go with any."""
    results = run_of([1] * 20)
    old = old_responses(results)

    def answer(question: str, contexts: list[str]) -> str:
        return old[question] if len(contexts) == 2 else "right"

    found = measured(results, answer, variants=PAIR)
    first, verdict = said(found)
    assert first.endswith("; all vanish when we remove others.")
    assert verdict == "No effect of these documents is shown."


def test_without_the_sham_no_effect_is_claimed() -> None:
    found = measured(run_of([1] * 10), repeating, variants=("without",))
    assert said(found)[1].startswith("No effect is shown: how many vanish without other")


def test_nothing_said_again_says_nothing() -> None:
    found = measured(run_of([1] * 10), lambda *_: "right", variants=PAIR)
    assert found.without.gone is None
    assert said(found)[0] == "No claim recurs: what the documents do cannot be told."
    assert ablation_tables(found)[0].rows[0][1:] == ("10", "0", "-", "-")


def test_samples_whose_every_chunk_is_guilty_are_counted_apart() -> None:
    """Of the one with two chunks, both entail the claim; no other chunk is left."""
    sample = Sample(
        user_input="apart",
        response="wrong. right",
        reference="right",
        retrieved_contexts=["wrong", "wrong. too"],
    )
    results = [*run_of([1] * 6), Result("apart", score(verdicts(sample)), sample=sample)]
    variants = [row["variant"] for row in plan(results, PAIR) if row["id"] == "apart"]
    assert variants == ["again", "no-context"]
    found = measured(results, repeating, variants=PAIR)
    assert found.without.claims == 6
    assert found.no_context.claims == 1
    assert found.without_other.claims == 6
    assert ("without any document", "1", "1", "100%", "3% to 100%") in ablation_tables(found)[
        0
    ].rows


def test_fewer_than_six_samples_are_too_few_to_tell() -> None:
    found = measured(run_of([1] * 5), repeating, variants=PAIR)
    assert found.effect.interval.low > 0
    too_few = "Too few samples to tell whether these documents matter: it takes 6."
    assert said(found)[1] == too_few
    one = measured(run_of([1]), repeating, variants=PAIR)
    assert one.effect.interval is None
    assert said(one)[1] == too_few
    more = measured(run_of([1] * 6), repeating, variants=PAIR)
    assert said(more)[1] == "So these documents matter."


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
    assert found.without.claims == 7
    assert found.without_other.claims == 6
    assert found.effect.size == 6
    assert found.left_out == {"samples with too few other chunks to take away as many": 1}


def test_what_each_answer_costs() -> None:
    """Its claims and their check are one judging, and what it says again one call; of a sample
    without noisy claims nothing is said again, and the words of the old response cost nothing."""
    results = run_of([3] * 5 + [0] * 5)
    mind = Mind()
    asked = []

    def answer(question: str, contexts: list[str]) -> str:
        asked.append(len(contexts))
        return "wrong 0 1" if len(contexts) == 1 else repeating(question, contexts)

    asyncio.run(ablate(results, answer, mind, variants=("without", "without-other", "plus-2")))
    assert len(asked) == 10 + 5 + 5 + 10
    # `without` and `without-other` were answered alike, which is judged once; so are the five and
    # five answers with distractors, and `again` is the old response.
    assert [text for text, _ in mind.checked] == ["wrong 0 1"] * 5
    assert [sample.retrieved_contexts for sample in mind.judged] == [()] * (5 + 10)


def test_a_deterministic_system_is_not_asked_again() -> None:
    asked: list[list[str]] = []

    def answer(question: str, contexts: list[str]) -> str:
        asked.append(contexts)
        return repeating(question, contexts)

    found = measured(run_of([1] * 3), answer, variants=("without",), deterministic=True)
    assert len(asked) == 3
    assert found.without.again == (3.0, 3.0)


def test_a_system_is_not_asked_nothing() -> None:
    """As where the column with the questions was not read."""
    unasked = [
        replace(each, sample=each.sample and each.sample.model_copy(update={"user_input": " "}))
        for each in run_of([1] * 2)
    ]
    with pytest.raises(InputError, match=r"questions to ask, got none.*--map user_input=COLUMN"):
        plan(unasked)
    assert plan([run_of([1])[0], unasked[1]])


def test_open_verdicts_widen() -> None:
    results = run_of([1] * 10)
    rows = plan(results, PAIR)
    for row in rows:
        told = ". ".join(each["text"] for each in row["retrieved_contexts"])
        row["response"] = "unclear" if row["id"] == "s0" else told
    found = ablation(results, rows, Mind(open_texts="unclear"))
    assert found.without.again == (9.0, 10.0)
    # The open one may be gone or not, and gone with the other chunk or not.
    assert found.without.gone[:2] == (0.9, 1.0)
    assert found.effect[:2] == (pytest.approx(0.8), 1.0)
    low, high = found.without.gone.interval[:2]
    assert low == pytest.approx(0.555, abs=0.001)
    assert high == 1.0  # of 9 of 10
    assert said(found)[0].startswith("Of the claims that recur, 90% to 100% vanish when we")
    row = ("without their documents", "10", "9 to 10", "90% to 100%", "55% to 100%")
    assert ablation_tables(found)[0].rows[0] == row


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
    assert found.without.again == (0.0, 1.0)
    # Which of its claims the reference supports had been judged, and is kept.
    assert found.again.low == found.again.high
    reason = "answers not judged, counted as open (the first: no key)"
    assert found.left_out == {reason: 1}


def test_answers_that_claim_nothing_are_counted_and_not_compared() -> None:
    results = run_of([1] * 4)
    rows = plan(results, ("plus-2",))
    for row in rows:
        silent = row["id"] == "s0" and row["variant"] == "plus-2"
        row["response"] = " . " if silent else "wrong 0 0"
    found = ablation(results, rows, Mind())
    assert found.changes["plus-2"].change.size == 3
    assert found.left_out == {"answers to `plus-2` without claims": 1}
    assert said(found)[-1] == "Note: 1 answer to `plus-2` without claims."
    assert found.silent == {"plus-2": 1}
    (of_variants,) = [each for each in ablation_tables(found) if each.titles[0] == "variant"]
    assert [row[:3] for row in of_variants.rows] == [("plus-2", "3", "1")]


def test_a_variant_without_which_no_answer_claims_anything_stands_in_the_table() -> None:
    results = run_of([1] * 6)
    rows = plan(results, ("without",))
    for row in rows:
        row["response"] = " . " if row["variant"] == "without" else "wrong 0 0"
    found = ablation(results, rows, Mind())
    (of_variants,) = [each for each in ablation_tables(found) if each.titles[0] == "variant"]
    assert of_variants == (("variant", "silent"), [("without", "6")], of_variants.caption)


def test_the_plan() -> None:
    rows = plan(run_of([1] * 3), seed=1)
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


def test_a_plan_is_drawn_by_its_seed() -> None:
    results = run_of([1] * 3)
    assert plan(results, seed=1) == plan(results, seed=1) != plan(results, seed=2)


def test_a_plan_of_many_samples_takes_no_minutes() -> None:
    """Two million chunks would have been searched, for half a minute."""
    results = run_of([1] * 1_000)
    begun = time.process_time()
    rows = plan(results, ("plus-2",))
    assert time.process_time() - begun < 5
    assert len(rows) == 2_000
    texts = [{chunk["text"] for chunk in row["retrieved_contexts"]} for row in rows]
    for again, more in zip(texts[::2], texts[1::2], strict=True):
        assert again < more
        assert len(more) == len(again) + 2


def test_as_many_others_are_taken_away_as_entail_the_claims() -> None:
    """One, which entails both claims."""
    other = plan(run_of([2], more=["a", "b", "c"]), ("without-other",))[1]
    assert len(other["retrieved_contexts"]) == 4


def test_all_samples_are_asked_and_those_that_erred_without_their_chunks() -> None:
    rows = plan(run_of([1] * 3 + [0] * 3))
    asked = {variant: [r["id"] for r in rows if r["variant"] == variant] for variant in
             ("again", "without", "without-other", "plus-2")}  # fmt: skip
    assert len(asked["again"]) == len(asked["plus-2"]) == 6
    assert asked["without"] == asked["without-other"] == ["s0", "s1", "s2"]


def test_relevance_that_a_lazy_plan_left_open_is_asked_for() -> None:
    results = lazily_judged(run_of([1] * 3 + [0] * 3))
    with pytest.raises(InputError, match=r"relevant-only: expected .* 3 samples .*--judge"):
        plan(results, ("relevant-only",))
    mind = Mind()
    rows = plan(results, ("relevant-only",), judge=mind)
    assert [row["id"] for row in rows if row["variant"] == "relevant-only"] == SIX
    # The chunks of samples that erred were judged already.
    assert {text for text, _ in mind.checked} == {"right 3", "right 4", "right 5", ""}
    for row in rows:
        row["response"] = f"right {row['id'][1:]}"
    assert ablation(results, rows, mind).changes["relevant-only"].change.size == 6


def test_relevance_that_the_judge_left_open_is_left_out_and_counted() -> None:
    results = lazily_judged(run_of([1] * 3 + [0] * 3))
    rows = plan(results, ("relevant-only",), judge=Mind(open_texts="right 4"))
    assert len(rows) == 6 + 5
    for row in rows:
        row["response"] = "right"
    reason = "samples without a chunk that is known to be relevant"
    assert ablation(results, rows, Mind()).left_out[reason] == 1


SIX = [f"s{i}" for i in range(6)]


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
    rows = plan([*results[:1], *results[3:]], ("again",))
    assert rows
    with pytest.raises(InputError, match=r"s0, plus-1: expected 1 chunks .* got 0"):
        plan([*results[:1], *results[3:]], ("plus-1",))


def test_a_trend_is_said_where_every_step_has_it() -> None:
    """From 0 to 2 distractors one claim more, from 2 to 4 none."""
    results = run_of([1] * 20)

    def answer(question: str, contexts: list[str]) -> str:
        told = f"right {question.split()[1]}"
        return told if len(contexts) < 4 else f"{told}. wrong"

    found = measured(results, answer, variants=("plus-2", "plus-4"))
    assert [each.change.value for each in found.growth] == [0.5, 0.0]
    assert not any("step of more distractors" in each for each in said(found))
    one = measured(results, repeating, variants=("plus-2",))
    assert not any("step of more distractors" in each for each in said(one))


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
    row = plan(results, ("again",))[0] | {"response": "x"} | change
    with pytest.raises(InputError, match=message):
        ablation(results, [row], Mind())
    good = plan(results, ("again",))[0]
    with pytest.raises(InputError, match="s0, again: expected one answer, got another one"):
        ablation(results, [good, good], Mind())
    with pytest.raises(InputError, match=r"^answer 1: expected an object, got None$"):
        ablation(results, [None], Mind())  # type: ignore[list-item]


def test_a_variant_in_place_of_several_is_an_error() -> None:
    with pytest.raises(InputError, match="variants: expected a list of variants, got 'without'"):
        plan(run_of([1]), "without")


def test_a_relevant_chunk_is_not_called_unknown_where_only_the_answer_is_missing() -> None:
    results = run_of([1] * 4)
    rows = plan(results, ("relevant-only",))
    for row in rows[:-1]:
        row["response"] = "right"
    assert rows[-1]["variant"] == "relevant-only"
    assert ablation(results, rows, Mind()).left_out == {"rows without an answer": 1}


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
    assert found.without.claims == 3
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
        file.write('{"id": "s3", "vari')  # a killed run's last line
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3
    assert measured(results, answer, variants=variants, answers=path) == whole
    assert asked == 6 + 3


def test_a_judge_that_checks_no_given_claims_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").touch()
    with pytest.raises(InputError, match="a judge that checks given claims, got RecordedJudge"):
        ablation(run_of([1] * 1), [], RecordedJudge(tmp_path / "r.jsonl"))


def test_the_tables_stand_each_variant_beside_its_control() -> None:
    found = measured(run_of([1] * 10), repeating, variants=PAIR)
    _, variants, documents = ablation_tables(found)
    assert variants.titles == ("variant", "samples", "same", "changed", "points", "95% interval")
    assert variants.rows[0][:5] == ("without", "10", "50%", "0%", "-50")
    assert documents.rows[0] == ("bad-0", "1", "1 of 1", "0 of 1")
    assert sentences("a. b") == ["a", "b"]


def test_equal_chunks_of_which_one_is_labeled_relevant() -> None:
    """Two documents with the same text: the plan's own rows are answers to it."""
    labels = {"right": True, "right ": False, "other": False}
    chunks = [
        {"text": text.strip(), "relevant": relevant, "id": f"{n}"}
        for n, (text, relevant) in enumerate(labels.items())
    ]
    sample = Sample(
        user_input="q", response="right. other", reference="right", retrieved_contexts=chunks
    )
    results = [Result("s", score(verdicts(sample)), sample=sample)]
    rows = plan(results, ("relevant-only",))
    assert [row["retrieved_contexts"] for row in rows[1:]] == [[chunks[0]]]
    for row in rows:
        row["response"] = "right"
    assert ablation(results, rows, Mind()).changes["relevant-only"].change.size == 1
    both = {**rows[1], "retrieved_contexts": ["right", "right"]}
    with pytest.raises(InputError, match="contexts as in a plan"):
        ablation(results, [rows[0], both], Mind())


def test_a_label_wins_over_what_the_judge_says_of_an_equal_chunk() -> None:
    chunks = [{"text": "right", "relevant": False, "id": "old"}, "right"]
    sample = Sample(user_input="q", response="r", reference="right", retrieved_contexts=chunks)
    claim = {"text": "r", "correct": True, "entailed_by": []}
    known = Verdicts(
        response_claims=[claim],
        reference_claims=[{"text": "right", "entailed_by": [], "undetermined": [0, 1]}],
    )
    results = [Result("s", score(known.with_sample(sample)), sample=sample)]
    rows = plan(results, ("relevant-only",), judge=Mind())
    assert [row["retrieved_contexts"] for row in rows[1:]] == [["right"]]
