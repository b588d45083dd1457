"""Lists of claims: what is asked about them once more, and that the answer decides."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from noisesense import Judgement, LLMJudge, ReplyError, Sample, score
from noisesense.judging.claims import ClaimSource
from noisesense.judging.llm import Check
from noisesense.judging.plan import Plan
from noisesense.judging.protocol import ClaimChange
from noisesense.judging.words import by_words, distinct, novelty
from support.mind import data_of
from support.no_claims import TERSE, LiteralReader, Terse
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


ASKED = "When does the ferry sail, and what does it carry?"
NOON = "The ferry sails at noon."
BIKES = "It carries bicycles."


class Reader:
    """Lists what it is told to, and knows what each text says; all else it denies.

    Args:
        listed: the lists, one after the other, that it makes of the response.
        said: by premise, what it says: of a text, of the claims on their lines, or of a question.
    """

    def __init__(self, *listed: list[str], **said: Iterable[str]) -> None:
        self._listed = iter(listed)
        self._said = {name: set(texts) for name, texts in said.items()}

    def answer(self, prompt: str) -> str:
        data = data_of(prompt)
        if data.get("text") == "reference":
            return json.dumps({"claims": ["The reference says so."]})
        if "text" in data:
            return json.dumps({"claims": next(self._listed)})
        kind = "listed" if "listed" in data else "informs" if "asked" in data else data["premise"]
        said = self._said.get(kind, set())
        return verdicts(data["claims"], lambda claim: claim in said)


def judged(response: str, llm: ScriptedLLM, **options: Any) -> Judgement:
    """One labeled chunk, "chunk"; so the reference is not split."""
    sample = Sample(
        user_input=ASKED,
        response=response,
        reference="reference",
        retrieved_contexts=[{"text": "chunk", "relevant": True}],
    )
    return asyncio.run(LLMJudge(llm, **options).judge_detailed(sample))


def claims_of(judgement: Judgement) -> list[str | None]:
    return [claim.text for claim in judgement.verdicts.response_claims]


def test_a_stray_is_dropped_if_the_text_does_not_say_it() -> None:
    stray = "The moon orbits Earth."
    llm = ScriptedLLM(Reader([NOON, stray], reference=[], chunk=[NOON, stray]).answer)
    found = judged(NOON, llm)
    assert claims_of(found) == [NOON]
    assert score(found.verdicts).relevant == 1.0
    assert found.changes == (ClaimChange(stray, "response", "stray"),)
    assert {"premise": NOON, "claims": {"1": stray}} in llm.data


def test_a_list_of_strays_is_asked_for_again() -> None:
    llm = ScriptedLLM(Reader(["None"], [NOON], chunk=[NOON]).answer)
    found = judged(NOON, llm)
    assert claims_of(found) == [NOON]
    never = ScriptedLLM(Reader(["None"], ["N/A"], ["I'm sorry, but I can't."]).answer)
    with pytest.raises(ReplyError, match=r"asked 3 times \(what it listed is not"):
        judged(NOON, never)


def test_what_nothing_supports_is_no_claim_if_it_is_beside_the_question() -> None:
    """Of three, one is the chunk's, and one is a greeting: 1/2."""
    greeting = "Hello!"
    listed = [greeting, NOON, BIKES]
    llm = ScriptedLLM(Reader(listed, reference=[BIKES], chunk=[NOON], informs=[NOON]).answer)
    found = judged(f"{greeting} {NOON} {BIKES}", llm)
    assert claims_of(found) == [NOON, BIKES]
    assert score(found.verdicts).relevant == 0.5
    assert found.changes == (ClaimChange(greeting, "response", "beside the question"),)
    assert llm.data[-1] == {"asked": ASKED, "claims": {"1": greeting}}


def test_check_each_asks_about_the_question_in_one_call() -> None:
    """Alone, small models say of no statement that it gives information."""
    listed = ["Hello!", "Bye!", NOON]
    reader = Reader(listed, reference=[NOON])

    def answer(prompt: str) -> str:
        reply = reader.answer(prompt)
        is_alone = "\n\nStatement: " in prompt
        return json.dumps({"answer": json.loads(reply)["1"]}) if is_alone else reply

    llm = ScriptedLLM(answer)
    assert claims_of(judged(" ".join(listed), llm, check="each")) == [NOON]
    assert llm.data[-1] == {"asked": ASKED, "claims": {"1": "Hello!", "2": "Bye!"}}


