"""The reply forms: strict as a schema, lenient item by item when read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from noisesense import LLMJudge, ReplyError, Sample, VerdictStore
from noisesense.judging.llm import _answers
from noisesense.judging.prompts import Answer, Claims, answers_form
from support.mind import data_of, reply_of
from support.scripted_llm import ScriptedLLM

FORMS: list[type[BaseModel]] = [Claims, Answer, answers_form(3)]


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object type in a JSON Schema."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for each in schema.values() for found in objects(each)]


@pytest.mark.parametrize("form", FORMS)
def test_schema_suits_strict_structured_output(form: type[BaseModel]) -> None:
    schema = form.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert objects(schema)
    for each in objects(schema):
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    assert "description" not in json.dumps(schema)  # every word of it is paid for


T = True
F = False
CASES: dict[str, tuple[str, dict[int, bool] | None]] = {
    # a reply on three statements, and what is read of it
    "as asked": ('{"1": "yes", "2": "no", "3": "yes"}', {1: T, 2: F, 3: T}),
    "in another order": ('{"3": "yes", "2": "no", "1": "no"}', {1: F, 2: F, 3: T}),
    "in other words": ('{"1": "Yes.", "2": false, "3": "TRUE"}', {1: T, 2: F, 3: T}),
    "one left out": ('{"1": "yes", "3": "no"}', {1: T, 3: F}),
    "one open": ('{"1": "yes", "2": null, "3": "perhaps"}', {1: T}),
    "no word": ('{"1": "yes", "2": {"a": 1}, "3": [true]}', {1: T}),
    "another number": ('{"1": 2, "2": 0.5, "3": "no"}', {3: F}),
    "twice the same": ('{"1": "yes", "1": "yes", "2": "no"}', {1: T, 2: F}),
    "contradiction": ('{"1": "yes", "2": "no", "1": "no"}', {2: F}),
    "unknown besides": ('{"1": "yes", "2": "no", "3": "no", "7": "yes"}', {1: T, 2: F, 3: F}),
    "unknown instead": ('{"1": "yes", "2": "no", "7": "yes"}', None),
    "from 0": ('{"0": "yes", "1": "no", "2": "yes"}', None),
    "one too many": ('{"1": "yes", "2": "no", "3": "yes", "4": "no"}', None),
}


@pytest.mark.parametrize(("reply", "expected"), CASES.values(), ids=CASES.keys())
def test_each_number_is_read_by_itself(reply: str, expected: dict[int, bool] | None) -> None:
    assert _answers([1, 2, 3], answers_form(3).model_validate_json(reply)) == expected


@pytest.mark.parametrize(
    "reply",
    [
        "{}", '{"a": "yes"}', '{"1": null}', "[]", '"yes"', "null",
        '{"1": "yes", "2": "no", "3": "yes", "note": "…"}',
        f'{{"1": "yes", "{"9" * 5000}": "no"}}',
    ],
)  # fmt: skip
def test_a_reply_that_answers_nothing_is_none(reply: str) -> None:
    with pytest.raises(ValidationError):
        answers_form(3).model_validate_json(reply)


@given(st.dictionaries(st.integers(-1, 6), st.booleans()), st.integers(1, 4), st.randoms())
def test_every_answer_is_to_an_asked_number_and_order_does_not_matter(
    said: dict[int, bool], count: int, random: Random
) -> None:
    asked = range(1, count + 1)
    items = [{"id": n, "entailed": verdict} for n, verdict in said.items()]

    def read() -> dict[int, bool] | None:
        try:
            return _answers(asked, answers_form(count).model_validate_json(reply_of(items)))
        except ValidationError:
            return None

    answers = read() or {}
    assert answers.keys() <= set(asked)
    assert all(said[n] is verdict for n, verdict in answers.items())
    random.shuffle(items)
    assert (read() or {}) == answers


def test_two_lists_of_claims_are_none() -> None:
    """Hosts' clients call pydantic's own reader, which would take the last."""
    with pytest.raises(ValidationError):
        Claims.model_validate_json('{"claims": ["one"], "claims": ["two"]}')


def test_half_a_surrogate_pair_in_a_claim_is_stored_and_judged_again_for_nothing(
    tmp_path: Path,
) -> None:
    """The bridge of a user's own may hand it over in a form that it has built by itself."""
    half = "It is \ud83d."
    sample = Sample(response=half, reference=f"Not {half}", retrieved_contexts=[half])

    def answer(prompt: str) -> str:
        data = data_of(prompt)
        if "text" in data:
            return json.dumps({"claims": [half]})
        return reply_of([{"id": i, "entailed": False} for i in data["claims"]])

    for calls in (4, 0):
        with VerdictStore(tmp_path / "store.sqlite") as store:
            judge = LLMJudge(ScriptedLLM(answer), store=store)
            verdicts = asyncio.run(judge.judge(sample))
        assert verdicts.response_claims[0].text == "It is ?."
        assert judge.usage.calls == calls


def test_the_prompts_own_example_is_no_claim() -> None:
    sample = Sample(response="One.", reference="Two.", retrieved_contexts=["Three."])
    for echo in ('{"claims":["…"]}', '{"claims": ["...", " "]}'):
        judge = LLMJudge(ScriptedLLM(lambda prompt, echo=echo: echo))
        with pytest.raises(ReplyError, match="no usable list"):
            asyncio.run(judge.judge(sample))
