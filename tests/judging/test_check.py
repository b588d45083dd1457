"""How claims are checked: in a list, one by one, or as the model can."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from noisesense import (
    JudgeError,
    LLMJudge,
    UnfitJudgeError,
    Usage,
    VerdictStore,
    score,
)
from noisesense.judging.probe import known_texts
from support.mind import Mind, data_of, reply_of
from support.scripted_llm import ScriptedLLM
from support.tables import Shape, random_pairs

TRUTHS = list(random_pairs(4, shape=Shape(response_claims=(2, 4), chunks=(2, 3))))
SAMPLE, TRUTH = TRUTHS[0]
STATEMENTS = known_texts().statements
KNOWN = {statement: so for known in STATEMENTS for statement, so in known.truth.items()}
CLAIMS = {
    "The Ashvale museum is closed on Mondays. Children under six do not pay.": [
        "The Ashvale museum is closed on Mondays.",
        "Children under six do not pay at the Ashvale museum.",
    ],
    "The Torrin mill was built by Jonas Reed in 1742. It has four sails.": [
        "Jonas Reed built the Torrin mill.",
        "The Torrin mill was built in 1742.",
        "The Torrin mill has four sails.",
    ],
    "Lena Moss teaches in Oslo. Her brother paints birds.": [
        "Lena Moss teaches in Oslo.",
        "The brother of Lena Moss paints birds.",
    ],
}
Way = Callable[[str, bool], bool]


class WordModel(ScriptedLLM):
    """It chooses words."""

    async def choose(self, prompt: str, words: Sequence[str]) -> tuple[str, Usage]:
        self.prompts.append(prompt)
        await asyncio.sleep(0)
        word = self.answer(prompt)
        assert isinstance(word, str)
        return word, Usage(calls=1)


def model(way: Way = lambda text, _: KNOWN[text], *, words: bool = True) -> ScriptedLLM:
    """Of the built-in statements it says ``way(statement, in a list)``; all else it knows."""
    mind = Mind(TRUTHS)

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        claims = data.get("claims", {})
        for text, known in CLAIMS.items():
            if data.get("text", "").partition("\n")[0] in text and "text" in data:
                return json.dumps({"claims": known})
        if data.get("premise") in CLAIMS:
            said = CLAIMS[data["premise"]]
            return reply_of([{"id": n, "entailed": text in said} for n, text in claims.items()])
        if claims.get("1") not in KNOWN:
            return mind.answer(prompt)
        said = {number: way(text, "one" not in data) for number, text in claims.items()}
        if "one" in data:
            word = "yes" if said["1"] else "no"
            return word if data["one"] == "word" else f'{{"answer": "{word}"}}'
        return reply_of([{"id": number, "entailed": cell} for number, cell in said.items()])

    return (WordModel if words else ScriptedLLM)(answer)


def asked_in(llm: ScriptedLLM) -> int:
    """How many calls asked about the known statements."""
    known = {text.text for text in STATEMENTS}
    return sum(data.get("premise") in known for data in llm.data)


def right(found: LLMJudge) -> None:
    judged = score(asyncio.run(found.judge(SAMPLE)))
    true = score(TRUTH)
    assert judged.relevant == true.relevant
    assert judged.irrelevant == true.irrelevant


@pytest.mark.parametrize("words", [True, False])
def test_each_asks_about_one_claim_for_a_word(words: bool) -> None:
    llm = model(words=words)
    right(LLMJudge(llm, check="each"))
    checks = [data for data in llm.data if "premise" in data]
    assert checks
    assert {data["one"] for data in checks} == {"word" if words else "form"}
    assert all(len(data["claims"]) == 1 for data in checks)


def test_auto_takes_the_list_where_the_model_can_do_it() -> None:
    llm = model()
    judge = LLMJudge(llm, check="auto")
    assert judge.form_reason == ""
    right(judge)
    assert judge.form_reason.startswith('check="list": the model took texts of 7 known claims')
    plain = LLMJudge(model())
    right(plain)
    assert judge.usage.calls == plain.usage.calls + len(CLAIMS) + len(STATEMENTS)
    # Before anything else is paid for, claims are asked for, then statements.
    assert [data.get("text") for data in llm.data[:3]] == list(CLAIMS)
    assert [data.get("premise") for data in llm.data[3:8]] == [text.text for text in STATEMENTS]


def test_auto_takes_single_claims_where_lists_are_too_much(tmp_path: Path) -> None:
    """A first list in which everything is a yes. What was asked is kept in the store."""

    def small(text: str, in_list: bool) -> bool:
        return True if in_list else KNOWN[text]

    for calls in (True, False):
        with VerdictStore(tmp_path / "s.db") as store:
            judge = LLMJudge(model(small), check="auto", store=store)
            right(judge)
            assert judge.form_reason.startswith('check="each": the model')
            assert "in a list it answered 14 statements wrongly" in judge.form_reason
            assert bool(judge.usage.calls) is calls


@pytest.mark.parametrize("says", [True, False])
def test_auto_refuses_a_model_that_cannot_judge_and_names_what_it_got_wrong(says: bool) -> None:
    llm = model(lambda _, __: says)
    judge = LLMJudge(llm, check="auto")
    words = f"it answered {14 if says else 10} statements wrongly"
    for _ in range(2):
        with pytest.raises(JudgeError, match=f"scripted cannot judge: .*{words}.*larger model"):
            asyncio.run(judge.judge(SAMPLE))
    assert asked_in(llm) == len(STATEMENTS) + len(KNOWN)  # once, not for each sample
    right(LLMJudge(model(lambda _, __: says), check="list"))  # overruled


def test_two_mistakes_about_one_text_are_too_many() -> None:
    """Negations alone; the reference without its question."""
    negations = list(STATEMENTS[3].truth)
    judge = LLMJudge(model(lambda text, _: text not in negations and KNOWN[text]), check="auto")
    with pytest.raises(UnfitJudgeError, match="one by one it answered 2 statements wrongly"):
        asyncio.run(judge.judge(SAMPLE))
    terse = list(STATEMENTS[4].truth)
    judge = LLMJudge(model(lambda text, _: KNOWN[text] is (text not in terse)), check="auto")
    with pytest.raises(UnfitJudgeError, match="one by one it answered 2 statements wrongly"):
        asyncio.run(judge.judge(SAMPLE))