def test_a_question_left_open_changes_nothing_and_is_counted() -> None:
    reader = Reader([BIKES], reference=[BIKES], chunk=[NOON])

    def answer(prompt: str) -> str:
        return "{}" if "listed" in data_of(prompt) else reader.answer(prompt)

    found = judged(f"{NOON} {BIKES}", ScriptedLLM(answer))
    assert claims_of(found) == [BIKES]
    assert found.unanswered == 1


def test_a_reference_that_knows_no_answer_makes_every_chunk_irrelevant() -> None:
    """The judge lists no claim of it, and says that it gives no information on the question."""
    reference = "Not stated in the documents."

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            claims = [] if data["text"].startswith("Not stated") else [NOON]
            return json.dumps({"claims": claims})
        if "asked" in data:
            return json.dumps({"1": "no" if data["claims"]["1"] == reference else "yes"})
        says = data.get("premise") == "It sails at noon."
        return verdicts(data["claims"], lambda claim: says and "noon" in claim)

    sample = Sample(
        user_input="When does the ferry sail?",
        response=NOON,
        reference=reference,
        retrieved_contexts=["It sails at noon."],
    )
    found = score(asyncio.run(LLMJudge(ScriptedLLM(answer)).judge(sample)))
    assert found.relevant == 0.0
    assert found.irrelevant == 1.0


def test_repeated_claims_are_one_whatever_their_case_and_punctuation() -> None:
    """One wrong claim three times and a right one: 1/2, not 3/4."""
    listed = [NOON, "the ferry sails at noon", "The ferry sails\tat noon!", BIKES]
    llm = ScriptedLLM(Reader(listed, reference=[BIKES], chunk=listed).answer)
    assert score(judged(f"{NOON} {BIKES}", llm).verdicts).relevant == 0.5


def test_a_bit_of_another_claim_stays() -> None:
    """The shorter one says the opposite of the longer."""
    assert distinct(["可以退货", "不可以退货"]) == ["可以退货", "不可以退货"]
    assert distinct(["Paris", "Paris is big", "?!", "paris."]) == ["Paris", "Paris is big"]


def test_lines_that_were_copied_together_are_taken_apart() -> None:
    assert ClaimSource(f"{NOON}\n{BIKES}").read([f"{NOON}\n{BIKES}"]) == [NOON, BIKES]
    copy = "It was run by Prof. Meyer of the Univ. Hospital."  # no language is read
    assert ClaimSource(copy).read([copy]) == [copy]


def test_the_one_of_seven_left_out_is_found_without_capital_letters() -> None:
    """Six sentences have nearly all pairs of letters that a seventh has."""
    lines = (
        "부산은 대한민국의 제2의 도시이다.", "인구는 많고 바다와 접해 있다.",
        "자갈치 시장에서는 신선한 해산물을 판다.", "항구는 수출에 중요한 역할을 한다.",
        "지하철 노선이 도심을 연결한다.", "감천 문화 마을은 벽화로 유명하다.",
        "겨울은 서울보다 따뜻하다.",
    )  # fmt: skip
    source = ClaimSource("\n".join(lines))
    for line in lines:
        assert source.untouched([each for each in lines if each != line]) == [line]


@pytest.mark.parametrize(
    "claim", ['["The ferry sails.", "It is red."]', '{"claims": ["The ferry sails."]}']
)
def test_json_in_place_of_a_claim_is_asked_again(claim: str) -> None:
    assert ClaimSource("The ferry sails.").read([claim]) is None
    assert ClaimSource(claim).read([claim]) is None


def test_a_citation_beside_claims_spoils_no_list() -> None:
    source = ClaimSource("The ferry sails at noon. [1, 2]")
    assert source.read(["The ferry sails at noon.", "[1, 2]"])[:1] == [NOON]


def test_a_list_longer_than_its_text_can_hold_is_asked_again() -> None:
    """By its claims, of 16 at most here, or by its letters, of 1,480."""
    assert ClaimSource(NOON).read([f"The ferry carries {n}." for n in range(17)]) is None
    assert ClaimSource(NOON).read(["noon " * 300]) is None


def test_an_exact_copy_of_the_example_is_no_claim() -> None:
    source = ClaimSource(NOON, "", "Example: The clock has no hands. Now:")
    assert source.read(["The clock has no hands.", NOON]) == [NOON]
    assert source.read(["The clock has no hands."]) is None
    copied = ClaimSource("The clock has no hands.", "", source.instruction)
    assert copied.read(["The clock has no hands."]) == ["The clock has no hands."]


