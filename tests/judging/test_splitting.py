"""Long texts and long lists: spread over calls, and put together again."""

from __future__ import annotations

import asyncio
import json

from noisesense import LLMJudge, PromptTooLongError, Sample
from noisesense.judging.prompts import Budget
from support.mind import data_of, reply_of
from support.scripted_llm import ScriptedLLM


def reader(prompt: str) -> str:
    """A model that finds a claim in a premise if its word stands there; ``?`` stays open."""
    data = data_of(prompt)
    if "asked" in data:
        return json.dumps(dict.fromkeys(data["claims"], "yes"))
    if "text" in data:
        return json.dumps({"claims": [word for word in data["text"].split() if word.isalpha()]})
    said = [
        {"id": int(i), "entailed": claim in data["premise"]}
        for i, claim in data["claims"].items()
        if "?" not in data["premise"]
    ]
    return reply_of(said)


def judge(
    sample: Sample, budget: Budget, **options: int
) -> tuple[ScriptedLLM, tuple[object, ...]]:
    llm = ScriptedLLM(reader)
    verdicts = asyncio.run(LLMJudge(llm, budget=budget, max_reasks=0, **options).judge(sample))
    cells = [(claim.entailed_by, claim.undetermined) for claim in verdicts.response_claims]
    return llm, (cells, [claim.text for claim in verdicts.response_claims])


def test_a_long_chunk_entails_what_any_of_its_parts_does() -> None:
    """Of three, blue is in the first, red in the last, green in none; the second stays open."""
    chunk = ("1234 " * 15).join(["blue ", "? ", "red"])
    sample = Sample(response="red green blue", reference="none", retrieved_contexts=[chunk])
    llm, (cells, _) = judge(sample, Budget(text_chars=80))
    assert cells == [((0,), ()), ((), (0,)), ((0,), ())]
    parts = [data["premise"] for data in llm.data[3:] if "premise" in data]
    assert len(parts) == 3
    assert all(len(part) <= 80 for part in parts)
    assert set("".join(parts).split()) == set(chunk.split())


def test_what_lies_on_a_seam_is_in_the_overlap() -> None:
    for at in range(60, 120):
        chunk = "1" * at + "purple" + "2" * 80
        sample = Sample(response="purple", reference="none", retrieved_contexts=[chunk])
        _, (cells, _) = judge(sample, Budget(text_chars=80))
        assert cells == [((0,), ())], at


def test_a_long_response_is_decomposed_in_parts_in_its_order() -> None:
    words = [f"{chr(116 - i)}word" for i in range(20)]
    sample = Sample(response=" ".join(words), reference="none", retrieved_contexts=["none"])
    llm, (_, texts) = judge(sample, Budget(text_chars=40))
    assert texts == words
    assert sum("text" in data for data in llm.data) > 2


def test_what_the_model_calls_too_long_is_halved_until_it_is_not() -> None:
    """4,600 characters of a response and of a chunk, in parts of 1,150. Each claim stays."""
    words = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}word" for i in range(200)]
    text = " ".join(words).replace("word", "word" * 5)
    sample = Sample(response=text, reference="none", retrieved_contexts=[text])

    def small(prompt: str) -> str | Exception:
        data = data_of(prompt)
        too_long = len(data.get("text") or data["premise"]) > 1_300
        return PromptTooLongError("too long") if too_long else reader(prompt)

    llm = ScriptedLLM(small)
    verdicts = asyncio.run(LLMJudge(llm).judge(sample))
    assert [claim.text for claim in verdicts.response_claims] == text.split()
    assert all(claim.entailed_by == (0,) for claim in verdicts.response_claims)
