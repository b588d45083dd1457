"""Lists of claims are held against their text; short references are read with their question."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisesense import LLMJudge, ReplyError, Sample, VerdictStore, score
from noisesense.judging.claims import (
    ClaimSource,
    by_words,
    claims_nothing,
    content,
    distinct,
    is_terse,
    repetitions,
)
from noisesense.judging.llm import Check
from noisesense.judging.plan import Plan
from noisesense.judging.tables import rows_with_heads
from support.mind import data_of
from support.no_claims import (
    LISTS,
    REFUSALS,
    RESPONSE,
    TERSE,
    TEXTS,
    ListMind,
    LiteralReader,
    Terse,
    sample_of,
)
from support.scripted_llm import ScriptedLLM, is_decomposition


def verdicts(claims: dict[str, str], entailed: Callable[[str], bool]) -> str:
    """The reply that says so of each statement."""
    said = {n: "yes" if entailed(claim) else "no" for n, claim in claims.items()}
    return json.dumps(said)


@pytest.mark.parametrize("plan", ["lazy", "full"])
@pytest.mark.parametrize("check", ["list", "each"])
@pytest.mark.parametrize("terse", TERSE, ids=lambda terse: f"{terse.answer}, {terse.reference}")
def test_a_right_short_answer_has_no_noise(terse: Terse, check: Check, plan: Plan) -> None:
    """As with the reference as a sentence: the chunk says so, and nothing counts."""
    chunk = f"An old book says so: {terse.claim}"
    for reference in (terse.reference, terse.claim):
        llm = ScriptedLLM(LiteralReader(terse, chunk).answer)
        judge = LLMJudge(llm, check=check, plan=plan)
        sample = Sample(
            user_input=terse.question,
            response=terse.answer,
            reference=reference,
            retrieved_contexts=[chunk, "Ginseng grows slowly."],
        )
        found = score(asyncio.run(judge.judge(sample)))
        assert found.relevant == 0.0
        assert found.irrelevant == 0.0
        assert found.partition.correct == 1


def test_a_wrong_short_answer_counts() -> None:
    """The chunk says Ginseng and does not say the reference: irrelevant noise 1."""
    terse = TERSE[0]
    chunk = "Ginseng helps, one says."

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if data.get("text") == "Ginseng":
            return json.dumps({"claims": ["Ginseng helps."]})
        if data.get("premise") == chunk:
            yes = "Ginseng helps."
            return verdicts(data["claims"], lambda claim: claim == yes)
        return LiteralReader(terse, chunk).answer(prompt)

    sample = Sample(
        user_input=terse.question,
        response="Ginseng",
        reference="Schisandra",
        retrieved_contexts=[chunk],
    )
    found = score(asyncio.run(LLMJudge(ScriptedLLM(answer)).judge(sample)))
    assert found.relevant == 0.0
    assert found.irrelevant == 1.0


def test_the_same_words_are_correct_and_nothing_is_asked() -> None:
    llm = ScriptedLLM(LiteralReader(TERSE[0], "c").answer)
    sample = Sample(
        user_input=TERSE[0].question,
        response="Schisandra",
        reference=" schisandra. ",
        retrieved_contexts=["c"],
    )
    verdicts = asyncio.run(LLMJudge(llm).judge(sample))
    assert [claim.correct for claim in verdicts.response_claims] == [True]
    assert all(map(is_decomposition, llm.prompts))
    assert len(llm.prompts) == 2


def test_chunks_are_judged_without_the_question() -> None:
    llm = ScriptedLLM(LiteralReader(TERSE[6], "a chunk").answer)
    wrong = Sample(
        user_input=TERSE[6].question,
        response="About 24.5",
        reference="24.5",
        retrieved_contexts=["a chunk"],
    )
    asyncio.run(LLMJudge(llm, plan="full").judge(wrong))
    about = [prompt for prompt in llm.prompts if data_of(prompt).get("premise") == "a chunk"]
    assert about
    assert not any("Question" in prompt for prompt in about)


@pytest.mark.parametrize("number", range(len(LISTS)), ids=lambda n: LISTS[n][0][:30])
def test_what_is_no_claim_is_never_believed(number: int, tmp_path: Path) -> None:
    """Asked again, then no usable list; and nothing of it is kept."""
    llm = ScriptedLLM(ListMind().answer)
    with VerdictStore(tmp_path / "store.db") as store:
        judge = LLMJudge(llm, store=store)
        with pytest.raises(ReplyError, match=r"asked 3 times for the claims of the response"):
            asyncio.run(judge.judge(sample_of(number)))
        kept = store.transact(lambda file: file.execute("SELECT reply FROM calls").fetchall())
    # The reference's list is sound, and may be kept.
    assert {row[0] for row in kept} <= {'{"claims": ["The Rosk ferry sails at nine."]}'}


@pytest.mark.parametrize("response", REFUSALS)
def test_an_answer_that_claims_nothing_is_undefined(response: str) -> None:
    """Whether the judge lists it as a claim or not."""
    for listed in ([], [response]):
        llm = ScriptedLLM(ListMind((listed,)).answer)
        found = score(asyncio.run(LLMJudge(llm).judge(sample_of(0, response))))
        assert found.relevant is None
        assert found.status("relevant") == "undefined"
        assert found.gate("relevant", 0.3) == "undefined"
        asked = [data for data in llm.data if data.get("text") == response]
        assert len(asked) == 2  # two replies agree


def test_a_reference_that_knows_no_answer_makes_every_chunk_irrelevant() -> None:
    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": ["The ferry sails at noon."]})
        says = data["premise"] == "It sails at noon."
        return verdicts(data["claims"], lambda claim: says and "noon" in claim)

    llm = ScriptedLLM(answer)
    sample = Sample(
        user_input="When does the ferry sail?",
        response="The ferry sails at noon.",
        reference="Not stated in the documents.",
        retrieved_contexts=["It sails at noon."],
    )
    found = score(asyncio.run(LLMJudge(llm).judge(sample)))
    assert found.relevant == 0.0
    assert found.irrelevant == 1.0
    assert [data["text"] for data in llm.data if "text" in data] == [sample.response]


def test_repeated_claims_are_one_whatever_their_case_and_punctuation() -> None:
    """One wrong claim three times and a right one: 1/2, not 3/4."""

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            claims = ["It sails at noon.", "it sails at noon", "It sails\tat noon!", "It is red."]
            return json.dumps({"claims": claims})
        if data["premise"] == "c":
            return verdicts(data["claims"], lambda claim: "noon" in claim)
        return verdicts(data["claims"], lambda claim: "red" in claim)

    sample = Sample(
        user_input="When?",
        response="It sails at noon. It is red.",
        reference="It is red, and sails.",
        retrieved_contexts=[{"text": "c", "relevant": True}],
    )
    found = score(asyncio.run(LLMJudge(ScriptedLLM(answer)).judge(sample)))
    assert found.relevant == 0.5


@pytest.mark.parametrize("row", TEXTS["left out"], ids=lambda row: row["text"][:40])
def test_a_sentence_that_is_left_out_is_a_claim(row: dict[str, Any]) -> None:
    source = ClaimSource(row["text"], "When does it sail?")
    assert source.untouched(row["listed"]) == row["added"]


def test_rows_of_tables_beside_their_heads() -> None:
    text = "Hi | there\n\nTown | Size\n:-- | --:\nArlen | 12\nBex |\n\nA | B\n| C |\n|---|\n| d |"
    said = {"Arlen | 12": "Town: Arlen, Size: 12", "Bex |": "Town: Bex", "| d |": "C: d"}
    assert rows_with_heads(text) == said


def test_what_stands_together_or_twice_or_is_the_question_is_put_right() -> None:
    text = "The museum is not open on Mondays. Entry costs four euros."
    source = ClaimSource(text, "Is the museum open on Mondays?")
    both = ["The museum is not open on Mondays.", "Entry costs four euros."]
    assert source.claims([text]) == both
    assert source.claims([*both, "The museum is open on Mondays.", "four euros"]) == both
    assert source.claims(["Is the museum open on Mondays?", "# Answer", *both, "Hello!"]) == both
    yes = ClaimSource("Yes, it is.", "Is the museum open on Mondays?")
    assert yes.claims(["The museum is open on Mondays."]) == ["The museum is open on Mondays."]
    no = ClaimSource("No, it is not.", "Is the museum open on Mondays?")
    closed = "The museum is not open on Mondays."
    for other in ("The museum is open on Mondays.", "Museum: not open on Mondays"):
        assert no.claims([closed, other]) == no.claims([other, closed]) == [closed]


def test_signs_and_numbers_tell_claims_apart() -> None:
    claims = ["It is -5 °C.", "It is 5 °C.", "It is C.", "It is C++.", "It is 1.5.", "It is 15."]
    assert distinct(claims) == claims
    assert distinct(["It is 5.", "it is ５", "It is “5”"]) == ["It is 5."]
    assert by_words("Yes.") == by_words(" yes ") == "yes"
    assert by_words("10%") != by_words("10")
    assert content("The mill of 1902") == {"mill", "1902"}
    assert content("五味子温肺。") == {"五味", "味子", "子温", "温肺"}
    assert [is_terse(text) for text in ("24.5", "3 May 1902", RESPONSE)] == [True, True, False]


@pytest.mark.parametrize("text", [*REFUSALS, *TEXTS["claims nothing"]])
def test_not_known_or_not_found_claims_nothing(text: str) -> None:
    assert claims_nothing(text)


@pytest.mark.parametrize("text", TEXTS["claims something"])
def test_a_negation_claims_something(text: str) -> None:
    assert not claims_nothing(text)


def test_words_of_the_text_are_claims_whatever_they_look_like() -> None:
    """A text may say "None", a list, a refusal or the instruction."""
    for text in ("None", '["a", "b"]', "Error: context too long", "<claim>"):
        assert ClaimSource(text, "What does it print?").read([text]).problem == ""
    said = "The guide said: I'm sorry, but I can't help you. Then she left."
    assert ClaimSource(said).read(["I'm sorry, but I can't help you."]).problem == ""


@pytest.mark.parametrize(
    ("text", "answer", "other"),
    [
        ("Yes. One can.", "Yes.", "One can."),
        ("No. The bill is due.", "No.", "The bill is due."),
        ("You can. Until May.", "You can.", "Until May."),
        ("None. All are due.", "None.", "All are due."),
        ("可以。五月之前。", "可以。", "五月之前。"),
    ],
)
def test_a_yes_or_no_of_the_text_stands_behind_the_question(
    text: str, answer: str, other: str
) -> None:
    """It shares no word with the question, which it answers; alone no chunk could say it."""
    source = ClaimSource(text, "May one pay later?")
    claims = [f"May one pay later? {answer}", other]
    assert source.read([answer, other]) == (claims, "")


def test_a_yes_or_no_that_the_text_does_not_say_is_no_claim_of_it() -> None:
    source = ClaimSource("Nobody pays later: none may.", "May one pay later?")
    assert "shares no word" in source.read(["No.", "Nobody pays later."]).problem
    assert "placeholder" in source.read(["None."]).problem


def test_claims_repeat_each_other_whatever_stands_between_their_words() -> None:
    assert repetitions(["The bell\x0brings.", "the bell, rings", "The bell rings twice."]) == 1


def test_bits_of_another_claim_are_no_claims_and_long_lists_take_no_time() -> None:
    assert distinct(["Paris", "Paris is big", "is", "big Paris", "par"]) == [
        "Paris is big",
        "big Paris",
        "par",
    ]
    assert distinct(["東京", "東京は大きい", "大阪"]) == ["東京は大きい", "大阪"]
    assert distinct(["?!", "…"]) == ["?!"]
    words = [f"w{i}" for i in range(8_000)]
    started = time.process_time()
    assert distinct(words) == words
    # 30 seconds when each was searched for in each other.
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("line", "is_source"),
    [
        ("Sources: a.pdf, docs/b.md", True),
        ("**Source:** Employee Handbook.pdf, page 3", True),
        ("Quelle: Handbuch.pdf (S. 3)", True),
        ("来源：手册.pdf", True),
        ("Sources: https://a.b/c; https://d.e/f", True),
        ("Sources: ads, subscriptions.", False),
        ("Source: the river rises in the Alps.", False),
        ("Reference: node.js is written in C.", False),
    ],
)
def test_a_line_of_sources_is_no_claim(line: str, is_source: bool) -> None:
    source = ClaimSource(f"It costs 3 euros.\n\n{line}", "What does it cost?")
    assert source.untouched(["It costs 3 euros."]) == ([] if is_source else [line])
    assert (
        source.claims(["It costs 3 euros.", line]) == ["It costs 3 euros.", line][: 2 - is_source]
    )


def test_an_answer_that_is_a_document_is_a_claim() -> None:
    source = ClaimSource("Source: a.pdf", "Where does it stand?")
    assert source.claims(["Source: a.pdf"]) != []