@pytest.mark.parametrize(
    "text",
    ["Yes", "1902", "24.5 %", "3 May 1902", "May 3, 1902", "Schisandra.", "五味子", "1902年"],
)
def test_a_word_a_number_or_a_date_stands_behind_its_question(text: str) -> None:
    source = ClaimSource(text, "When or what?")
    assert source.read([text]) == [f"When or what? {text}"]
    assert source.untouched(["It was so."]) == []  # such a text leaves nothing out


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("The mill was built in 1742.", "The mill was built in 1724."),
        ("The mill was built in 1742.", "Arle built the mill."),
        ("الطاحونة بنيت سنة ١٧٤٢", "الطاحونة بنيت سنة ١٧٢٤"),
        ("张三建了这座塔。", "李四建了这座塔。"),
        ("राम ने यह मीनार बनाई।", "मोहन ने यह मीनार बनाई।"),
        ("Мельницу построил Иван.", "Мельницу построил Пётр."),
        ("Jon built the mill in 1742.", "Bob built the mill in 1742."),
        ("Li won the race.", "Wu won the race."),
        ("The mill is in Ayr.", "The mill is in Ely."),
        ("Anna painted the mural.", "Hanna painted the mural."),
        ("She speaks Danish.", "She speaks Spanish."),
        ("Das Buch schrieb Ute.", "Das Buch schrieb Eva."),
        ("Мельницу построил Лев.", "Мельницу построил Ян."),
        ("李明赢了比赛。", "王明赢了比赛。"),
        ("김철수가 만들었다.", "박철수가 만들었다."),
    ],
)
def test_another_number_or_name_is_asked_about(text: str, claim: str) -> None:
    assert ClaimSource(text).strays([claim]) == [claim]
    assert ClaimSource(text).strays([text]) == []


def test_a_foreign_name_hides_no_words_beside_it() -> None:
    """Neither claim has a word of its own; a name in Latin letters stands before one of them."""
    source = ClaimSource("公司（LIC）很大，以投资组合闻名。", "LIC以什么闻名？")
    claims = ["公司LIC很大。", "LIC以投资组合闻名。"]
    assert source.strays(claims) == []
    assert source.untouched(claims) == []
    assert source.strays(["LIC以保险业务闻名。"]) == ["LIC以保险业务闻名。"]


BRIDGE = "青石桥建成于1653年。桥长42米，由石匠李安设计。"
POOL = "호텔 5층에 수영장이 있고 밤 10시까지 연다."


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (BRIDGE, ["青石桥建成于1653年。", "青石桥长42米。", "青石桥由石匠李安设计。"]),
        (POOL, ["호텔 5층에 수영장이 있다.", "밤 10시까지 연다."]),
        ("Ada runs it. She sold 12.", ["Ada runs it.", "Ada sold 12."]),
        ("Die Brücken standen leer.", ["Die Brücke stand leer."]),
        ("| Item | Detail |\n|---|---|\n| Height | tall |", ["Height: tall"]),
    ],
    ids=["a joint", "the same beginning", "the first word", "inflected", "a table's head"],
)
def test_what_only_stands_otherwise_is_not_asked_about(text: str, claims: list[str]) -> None:
    source = ClaimSource(text)
    assert source.strays(claims) == []
    assert source.untouched(claims) == []


def test_one_new_letter_may_be_a_name() -> None:
    claim = "青石桥由石匠王安设计。"
    assert ClaimSource(BRIDGE).strays([claim]) == [claim]


def test_numbers_are_the_same_in_all_digits() -> None:
    assert not novelty(
        "It was built in 1742, not 1653.", "It was built in ١٧٤٢.", "１６５３"
    ).number
    assert novelty("It was built in 1742.", "It was built in 1724.").number


@pytest.mark.parametrize(
    "text",
    ["1. The ferry sails at noon.", "The ferry sails at noon [3].", "The ferry sails【4†a】"],
)
def test_the_number_of_an_item_or_a_mark_is_nothing_left_out(text: str) -> None:
    assert ClaimSource(text).untouched([NOON]) == []


def test_signs_and_numbers_tell_claims_apart() -> None:
    claims = ["It is -5 °C.", "It is 5 °C.", "It is C.", "It is C++.", "It is 1.5.", "It is 15."]
    assert distinct(claims) == claims
    assert distinct(["It is 5.", "it is ５", "It is “5”"]) == ["It is 5."]
    assert by_words("Yes.") == by_words(" yes ") == "yes"
    assert by_words("10%") != by_words("10")


def test_a_long_list_of_other_words_is_held_against_its_text_in_little_time() -> None:
    """Line by line against claim by claim it took 25 seconds."""
    lines = [f"w{number}alpha" for number in range(1_000)]
    claims = [f"w{number}beta" for number in range(1_000)]
    begun = time.process_time()
    assert ClaimSource("\n".join(lines)).untouched(claims) == lines
    assert time.process_time() - begun < 5
